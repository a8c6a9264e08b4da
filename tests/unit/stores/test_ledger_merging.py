"""Grouping of postings into transactions: the requests, sent to a client that only records them."""

import os
from datetime import UTC, datetime
from typing import Any

from postdate.domain import money, settlement
from postdate.domain.payment import KIND, Funding, Terms
from postdate.domain.posting import Posting
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.stores.ledger_dynamo import DynamoLedger

DUE = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
PLAN = ShardPlan.parse("0=4")


class Noted:
    def __init__(self) -> None:
        self.transactions: list[list[dict[str, Any]]] = []

    def transact_write_items(self, *, TransactItems: list[dict[str, Any]]) -> None:  # noqa: N803 (boto3's name)
        self.transactions.append(TransactItems)


def settled(payer: str, payee: str, funding: Funding = Funding.RESERVE) -> Posting:
    unique = os.urandom(UNIQUE_BYTES)
    payment = money.register(
        Terms(payer=payer, payee=payee, amount=1, funding=funding),
        id=item_id(KIND, PLAN.slot(DUE, unique), unique),
        tenant="acme",
        due_at=DUE,
        now=DUE,
    ).after
    assert payment is not None
    return settlement.settle(payment, now=DUE)


def posted(postings: list[Posting], *, together: bool = False) -> list[list[dict[str, Any]]]:
    client = Noted()
    ledger = DynamoLedger(
        payments_table="payments",
        accounts_table="accounts",
        journal_table="journal",
        client=client,  # type: ignore[arg-type]
        shards=PLAN,
        listing_shards=2,
    )
    assert len(ledger.post(postings, together=together)) == len(postings)
    return client.transactions


def rows(transaction: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    asked = [next(iter(action.values())) for action in transaction]
    return [each for each in asked if each["TableName"] == table]


def test_payments_of_one_payer_share_a_transaction_wherever_they_stood() -> None:
    payers = [f"payer-{number:02}" for number in range(40)]
    transactions = posted([settled(payer, "hot") for _ in range(5) for payer in payers])
    changes = sum(len(rows(transaction, "accounts")) for transaction in transactions)
    assert max(len(transaction) for transaction in transactions) <= 100
    assert changes <= len(payers) + 2 * len(transactions)


def test_a_payment_from_what_another_one_brought_comes_after_it() -> None:
    """Two payments without holds that do not fit into one transaction."""
    others = [settled("alice", f"shop-{number}", Funding.AT_EXECUTION) for number in range(40)]
    first, last = (
        settled("zoe", "alice", Funding.AT_EXECUTION),
        settled("alice", "bob", Funding.AT_EXECUTION),
    )
    transactions = posted([first, *others, last])

    def place(posting: Posting) -> int:
        (at,) = [
            number
            for number, transaction in enumerate(transactions)
            if posting.after
            and posting.after.id in {row["Key"]["id"]["S"] for row in rows(transaction, "payments")}
        ]
        return at

    assert place(first) < place(last)


def test_an_account_must_have_what_is_taken_from_it_whatever_it_receives_beside() -> None:
    out = [settled("alice", f"shop-{number}", Funding.AT_EXECUTION) for number in range(3)]
    (transaction,) = posted([settled("zoe", "alice"), *out, settled("bob", "alice")])
    (alice,) = [row for row in rows(transaction, "accounts") if row["Key"]["account"]["S"] == "acme#alice"]
    values = alice["ExpressionAttributeValues"]
    assert (values[":available"], values[":available_needed"]) == ({"N": "-1"}, {"N": "3"})
    assert "#available >= :available_needed" in alice["ConditionExpression"]


def test_payments_of_strangers_go_together_for_a_caller_that_is_behind() -> None:
    strangers = [settled(f"payer-{number}", f"payee-{number}") for number in range(25)]
    assert sorted(map(len, posted(strangers))) == [4] * 25
    assert sorted(map(len, posted(strangers, together=True))) == [20, 40, 40]


def test_a_pack_holds_no_more_rows_than_a_transaction_may() -> None:
    families = [
        settled(f"payer-{family}", f"payee-{family}-{number}") for family in range(6) for number in range(9)
    ]
    sizes = [len(transaction) for transaction in posted(families, together=True)]
    assert len(sizes) == 6
    assert max(sizes) <= 100


def test_a_group_of_several_transactions_is_no_part_of_a_pack() -> None:
    hot = [settled(f"payer-{number}", "hot") for number in range(60)]
    transactions = posted([settled("alice", "bob"), *hot, settled("carol", "dave")], together=True)
    (pack,) = [each for each in transactions if any("acme#alice" in str(row) for row in each)]
    assert len(pack) == 8
