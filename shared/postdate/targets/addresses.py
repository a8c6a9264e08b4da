"""IP addresses that may be called: those of the public internet.

Not `is_global`: on Python 3.11 it passes NAT64 (and with it the metadata address), site-local, multicast and the 6to4
relays, and its answers change with the version. Written out instead; `is_global` may only refuse more.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_REFUSED_V4: Final = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network; Linux takes 0.0.0.0 for the machine itself
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, used inside clouds
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local: instance metadata, task roles
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT relays
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# All that is routed on the internet is in here. Left outside: loopback, unspecified, IPv4-mapped and -compatible,
# NAT64 (64:ff9b::/96, 64:ff9b:1::/48), fc00::/7 with fd00:ec2::254, fe80::/10, fec0::/10, multicast, 5f00::/16.
_UNICAST_V6: Final = IPv6Network("2000::/3")
_REFUSED_V6: Final = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarking
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address of any kind inside
        "3fff::/20",  # documentation
    )
)


@lru_cache(maxsize=4096)
def is_public(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in block for block in _REFUSED_V4)
    return _is_public_v6(address)


def _is_public_v6(address: IPv6Address) -> bool:
    unscoped = address.scope_id is None and address in _UNICAST_V6
    return unscoped and address.is_global and not any(address in block for block in _REFUSED_V6)
