"""Mistakes about switches that stop payments."""

from typing import Final

from tests.simulation.mistakes.bug import bug

_BOARD: Final = "postdate.stores.switchboard:Switchboard"
_STOPS: Final = "functions.settle.stops"
_SETTLE: Final = "functions.settle.run:PaymentRunner"

BUGS: Final = (
    bug(
        "a reading of the switches counts for ever",
        f"{_BOARD}._is_within",
        "return read_at - _SET_BACK_MAX <= now < read_at + span",
        "return True",
        (f"{_BOARD}.seconds_left", "return (min(read_at) + COUNTS_FOR - now).total_seconds()", "return 1.0"),
        mix="switched",
    ),
    bug(
        "payments are settled without a reading of the switches",
        f"{_STOPS}:Stops.until",
        "return now + _UNKNOWN_PAUSE",
        "continue",
        (f"{_BOARD}.seconds_left", "(min(read_at) + COUNTS_FOR - now).total_seconds()", "1.0"),
        mix="unread switches",
    ),
    bug(
        "the switch of a payment's tenant is not asked for",
        f"{_STOPS}:_names",
        "return [SETTLEMENT, *(of_tenant(tenant) for tenant in dict.fromkeys(tenants))]",
        "return [SETTLEMENT]",
        mix="switched",
    ),
    bug(
        "a transaction begins although its reading of the switches counts no more",
        f"{_BOARD}.seconds_left",
        "(min(read_at) + COUNTS_FOR - now).total_seconds()",
        "1.0",
        mix="stopped at the instant",
    ),
    bug(
        "the call of a stopped payment is not sent again",
        f"{_SETTLE}._send_later",
        "self._outbox.send_on(call.due, call.message, not_before=until)",
        "pass",
        mix="switched",
    ),
    bug(
        "copies of the call of a stopped payment multiply",
        "postdate.runtime.outbox:_packets",
        "dues=tuple(due for due, _ in chunk)",
        "dues=tuple(due for due, each in chunk for _ in each)",
        mix="switched",
    ),
)
