import ipaddress
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postdate.domain.errors import DestinationNotAllowed
from postdate.targets.guard import Endpoint, NameNotUsable, NameTimedOut, check_url

PUBLIC = "93.184.215.14"


def resolving(*addresses):
    return lambda host, wait_seconds: addresses


ALLOWED = [
    ("https://hooks.example.com", "hooks.example.com", 443, "/"),
    ("https://hooks.example.com?x=1", "hooks.example.com", 443, "/?x=1"),
    ("HTTPS://Hooks.Example.COM/A", "hooks.example.com", 443, "/A"),
    ("https://hooks.example.com:8443/a/b?c=d&e[]=f", "hooks.example.com", 8443, "/a/b?c=d&e[]=f"),
    ("https://hooks.example.com/%7Ea;v=1,2/@me?next=https://x.example/?y", "hooks.example.com", 443, None),
    ("https://bücher.example/", "xn--bcher-kva.example", 443, "/"),
    ("https://BüCHER.example/", "xn--bcher-kva.example", 443, "/"),
    ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/"),
    ("https://例え.テスト/", "xn--r8jz45g.xn--zckzah", 443, "/"),
    ("https://1password.example/", "1password.example", 443, "/"),
    ("https://127.0.0.1.example.com/", "127.0.0.1.example.com", 443, "/"),
    ("https://a-b--c.example.co/", "a-b--c.example.co", 443, "/"),
]


@pytest.mark.parametrize(("url", "host", "port", "path"), ALLOWED)
def test_an_ordinary_url_passes_with_the_address_that_was_checked(url, host, port, path):
    endpoint = check_url(url, loopback_allowed=False, resolve=resolving(PUBLIC))
    assert (endpoint.host, endpoint.port, endpoint.addresses) == (host, port, (PUBLIC,))
    assert path is None or endpoint.path == path


def test_the_local_setting_allows_http_to_loopback_on_any_port():
    endpoint = check_url("http://127.0.0.1:6000/hook", loopback_allowed=True, resolve=resolving())
    assert endpoint == Endpoint(
        scheme="http", host="127.0.0.1", port=6000, path="/hook", addresses=("127.0.0.1",)
    )
    assert endpoint.authority == "127.0.0.1:6000"


# fmt: off
NOT_PUBLIC = [
    "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",  # noqa: S104
    "127.0.0.1", "127.255.255.255", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.0",
    "172.31.255.255", "192.0.0.8", "192.0.0.192", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1",
    "192.168.0.0", "192.168.255.255", "192.175.48.1", "198.18.0.0", "198.19.255.255", "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::a9fe:a9fe",
    "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "100:0:0:1::1", "2001::1", "2001:0:4136:e378::1", "2001:2::1",
    "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "3fff:fff::1",
    "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%1",
    "febf::1", "fec0::1", "feff::1", "ff02::1", "ff0e::1", "1fff::1", "example", "127.1", "-",
]
PUBLIC_TOO = [
    "1.1.1.1", "93.184.215.14", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "223.255.255.254",
    "2606:4700:4700::1111", "2001:200::1", "2001:4860:4860::8888", "2a00:1450:4001:80b::200e", "2003::1",
]
# fmt: on


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_a_name_with_an_address_that_is_not_public_is_refused(address):
    with pytest.raises(NameNotUsable, match=r"^private address$"):
        check_url("https://hooks.example.com/", loopback_allowed=True, resolve=resolving(address))


@pytest.mark.parametrize("address", PUBLIC_TOO)
def test_a_public_address_passes(address):
    assert check_url(
        "https://hooks.example.com/", loopback_allowed=False, resolve=resolving(address)
    ).addresses


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_private_address_among_public_ones_refuses_the_name(place):
    addresses = [PUBLIC, PUBLIC]
    addresses.insert(place, "10.0.0.1")
    with pytest.raises(NameNotUsable):
        check_url("https://hooks.example.com/", loopback_allowed=False, resolve=resolving(*addresses))


@settings(max_examples=50)
@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_addresses_that_python_calls_private_or_multicast_never_pass(address):
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        with pytest.raises(NameNotUsable):
            check_url("https://hooks.example.com/", loopback_allowed=False, resolve=resolving(str(address)))


@settings(max_examples=50)
@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:0:0", "64:ff9b::", "::", "::ffff:0:0:0"]))
def test_no_wrapping_of_an_ipv4_address_passes(address, prefix):
    wrapped = str(ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | int(address)))
    with pytest.raises(NameNotUsable):
        check_url("https://hooks.example.com/", loopback_allowed=False, resolve=resolving(wrapped))


@pytest.mark.parametrize("fault", [socket.gaierror(-2, "x"), OSError(), UnicodeError(), RuntimeError("bug")])
def test_an_error_of_our_own_resolver_refuses(fault):
    def resolve(host, wait_seconds):
        raise fault

    with pytest.raises(NameNotUsable, match="does not resolve"):
        check_url("https://hooks.example.com/", loopback_allowed=False, resolve=resolve)


def test_a_name_without_an_address_is_refused():
    with pytest.raises(NameNotUsable, match="has no address"):
        check_url("https://hooks.example.com/", loopback_allowed=False, resolve=resolving())


def test_a_resolver_that_is_late_refuses_and_says_so():
    def resolve(host, wait_seconds):
        raise TimeoutError

    with pytest.raises(NameTimedOut, match="in time"):
        check_url("https://hooks.example.com/", loopback_allowed=False, resolve=resolve)


def test_nobody_waits_longer_than_three_seconds_for_a_name():
    waits = []

    def resolve(host, wait_seconds):
        waits.append(wait_seconds)
        return [PUBLIC]

    check_url("https://hooks.example.com/", loopback_allowed=False, resolve=resolve, wait_seconds=60)
    assert waits == [3]


def test_a_refusal_by_dns_may_pass_and_a_refusal_by_the_url_may_not():
    with pytest.raises(DestinationNotAllowed) as literal:
        check_url("https://10.0.0.1/", loopback_allowed=False)
    assert not isinstance(literal.value, NameNotUsable)
    assert literal.value.code == "destination_not_allowed"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("hooks.example.com", "the URL is not absolute, or contains characters that are not allowed"),
        ("http://hooks.example.com/", "the scheme is not https"),
        ("https://user@hooks.example.com/", "the URL contains a user or a password"),
        ("https://[::1]/", "the host is numeric: only names are allowed"),
        ("https://127.1/", "the host is numeric: only names are allowed"),
        ("https://hooks.example.com:70000/", "the host or the port is not valid"),
        ("https://hooks.example.com:25/", "port 25 is reserved for a service other than HTTP"),
        ("https://hooks.example.com./", "the host is empty or ends in a dot"),
        ("https://hooks%2e.example.com/", "the host is not a valid name"),
        ("https://printer.local/", "the host is not a public name"),
        (
            "https://stra\u00dfe.example/",
            "the host contains characters that are not allowed in names; write it as xn--",
        ),
    ],
)
def test_the_owner_is_told_what_is_wrong(url, reason):
    with pytest.raises(DestinationNotAllowed) as refused:
        check_url(url, loopback_allowed=False, resolve=resolving(PUBLIC))
    assert str(refused.value) == reason
