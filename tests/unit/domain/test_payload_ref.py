import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.payload_ref import object_of, prefix_of


def object_named(ref, *, bucket="b", tenant="acme"):
    return object_of(ref, bucket=bucket, tenant=tenant)


@pytest.mark.parametrize(
    "name",
    ["a", "a.json", "2026/11/18/order_4711.json", "A-Z!_.'()=@,+:", ".hidden", "a..b/...c", "x" * 1019],
)
def test_a_plain_name_inside_the_prefix_is_an_object(name):
    assert object_named(f"s3://b/acme/{name}") == f"acme/{name}"
    assert prefix_of("b", "acme") + name == f"s3://b/acme/{name}"


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "s3://b/acme",
        "s3://b/acme/",
        "s3://b/other/a",
        "s3://b/acme2/a",
        "s3://b/ACME/a",
        "s3://other/acme/a",
        "s3://b//acme/a",
        "S3://b/acme/a",
        "s3:/b/acme/a",
        "https://b/acme/a",
        " s3://b/acme/a",
        "s3://b/acme/a ",
        "s3://b/acme/a\n",
        "s3://b/acme/../other/a",
        "s3://b/acme/x/../../other/a",
        "s3://b/acme/./a",
        "s3://b/acme/..",
        "s3://b/acme/...",
        "s3://b/acme//a",
        "s3://b/acme/a/",
        "s3://b/acme/%2e%2e/other/a",
        "s3://b/acme/..%2fother%2fa",
        "s3://b/acme/%61",
        "s3://b/acme/..\\other\\a",
        "s3://b/acme/a?versionId=1",
        "s3://b/acme/a#b",
        "s3://b/acme/*",
        "s3://b/acme/${aws:username}",
        "s3://b/acme/a\x00",
        "s3://b/acme/\uff41",
        "s3://b/acme/\u2024\u2024/other/a",
        "s3://b/acme/" + "x" * 1020,
    ],
)
def test_whatever_else_is_none(ref):
    assert object_named(ref) is None


@pytest.mark.parametrize("tenant", ["", "*", "a/b", "..", "a*", "${aws:username}", "a b", "a?"])
def test_a_tenant_whose_name_would_mean_more_in_a_policy_has_no_objects(tenant):
    assert object_named(f"s3://b/{tenant}/a", tenant=tenant) is None


@given(st.text(alphabet="ab./\\%2eE*?-_ ", max_size=20))
def test_an_object_begins_with_its_tenant_whatever_was_asked(name):
    found = object_named(f"s3://b/acme/{name}")
    assert found is None or found.startswith("acme/")
    if found is not None:
        assert not {"", ".", ".."} & set(found.split("/"))
        assert not set("%\\*? ") & set(found)
