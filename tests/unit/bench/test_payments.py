import pytest

from bench.batches import ids
from bench.payments import ACCOUNTS, HOT, hot_pairs, spread_pairs
from cli.failure import Failure


def test_spread_payments_are_between_two_accounts_and_use_all_of_them() -> None:
    pairs = spread_pairs(2000)
    assert len(pairs) == 2000
    assert all(payer != payee for payer, payee in pairs)
    assert {payer for payer, _ in pairs} == {payee for _, payee in pairs} == set(ACCOUNTS)


def test_every_run_has_the_same_pairs() -> None:
    assert spread_pairs(50) == spread_pairs(50)


def test_hot_payments_come_from_every_account_and_go_to_one() -> None:
    pairs = hot_pairs(2000)
    assert {payer for payer, _ in pairs} == set(ACCOUNTS)
    assert {payee for _, payee in pairs} == {HOT}


def test_the_ids_of_a_batch_stand_in_the_order_of_its_forms() -> None:
    results = [{"index": number, "payment": {"payment_id": f"pay_{number}"}} for number in range(3)]
    assert ids({"results": results}, "payment") == ["pay_0", "pay_1", "pay_2"]


def test_a_batch_of_which_something_is_refused_fails() -> None:
    results = [{"index": 0, "task": {"task_id": "task_0"}}, {"index": 1, "error": {"code": "limit_exceeded"}}]
    with pytest.raises(Failure, match="refused 1 tasks"):
        ids({"results": results}, "task")
