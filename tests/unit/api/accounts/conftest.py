"""The use cases of accounts, over the same bank as those of payments."""

import pytest

from functions.api.accounts.deposit import Cashier
from tests.unit.api.payments.conftest import Bank


class Counter(Bank):
    def __init__(self) -> None:
        super().__init__()
        self.cashier = Cashier(
            ledger=self.ledger, reservations=self.reservations, clock=self.clock, unique=self.unique
        )


@pytest.fixture
def bank() -> Counter:
    return Counter()
