import pytest

from postdate.domain.event import UNKNOWN, Actor, Subject, parsed_id

ITEM = "pay_0wgzfs020000000000000001"


@pytest.mark.parametrize(
    "subject",
    [
        Subject(tenant="demo", kind="payment", id=ITEM),
        Subject(tenant="demo", kind="account", id="rent:2026.a-b_c"),
        Subject(tenant="demo", kind="account", id="rent"),
    ],
)
def test_an_event_is_found_by_its_id_alone(subject: Subject) -> None:
    assert parsed_id("demo", subject.event_id(17)) == (subject, 17)


def test_events_of_accounts_that_two_tenants_name_alike_have_ids_of_their_own() -> None:
    mine, others = (Subject(tenant=name, kind="account", id="rent").event_id(1) for name in ("demo", "other"))
    assert mine != others
    assert parsed_id("demo", others) is None


@pytest.mark.parametrize(
    "text", ["", "evt", "evt_1", f"evt_x_{ITEM}", f"evt_-1_{ITEM}", f"pay_1_{ITEM}", "evt_1_account_%"]
)
def test_no_other_text_names_an_event(text: str) -> None:
    assert parsed_id("demo", text) is None


def test_an_author_is_read_back_and_a_line_without_one_has_none() -> None:
    assert Actor.parse("key:abc") == Actor(type="key", id="abc")
    assert Actor.parse("") == Actor.parse("settled") == UNKNOWN
