"""Mistakes about keys with restrictions: the amount of a day, and what a key may ask for."""

from typing import Final

from tests.simulation.mistakes.bug import API, bug

_ALLOWANCE: Final = f"{API}.payments.allowance"
_CALLER: Final = f"{API}.caller:Caller"
_STORE: Final = "postdate.stores.keys_dynamo:DynamoKeys"

BUGS: Final = (
    bug(
        "the amount of a payment is not counted for its key",
        f"{_ALLOWANCE}:Allowance._spent",
        "most is None or",
        "True or",
        mix="restricted",
    ),
    bug(
        "the amount of a key's payment is counted after the write",
        f"{_ALLOWANCE}:Allowance.registered",
        "answers = register(allowed)",
        "answers = written",
        (
            f"{_ALLOWANCE}:Allowance.registered",
            "day, counted = self._today(), set[int]()",
            "day, counted = self._today(), set[int]()\n    written = register(allowed)",
        ),
        mix="restricted",
    ),
    bug(
        "the room of a key's day is read before it is taken",
        f"{_STORE}.spend",
        " & (spent <= room)",
        "",
        (
            f"{_STORE}.spend",
            "if room < 0:",
            "with translated():\n        row = self._rows.get(id)\n"
            "    if room < 0 or (row.spent_on == day and row.spent > room):",
        ),
        mix="restricted",
    ),
    bug(
        "the amount of a refused payment is given back twice",
        f"{_ALLOWANCE}:Allowance.registered",
        "self.keys.give_back(caller.key_id, unused, day=day)",
        "self.keys.give_back(caller.key_id, 2 * unused, day=day)",
        mix="restricted",
    ),
    bug(
        "the amount of a refused payment stays counted",
        f"{_ALLOWANCE}:Allowance.registered",
        "if unused:",
        "if False:",
        mix="restricted",
    ),
    bug(
        "the amount of a key that two requests use at once is counted twice",
        "functions.api.payments.register:_is_of_another",
        "stored.version == 1 and",
        "False and",
        test="tests/unit/api/payments/test_allowance.py::test_one_key_in_two_requests_at_once_counts_once",
    ),
    bug(
        "the amount of a change that was made is given back",
        "functions.api.payments.change:PaymentChanger._change",
        "wanted.history[-1] in payment.history",
        "payment == wanted",
        test="tests/unit/api/payments/test_change.py::TestEditing"
        "::test_a_change_whose_answer_got_lost_is_answered_after_the_payment_was_settled",
    ),
    bug(
        "a payment that was registered before is counted again",
        f"{_ALLOWANCE}:_moves_nothing",
        "return answer.known",
        "return False",
        mix="restricted",
    ),
    bug(
        "the day of a key ends in another zone",
        f"{_ALLOWANCE}:Allowance._today",
        "self.clock.now().astimezone(UTC)",
        "(self.clock.now().astimezone(UTC) + __import__('datetime').timedelta(hours=13, minutes=54))",
        mix="restricted",
    ),
    bug(
        "another amount of a payment is not counted for its key",
        f"{_ALLOWANCE}:Allowance.changed",
        "not self._spent(caller, day, amount)",
        "False",
        mix="restricted",
    ),
    bug(
        "the amount of a refused change stays counted",
        f"{_ALLOWANCE}:Allowance.changed",
        "isinstance(error, Rejected)",
        "False",
        mix="restricted",
    ),
    bug(
        "the limit of one payment is not looked at",
        f"{_ALLOWANCE}:_too_much",
        "amount <= caller.amount_max",
        "True",
        mix="restricted",
    ),
    bug(
        "a key asks for operations that it is not restricted to",
        f"{_CALLER}.performs",
        "operation not in self.actions",
        "False",
        mix="restricted",
    ),
    bug(
        "a key is used from any network",
        "postdate.stores.api_key:ApiKey.is_usable_from",
        "self.networks is None",
        "True",
        mix="restricted",
    ),
    bug(
        "a key pays from accounts that it is not bound to",
        f"{_CALLER}._is_bound_elsewhere",
        "account not in self.accounts",
        "False",
        mix="restricted",
    ),
    bug(
        "a rotated key has lost its amount of a day",
        f"{API}.keys.grant:Keyring.rotate",
        "secret_sha256=self.hashes.of(secret),",
        "secret_sha256=self.hashes.of(secret), amount_per_day_max=None,",
        (f"{_STORE}.change", "for name in CHANGED:", 'for name in (*CHANGED, "amount_per_day_max"):'),
        mix="restricted",
    ),
)
