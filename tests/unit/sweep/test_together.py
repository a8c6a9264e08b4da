"""Calls of one sweep that share a message."""

from datetime import UTC, datetime
from itertools import groupby

from functions.sweep.sweep_group import together
from postdate.domain.due import Due
from postdate.domain.item import Phase
from postdate.stores.timetable import TimetableEntry

DUE = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)


def entry(number: int, *accounts: str) -> TimetableEntry:
    due = Due(id=f"pay_{number}", version=1, due_at=DUE)
    return TimetableEntry(
        due=due, tenant="acme", moved_at=DUE, phase=Phase.WAITS, lease_until=None, accounts=accounts
    )


def runs(entries: list[TimetableEntry], place: int) -> list[str]:
    return [account for account, _ in groupby(entries, key=lambda each: each.accounts[place])]


def test_payments_of_the_busiest_account_are_next_to_each_other() -> None:
    found = [
        entry(number, f"payer-{number}", "hot" if number % 2 else f"payee-{number}") for number in range(20)
    ]
    assert [each.accounts[1] for each in together(found)[:10]] == ["hot"] * 10


def test_among_them_those_of_one_other_account_are() -> None:
    found = [entry(number, f"payer-{number % 4}", "hot") for number in range(20)]
    assert len(runs(together(found), 0)) == 4


def test_entries_without_accounts_stay_in_their_order() -> None:
    found = [entry(number) for number in range(5)]
    assert together(found) == found
