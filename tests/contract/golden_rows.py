"""One of each kind of row, as the stores write it, and what the stores read from it.

`golden/<release>.json` has both as they were in a release. A later release has to read these rows alike, whatever its
own defaults are, for tables keep what an earlier release has written.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, is_dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Final

from postdate.domain import money, settlement, task_requests, transitions
from postdate.domain.account import Account, Limits, Status
from postdate.domain.breaker import Breaker
from postdate.domain.definition import Definition
from postdate.domain.event import Actor, Event, Subject
from postdate.domain.flow import FlowControl, Room
from postdate.domain.flow_key import FlowKey
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.operation import Action, Operation, OperationRequest, StopRule
from postdate.domain.operation import Kind as OperationKind
from postdate.domain.operation import State as OperationState
from postdate.domain.operation_moves import started
from postdate.domain.operation_pages import Entry as OperationEntry
from postdate.domain.operation_pages import Outcome, pages_of
from postdate.domain.payment import KIND, Funding, Payment, Terms
from postdate.domain.posting import Leg, Posting
from postdate.domain.recurs import Recurs
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import Slot, home, item_id
from postdate.domain.subscription import Filter, Subscription
from postdate.domain.subscription import State as SubscriptionState
from postdate.domain.sweeping import Stage, SweepProgress, Watermark
from postdate.domain.switch import Switch, turned
from postdate.domain.tally import MinuteTally
from postdate.domain.task import KIND as TASK
from postdate.domain.task import Ack, Destination, Payload, Task
from postdate.domain.transitions import Failure
from postdate.stores.api_key import ApiKey
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.events import FeedEntry, FeedPage
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.idempotency import Reservation
from postdate.stores.ledger import PostingAnswer
from postdate.stores.operations_dynamo import DynamoOperations
from postdate.stores.switches import DynamoSwitches
from postdate.stores.tallies import DynamoTallies
from postdate.stores.tenants import Tenant
from postdate.stores.timetable import TimetableEntry
from tests.contract.conftest import OnAws
from tests.contract.examples import PLAN, QUEUE, Examples, claim
from tests.contract.recurring import everything

FOLDER: Final = Path(__file__).with_name("golden")
RELEASE: Final = "0.1.0"
NOW: Final = datetime(2027, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC)
TENANT: Final = "golden"
_MINUTE: Final = timedelta(minutes=1)
_CIRCUIT: Final[tuple[str, str]] = (TENANT, "webhook https://hooks.example.com")
_FLOW_KEY: Final = (TENANT, "golden-key")
Row = dict[str, Any]


def file_of(release: str) -> Path:
    return FOLDER / f"{release}.json"


def write(on_aws: OnAws) -> None:
    """Everything that a release stores, under ids and instants that are always the same."""
    _write_tasks(on_aws)
    _write_money(on_aws)
    _write_the_rest(on_aws)


def _id(kind: str, number: int) -> str:
    unique = number.to_bytes(10)
    return item_id(kind, PLAN.slot(NOW, unique), unique)


def _task(number: int, **fields: Any) -> Task:
    task = Examples(now=NOW).task(tenant=TENANT, **fields)
    return replace(task, id=_id(TASK, number))


def _definition() -> Definition:
    made = everything(Examples(now=NOW))
    id = item_id(TASK, Slot(minute=made.home.minute, shard=1), (77).to_bytes(10))
    return replace(made, id=id, tenant=TENANT, schedule=replace(made.schedule, definition_id=id))


def _write_tasks(on_aws: OnAws) -> None:
    full = _task(
        2,
        destination=Destination(
            type="webhook", address="https://example.com/a", method="PUT", sealed=(("X-A", "s1.AAAA"),)
        ),
        payload=Payload(ref="golden/object"),
        retry=RetryPolicy(
            max_attempts=7, initial_seconds=1.5, multiplier=3.0, max_seconds=60.0, jitter=False
        ),
        timeout_seconds=7,
        name="name",
        tags=("a", "b"),
        ack=Ack.EXPLICIT,
        expires_at=NOW + timedelta(days=1),
        flow=FlowControl(key="k", rate=2, period_seconds=3, parallelism=4),
    )
    recurs = Recurs(
        definition=_definition().id,
        plan=4,
        at=NOW,
        number=5,
        before=(_id(TASK, 1),),
        wall=datetime.fromisoformat("2027-03-04T06:06:07.089"),
    )
    running, moved = _task(3), _task(4)
    bus = Destination(type="eventbridge", address="arn:bus", detail_type="order")
    tasks = [_task(1), full, running, moved, _task(5, recurs=recurs), _task(6, destination=bus)]
    tasks[4] = replace(tasks[4], id=_id("run", 5))
    on_aws.tasks.add(tasks)
    claimed = claim(running).after
    on_aws.tasks.commit([claim(running)])
    failure = Failure(why="500: no", final=True)
    on_aws.tasks.commit([transitions.fail(claimed, now=NOW + _MINUTE, failure=failure, draw=0.5)])
    on_aws.tasks.commit([task_requests.edit(moved, now=NOW, due_at=NOW + 9 * _MINUTE, why="changed run_at")])
    on_aws.definitions.add(_definition())


def _payment(number: int, **fields: Any) -> Posting:
    terms = Terms(payer="rent", payee="pocket", amount=10, **fields)
    return money.register(terms, id=_id(KIND, number), tenant=TENANT, due_at=NOW, now=NOW - _MINUTE)


def _write_money(on_aws: OnAws) -> None:
    limits = Limits(amount_min=2, amount_max=500, delay_min=timedelta(seconds=5), delay_max=timedelta(days=3))
    on_aws.ledger.open(Account(id="rent", tenant=TENANT, created_at=NOW, updated_at=NOW))
    on_aws.ledger.open(
        Account(
            id="pocket", tenant=TENANT, created_at=NOW, updated_at=NOW, status=Status.FROZEN, limits=limits
        )
    )
    on_aws.ledger.set_status(TENANT, "pocket", Status.ACTIVE, now=NOW)
    deposit = Movement(
        id=movement_id(NOW, "0" * 16),
        tenant=TENANT,
        type=Type.DEPOSIT,
        payer=None,
        payee="rent",
        amount=1000,
        at=NOW,
        reference="bank-1",
        description="March",
        metadata=(("month", "3"),),
    )
    out = replace(
        deposit, id=movement_id(NOW, "1" * 16), type=Type.ADJUSTMENT, payer="rent", payee=None, amount=3, reason="why",
        reference=None, description=None, metadata=(),
    )  # fmt: skip
    _post(on_aws, _moving(deposit, available=1000), _moving(out, available=-3))
    waits, full, stuck, done, failed, gone, later = (
        _payment(number, **fields)
        for number, fields in enumerate(
            [
                {},
                {"funding": Funding.AT_EXECUTION, "description": "d", "metadata": (("a", "b"),)},
                *[{}] * 5,
            ],
            start=11,
        )
    )
    _post(on_aws, waits, full, stuck, done, failed, gone, later)
    retry = RetryPolicy(max_attempts=3, initial_seconds=10, jitter=False)
    _post(
        on_aws,
        settlement.stumble(_after(stuck), now=NOW, why="conflict", retry=retry, draw=0.5),
        settlement.settle(_after(done), now=NOW),
        settlement.fail(_after(failed), now=NOW, code="account_frozen", why="frozen"),
        money.cancel(_after(gone), now=NOW),
        money.edit(_after(later), now=NOW, due_at=NOW + 9 * _MINUTE, why="changed"),
    )
    last = on_aws.ledger.movements(TENANT, "rent", after="", limit=9)[-1]
    on_aws.ledger.close_journal(TENANT, "rent", last.place)


def _moving(movement: Movement, *, available: int) -> Posting:
    return Posting(tenant=TENANT, at=NOW, legs=(Leg(account="rent", available=available),), movement=movement)


def _after(posting: Posting) -> Payment:
    assert posting.after is not None
    return posting.after


def _post(on_aws: OnAws, *postings: Posting | None) -> None:
    made = [posting for posting in postings if posting is not None]
    assert [posted.answer for posted in on_aws.ledger.post(made)] == [PostingAnswer.DONE] * len(made)


def _write_the_rest(on_aws: OnAws) -> None:
    reservation = Reservation(
        tenant=TENANT,
        key="first",
        fingerprint="f",
        item_id=_id(TASK, 1),
        due_at=NOW,
        created_at=NOW - _MINUTE,
        keep_until=NOW + timedelta(days=30),
    )
    on_aws.reservations.reserve(reservation, now=NOW)
    on_aws.reservations.redate(reservation, replace(reservation, due_at=NOW + _MINUTE, created_at=NOW))
    on_aws.payloads.put("golden-payload", '{"a":1}', keep_until=NOW)
    on_aws.tenants.put(
        Tenant(
            id=TENANT, destinations=frozenset({("sqs", QUEUE.address)}), signing_secrets=("s1.new", "s1.old")
        )
    )
    _data_keys(on_aws).provide(TENANT)
    key = ApiKey(
        id="golden-key",
        secret_sha256="5ec",
        tenant=TENANT,
        scopes=frozenset({"tasks:read", "payments:write"}),
        accounts=frozenset({"rent"}),
        expires_at=NOW,
        created_at=NOW,
    )
    on_aws.keys.put(key)
    on_aws.keys.put(replace(key, id="golden-operator", tenant=None, accounts=None, expires_at=None))
    on_aws.passes.record(
        SweepProgress(minute=30_000_000, group=3, stage=Stage.AUDIT, opened_at=NOW, audited_at=NOW, epoch=2)
    )
    on_aws.passes.raise_watermark(Watermark(minute=30_000_000, tables=frozenset({"items", "payments"})))
    on_aws.passes.next_beat(0, NOW)
    tally = MinuteTally(due=3, done=1, failed=1, retried=1, amount=70, lateness={0: 1, 21: 2})
    _tallies(on_aws).record(30_000_000, 3, {TENANT: {"payments": tally}})
    flow = DynamoFlow(
        table=on_aws.names["flow"], client=on_aws.dynamodb, author=lambda: "key:k1", now=lambda: NOW
    )
    flow.take(TENANT, "golden-rate", timedelta(seconds=2), now=NOW)
    flow.change_room(TENANT, "golden-room", Room(), Room(runs={_id(TASK, 1): NOW}, version=1))
    flow.change_breaker(
        _CIRCUIT,
        Breaker(),
        Breaker(
            failures=3,
            opened=1,
            open_until=NOW,
            down_since=NOW - _MINUTE,
            error="no answer",
            events=1,
            version=1,
        ),
    )
    flow.change_key(
        _FLOW_KEY,
        FlowKey(),
        FlowKey(rate=5, period_seconds=60, parallelism=3, paused_at=NOW, version=1),
    )

    sent = OperationEntry(id=_id(TASK, 1), version=3, outcome=Outcome.SENT, at=NOW)
    _operations(on_aws).add(_operation(), pages_of(_operation().id, [sent]))
    on_aws.events.put([_event(), replace(_event(), sequence=2, reconstructed=True)], after={TENANT: 3})
    on_aws.subscriptions.add(_subscription())
    off = turned(Switch(name="settlement"), on=False, now=NOW - _MINUTE, by="key:1", why="wrong rates")
    _switches(on_aws).change(Switch(name="settlement"), off)
    _switches(on_aws).change(off, turned(off, on=True, now=NOW, by="key:2", why="corrected"))
    on_aws.events.append(
        FeedPage(tenant=TENANT, log="1a", number=4, recorded_at=NOW, entries=(FeedEntry.of(_event()),))
    )


def _subscription() -> Subscription:
    return Subscription(
        id="sub_golden",
        tenant=TENANT,
        destination=Destination(type="webhook", address="https://hooks.example.com/events"),
        types=("payment.*", "task.dead"),
        filter=Filter(account_id="rent", tag="flat", metadata=(("shop", "north"),)),
        ordered=False,
        description="billing",
        secrets=("whsec_bmV3", "whsec_b2xk"),
        secrets_until=NOW + _MINUTE,
        state=SubscriptionState.PAUSED,
        paused_at=NOW,
        missed_since=NOW - _MINUTE,
        version=3,
        created_at=NOW - _MINUTE,
        changed_at=NOW,
        by="key:k1",
    )


def _operation() -> Operation:
    planned = Operation(
        id=_id("op", 1),
        tenant=TENANT,
        request=OperationRequest(
            action=Action.REDRIVE,
            kind=OperationKind.TASKS,
            actor="key",
            reason="the receiver is back",
            canary=3,
            stop_when=StopRule(failed_share=0.3, within=_MINUTE),
        ),
        state=OperationState.PLANNED,
        version=1,
        created_at=NOW,
        changed_at=NOW,
        eligible=1,
        not_eligible={"does not exist": 2},
        by_failure={"http 503": 1},
        by_destination={"https://example.com/a": 1},
        counts={Outcome.WAITING: 1},
    )
    return replace(started(planned, run=1, now=NOW), version=1, next_at=NOW)


class _FixedKms:
    """KMS draws keys at random, and a golden row is the same each time: this one wraps nothing."""

    def generate_data_key(self, **_: Any) -> dict[str, bytes]:
        return {"Plaintext": b"golden", "CiphertextBlob": b"golden"}

    def decrypt(self, *, CiphertextBlob: bytes, **_: Any) -> dict[str, bytes]:  # noqa: N803
        return {"Plaintext": CiphertextBlob}


def _data_keys(on_aws: OnAws) -> KmsDataKeys:
    table = on_aws.names["data_keys"]
    return KmsDataKeys(table=table, client=on_aws.dynamodb, kms=_FixedKms, key_id="golden")


def _operations(on_aws: OnAws) -> DynamoOperations:
    return DynamoOperations(table=on_aws.names["operations"], client=on_aws.dynamodb)


def _event() -> Event:
    return Event(
        subject=Subject(tenant=TENANT, kind="payment", id=_id(KIND, 11)),
        type="payment.changed",
        sequence=1,
        occurred_at=NOW - _MINUTE,
        recorded_at=NOW,
        actor=Actor(type="key", id="golden-key"),
        accounts=("rent", "pocket"),
        data={"before": {"amount": 1}, "after": {"amount": 2}, "reason": "changed amount"},
    )


def read(on_aws: OnAws) -> dict[str, Any]:
    """All that `write` has written, as the stores read it."""
    slots = sorted({home(_id(TASK, number)) for number in range(1, 18)}) + [
        Slot(minute=home(_id(TASK, 1)).minute + 9, shard=shard) for shard in range(4)
    ]
    flow = DynamoFlow(
        table=on_aws.names["flow"], client=on_aws.dynamodb, author=lambda: "key:k1", now=lambda: NOW
    )
    definition = on_aws.definitions.get(_definition().id)
    found: dict[str, Any] = {
        "tasks": on_aws.tasks.get_many([*(_id(TASK, number) for number in range(1, 7)), _id("run", 5)]),
        "definition": None if definition is None else replace(definition, schedule=None),  # type: ignore[arg-type]
        "schedule": definition and definition.schedule,
        "payments": on_aws.ledger.payments(_id(KIND, number) for number in range(11, 18)),
        "accounts": on_aws.ledger.accounts(TENANT, ["rent", "pocket"]),
        "journal": on_aws.ledger.movements(TENANT, "rent", after="", limit=9),
        "due": sorted(map(_plain_text, _due(on_aws, slots))),
        "reservation": on_aws.reservations.find(TENANT, "first"),
        "payload": on_aws.payloads.get("golden-payload"),
        "tenant": on_aws.tenants.get(TENANT),
        "data key": (_data_keys(on_aws).get(TENANT) or b"").decode(),
        "keys": [on_aws.keys.get("golden-key"), on_aws.keys.get("golden-operator")],
        "pass": on_aws.passes.get(30_000_000, 3),
        "watermark": on_aws.passes.watermark(),
        "beat": on_aws.passes.beat(),
        "tally": _tallies(on_aws).between(30_000_000, 30_000_000, tenant=TENANT),
        "timeline": flow.ends(TENANT, ["golden-rate"]),
        "room": flow.room(TENANT, "golden-room"),
        "breaker": flow.breakers([_CIRCUIT])[_CIRCUIT],
        "operation": _operations(on_aws).get(_operation().id),
        "operation items": _operations(on_aws).pages(_operation(), first=0, limit=1),
        "operations": _operations(on_aws).listed(TENANT, before="", limit=9),
        "events": on_aws.events.of(_event().subject, limit=9),
        "feed": on_aws.events.pages(TENANT, limit=9),
        "subscriptions": on_aws.subscriptions.all(TENANT),
        "flow_key": flow.key(_FLOW_KEY),
        "switch": _switches(on_aws).get("settlement"),
    }
    return {name: plain(value) for name, value in found.items()}


def _switches(on_aws: OnAws) -> DynamoSwitches:
    return DynamoSwitches(table=on_aws.names["switches"], client=on_aws.dynamodb)


def _tallies(on_aws: OnAws) -> DynamoTallies:
    return DynamoTallies(table=on_aws.names["slots"], client=on_aws.dynamodb)


def _due(on_aws: OnAws, slots: Iterable[Slot]) -> Iterator[TimetableEntry]:
    return (each for slot in slots for each in on_aws.timetable.due_in(slot, fared=True))


def _plain_text(value: object) -> str:
    return json.dumps(plain(value), sort_keys=True)


def plain(value: Any) -> Any:
    """The value in types that JSON has."""
    match value:
        case Enum():
            return value.name
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {name: plain(each) for name, each in asdict(value).items()}
        case Mapping():
            return {
                str(name): plain(each) for name, each in sorted(value.items(), key=lambda pair: str(pair[0]))
            }
        case set() | frozenset():
            return sorted((plain(each) for each in value), key=str)
        case list() | tuple():
            return [plain(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def rows(on_aws: OnAws) -> dict[str, list[Row]]:
    """All that is stored, by table, in an order of their own."""
    found = {}
    for name, table in on_aws.names.items():
        pages = on_aws.dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        found[name] = sorted((row for page in pages for row in page["Items"]), key=_row_text)
    return found


def put(on_aws: OnAws, stored: Mapping[str, Iterable[Row]]) -> None:
    for name, found in stored.items():
        for row in found:
            on_aws.dynamodb.put_item(TableName=on_aws.names[name], Item=row)


def _row_text(row: Row) -> str:
    return json.dumps(row, sort_keys=True)
