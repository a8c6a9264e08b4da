from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.errors import InvalidState, SecretBroken, Unavailable
from postdate.domain.sealed import hash_of_sealed
from postdate.domain.task import Destination
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.vault import KEPT, SIGNING, Vault
from tests.unit.doubles import ManualClock

HOOK = Destination(
    type="webhook", address="https://example.com", headers=(("Authorization", "Bearer x"), ("X-A", ""))
)


class CountedDataKeys(MemoryDataKeys):
    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def get(self, owner: str) -> bytes | None:
        self.asked += 1
        return super().get(owner)


def a_vault() -> Vault:
    return Vault(data_keys=MemoryDataKeys(), clock=ManualClock())


@given(st.text(max_size=300))
def test_a_sealed_text_opens_for_its_owner_and_purpose(text):
    vault = a_vault()
    sealed = vault.seal("acme", SIGNING, text)
    assert vault.open("acme", SIGNING, sealed) == text
    assert len(text) < 6 or text not in sealed


@pytest.mark.parametrize(("owner", "purpose"), [("zeta", SIGNING), ("acme", "header x-a")])
def test_a_sealed_text_opens_for_no_other_owner_and_purpose(owner, purpose):
    vault = a_vault()
    sealed = vault.seal("acme", SIGNING, "secret")
    vault.seal("zeta", SIGNING, "another")
    with pytest.raises(SecretBroken):
        vault.open(owner, purpose, sealed)


def test_a_changed_text_does_not_open():
    vault = a_vault()
    sealed = vault.seal("acme", SIGNING, "secret")
    for changed in (sealed[:-2], sealed + "AA", "s1.", "s1.!", sealed.swapcase().replace("S1", "s1")):
        with pytest.raises(SecretBroken):
            vault.open("acme", SIGNING, changed)


def test_a_text_of_an_older_release_is_returned_as_it_is():
    assert a_vault().open("acme", SIGNING, "whsec_b2xk") == "whsec_b2xk"


def test_without_its_data_key_a_secret_has_to_wait():
    sealed = a_vault().seal("acme", SIGNING, "secret")
    with pytest.raises(Unavailable):
        a_vault().open("acme", SIGNING, sealed)


def test_headers_are_sealed_for_their_names_and_opened_again():
    vault = a_vault()
    sealed = vault.sealed("acme", HOOK)
    assert sealed.headers == ()
    assert [name for name, _ in sealed.sealed] == ["Authorization", "X-A"]
    assert vault.sealed("acme", sealed) == sealed
    assert vault.opened("acme", sealed) == HOOK
    swapped = replace(
        sealed,
        sealed=tuple((name, sealed.sealed[1 - place][1]) for place, (name, _) in enumerate(sealed.sealed)),
    )
    with pytest.raises(SecretBroken):
        vault.opened("acme", swapped)


def test_equal_values_have_equal_hashes_within_one_tenant_only():
    vault = a_vault()
    first, again = (vault.seal("acme", "header x", "value") for _ in range(2))
    assert first == again
    hashes = {
        hash_of_sealed(each)
        for each in (first, vault.seal("acme", "header x", "other"), vault.seal("zeta", "header x", "value"))
    }
    assert len(hashes) == 3


def test_a_data_key_is_asked_for_once_an_hour():
    data_keys, clock = CountedDataKeys(), ManualClock()
    vault = Vault(data_keys=data_keys, clock=clock)
    sealed = vault.seal("acme", SIGNING, "secret")
    before = data_keys.asked
    for _ in range(100):
        vault.open("acme", SIGNING, sealed)
    assert data_keys.asked == before
    clock.move(timedelta(hours=1))
    vault.open("acme", SIGNING, sealed)
    assert data_keys.asked == before + 1


SEALS_LATER = KEPT + timedelta(minutes=5)


class Copies:
    """Copies of functions over the rows of one environment: one that knows the first key already, and a new one."""

    def __init__(self) -> None:
        self.clock, self.data_keys = ManualClock(), CountedDataKeys()
        self.old = self.copy()
        self.before = self.old.seal("acme", SIGNING, "secret")

    def copy(self) -> Vault:
        return Vault(data_keys=self.data_keys, clock=self.clock)

    def replace(self) -> None:
        now = self.clock.now()
        self.data_keys.replace("acme", seals_from=now + SEALS_LATER, now=now)


@pytest.fixture
def copies():
    found = Copies()
    found.replace()
    return found


def test_a_replaced_data_key_seals_until_every_copy_knows_the_new_one(copies):
    new = copies.copy()
    copies.clock.move(SEALS_LATER - timedelta(seconds=1))
    assert new.seal("acme", SIGNING, "secret") == copies.before
    copies.clock.move(timedelta(seconds=1))
    after = new.seal("acme", SIGNING, "secret")
    assert after != copies.before
    # A copy that knew the first key has read the row again by then.
    assert copies.old.open("acme", SIGNING, after) == "secret"
    assert copies.old.seal("acme", SIGNING, "secret") == after


def test_keys_before_open_what_they_sealed_and_it_is_sealed_anew(copies):
    copies.clock.move(SEALS_LATER)
    sealed = copies.old.sealed("acme", HOOK)
    copies.replace()
    copies.clock.move(SEALS_LATER)
    vault = copies.copy()
    assert vault.open("acme", SIGNING, copies.before) == "secret"
    renewed = vault.renewed_headers("acme", sealed)
    assert renewed != sealed
    assert vault.opened("acme", renewed) == vault.opened("acme", sealed) == HOOK
    assert vault.renewed_headers("acme", renewed) == renewed


def test_an_owner_with_one_key_renews_nothing(copies):
    vault = copies.copy()
    sealed = vault.sealed("zeta", HOOK)
    asked = copies.data_keys.asked
    for _ in range(100):
        assert vault.renewed_headers("zeta", sealed) is sealed
    assert copies.data_keys.asked == asked


def test_a_second_replacement_waits_until_the_first_one_seals(copies):
    with pytest.raises(InvalidState):
        copies.replace()
    copies.clock.move(SEALS_LATER)
    copies.replace()


def test_a_changed_text_opens_by_no_key(copies):
    copies.clock.move(SEALS_LATER)
    with pytest.raises(SecretBroken):
        copies.copy().open("acme", SIGNING, copies.before[:-4] + "AAAA")
