"""Mistakes about a tenant's quota of registrations."""

from typing import Final

from tests.simulation.mistakes.bug import API, bug

_METER: Final = f"{API}.limits.meter:Meter"

BUGS: Final = (
    bug(
        "a tenant registers more than its quota",
        f"{_METER}._allowed",
        "return begins is not None",
        "return True",
        mix="rationed",
    ),
    bug(
        "what a copy registers for free begins anew with each request",
        f"{_METER}.take",
        "if now >= since + WINDOW:",
        "if True:",
        mix="rationed",
    ),
)
