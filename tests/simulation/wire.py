"""Between our code and AWS: each call stops before it is made and again before it is answered, and meets its faults.

Without the second stop nobody could come between a commit and what its worker does when it hears of it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from tests import gaps
from tests.refusals import refusal
from tests.simulation import quick
from tests.simulation.answers import Told, mixed, refused, response, result_of
from tests.simulation.call import BEFORE, UNREAD, WITH_ROWS, Call
from tests.simulation.engine import TABLES, Change, Engine
from tests.simulation.hub import SECOND, Actor, Crash, Hub
from tests.simulation.mix import CRASHES, Fault, Mix, Outage
from tests.simulation.newer import asked_by_newer_code, told_to_newer_code

# The status and what the answer says.
# The version of a row that nobody has changed: a run at its first call.
_FIRST: Final = {"N": "1"}
# The fault of a call that is told no error while its service is out.
_OUTAGES: Final = {"conflicts": Fault.CONFLICT, "reads": Fault.UNREAD}
_ENDPOINT: Final = "https://aws.simulation"


@dataclass(kw_only=True, slots=True)
class Wire:
    """`planned` has the first word about a call's fault, if there is one; then the mix. `asked` is told of each call
    before it is made, `found` of the rows that a query finds; `started` answers a call that starts a state machine,
    `described` one that asks for an execution."""

    hub: Hub
    engine: Engine
    mix: Mix
    changed: Callable[[Actor | None, list[Change]], None]
    counted: Callable[[str], None]
    asked: Callable[[Actor, Call], None]
    found: Callable[[Actor, Call, list[Any]], None]
    planned: Callable[[Actor, Call], Fault | None] | None = None
    started: Callable[[Mapping[str, Any]], Told] = lambda asked: (500, {})
    described: Callable[[Mapping[str, Any]], Told] = lambda asked: (500, {})
    seen_at: dict[tuple[str, tuple[str, str]], int] = field(default_factory=dict)
    calls: int = 0

    def sent(self, request: AWSPreparedRequest, event_name: str) -> AWSResponse:
        """A call on its way through botocore. The first try of one that `direct` has made already is not made again."""
        _, service, operation = event_name.split(".")
        actor = self.hub.current
        if actor is not None and actor.met is not None:
            met, actor.met = actor.met, None
            if isinstance(met, Exception):
                raise met
            return response(request, *met)
        call = Call(service=service, operation=operation, asked=json.loads(request.body or b"{}"))
        if actor is None:
            return response(request, *self._made(None, call))
        return response(request, *self._tried(actor, call))

    def direct(self, service: str, operation: str, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer of AWS to a call that succeeds at once, for which botocore need not work. None for any other call:
        botocore is asked then, and finds this outcome as that of its first try."""
        actor = self.hub.current
        if actor is None:
            return None
        call = Call(service=service, operation=operation, asked=quick.copied(asked))
        try:
            status, content = self._tried(actor, call)
        except BotoCoreError as error:
            actor.met = error
            return None
        if status == 200:
            return {**content, "ResponseMetadata": {"HTTPStatusCode": 200}}
        actor.met = (status, content)
        return None

    def _tried(self, actor: Actor, call: Call) -> Told:
        self.calls += 1
        actor.calls += 1
        actor.asked = call.asked
        if actor.dies_after is not None and actor.calls > actor.dies_after:
            raise Crash
        self.asked(actor, call)
        self._wait(actor)
        fault = self._fault(actor, call)
        if fault is not None:
            actor.faults += 1
            self.counted(f"fault {fault}")
            self.hub.note(f"{call.operation} {call.about} meets: {fault}")
        return self._met(actor, call, fault)

    def _met(self, actor: Actor, call: Call, fault: Fault | None) -> Told:
        if fault is Fault.CRASH_BEFORE:
            raise Crash
        if fault is Fault.UNREACHABLE:
            raise EndpointConnectionError(endpoint_url=_ENDPOINT)
        if fault in BEFORE:
            return refused(call, fault, self.hub)
        if fault is Fault.PAUSED_BEFORE:
            self._pause()
        match fault:
            case Fault.PARTIAL:
                status, content = self._in_part(actor, call)
            case Fault.UNREAD:
                status, content = self._read_in_part(actor, call)
            case _:
                status, content = self._made(actor, call)
        self.hub.note(f"{call.operation} {call.about} {status}{result_of(call, status, content)}")
        if fault is Fault.MIXED:
            content = mixed(content)
        if fault is Fault.PAUSED:
            self._pause()
        else:
            self._wait(actor)
        match fault:
            case Fault.CRASH_AFTER:
                raise Crash
            case Fault.LOST | Fault.ROWLESS:
                actor.rowless = actor.rowless or fault is Fault.ROWLESS
                raise ConnectionClosedError(endpoint_url=_ENDPOINT)
            case Fault.TIMED_OUT:
                self.hub.park(4 * SECOND)
                raise ReadTimeoutError(endpoint_url=_ENDPOINT)
            case Fault.DONE_ERROR:
                return refused(call, Fault.ERROR, self.hub)
            case _:
                return status, content

    def _made(self, actor: Actor | None, call: Call) -> Told:
        asked = call.asked
        if actor is not None and actor.is_newer:
            asked = asked_by_newer_code(call.operation, asked, forms=self.mix.newer_forms)
        if call.service == "dynamodb" and (why := refusal(asked)):
            return 400, {"__type": "ValidationException", "message": why}
        status, content, changes = self._answered(call, asked)
        if call.operation in WITH_ROWS:
            content = self._worded(actor, call, content)
        if call.operation == "Query" and "IndexName" in call.asked and (self.mix.stale or self.mix.lag):
            content = self._behind(call, content)
        if call.operation == "Query" and actor is not None and status == 200:
            self.found(actor, call, content["Items"])
        for change in changes:
            self.seen_at.setdefault((change.table, change.key), self.hub.now)
        if changes:
            self.changed(actor, changes)
        if actor is not None and actor.is_newer and self.mix.newer_forms:
            content = told_to_newer_code(content)
        return status, content

    def _answered(self, call: Call, asked: dict[str, Any]) -> tuple[int, dict[str, Any], list[Change]]:
        if call.operation == "StartExecution":
            return *self.started(asked), []
        if call.operation == "DescribeExecution":
            return *self.described(asked), []
        if call.operation != "ReceiveMessage":
            return self.engine.answer(call.service, call.operation, asked)
        asked = {**asked, "MaxNumberOfMessages": self.hub.draws.choice((1, 2, 10))}
        wait = asked.pop("WaitTimeSeconds", 0)
        found = self.engine.answer(call.service, call.operation, {**asked, "WaitTimeSeconds": 0})
        if wait and not found[1].get("Messages"):
            self.hub.park(wait * SECOND)
            found = self.engine.answer(call.service, call.operation, {**asked, "WaitTimeSeconds": 0})
        return found

    def _in_part(self, actor: Actor, call: Call) -> Told:
        """Refuses some parts of a batch and does the others."""
        draws, asked = self.hub.draws, call.asked
        name = "Statements" if call.operation == "BatchExecuteStatement" else "Entries"
        refused = {place for place in range(len(asked[name])) if draws.random() < 0.5}
        kept = [each for place, each in enumerate(asked[name]) if place not in refused]
        answer: dict[str, Any] = {}
        if kept:
            changed = Call(service=call.service, operation=call.operation, asked={**asked, name: kept})
            status, answer = self._made(actor, changed)
            if status != 200:
                return status, answer
        if call.operation == "BatchExecuteStatement":
            made = iter(answer.get("Responses", ()))
            code = draws.choice(("ThrottlingError", "TransactionConflict", "InternalServerError"))
            error = {"Error": {"Code": code, "Message": "no"}}
            answer["Responses"] = [
                error if place in refused else next(made) for place in range(len(asked[name]))
            ]
        else:
            answer["Failed"] = answer.get("Failed", []) + [
                {"Id": asked[name][place]["Id"], "Code": "InternalError", "SenderFault": False}
                for place in sorted(refused)
            ]
            answer.setdefault("Successful", [])
        return 200, answer

    def _read_in_part(self, actor: Actor, call: Call) -> Told:
        """Reads some keys, or none, and answers that the others are left."""
        ((table, wanted),) = call.asked["RequestItems"].items()
        keys = wanted["Keys"]
        read = 0 if self.planned else self.hub.draws.randrange(len(keys))
        content: dict[str, Any] = {"Responses": {table: []}}
        if read:
            asked = {"RequestItems": {table: {**wanted, "Keys": keys[:read]}}}
            _, content = self._made(actor, replace(call, asked=asked))
        content["UnprocessedKeys"] = {table: {**wanted, "Keys": keys[read:]}}
        return 200, content

    def _fault(self, actor: Actor, call: Call) -> Fault | None:
        if self.planned is not None:
            return self.planned(actor, call)
        outage = self.mix.outage
        if outage is not None and self._is_out(outage, actor, call):
            self.counted(f"outage {outage.service}")
            return _OUTAGES.get(outage.service, Fault.ERROR)
        slow = self._slow(call) if self._is_workers_write(actor, call) else 0.0
        if slow and self.hub.draws.random() < slow:
            return Fault.PAUSED_BEFORE
        if actor.sticky is not None:
            fault, left = actor.sticky
            actor.sticky = (fault, left - 1) if left > 1 else None
            if call.can_meet(fault):
                return Fault(fault)
        for fault, rate in self.mix.rates.items():
            if self.hub.draws.random() < rate and call.can_meet(fault):
                if fault is Fault.UNREAD:
                    actor.sticky = (fault, self.hub.draws.choice(UNREAD))
                elif fault not in CRASHES and self.hub.draws.random() < self.mix.sticky:
                    actor.sticky = (fault, self.hub.draws.randrange(1, 5))
                return fault
        return None

    def _slow(self, call: Call) -> float:
        """The chance that a worker stands still before it makes these statements."""
        mix = self.mix
        claims = [each for each in call.asked["Statements"] if 'SET "token"=?' in each["Statement"]]
        if not claims:
            return mix.slow_writes
        waited = any(each["Parameters"][-1] != _FIRST for each in claims)
        return max(mix.slow_writes, mix.slow_claims if waited else mix.slow_starts)

    @staticmethod
    def _is_workers_write(actor: Actor, call: Call) -> bool:
        return call.operation == "BatchExecuteStatement" and actor.name.startswith("run_tasks")

    def _is_out(self, outage: Outage, actor: Actor, call: Call) -> bool:
        start = self.hub.began + outage.start
        if not start <= self.hub.now < start + outage.duration:
            return False
        match outage.service:
            case "conflicts":
                return call.moves_money
            case "workers":
                return call.service == "dynamodb" and actor.name.startswith("run_tasks")
            case "executors":
                return call.service == "dynamodb" and actor.name.startswith(("run_tasks", "settle"))
            case "writes":
                return self._is_workers_write(actor, call)
            case "switches":
                return "sim-switches" in call.asked.get("RequestItems", ()) and actor.name.startswith(
                    "settle"
                )
            case "secrets":
                return call.service == "kms" and actor.name.startswith("run_tasks")
            case "callers":
                return call.service == "sqs" and actor.name.startswith("client")
            case "reads":
                return call.operation == "BatchGetItem"
            case "lists":
                return call.operation == "Query" and "IndexName" in call.asked
            case "keys":
                return call.about.startswith("keys ")
            case "sweep":
                return call.about == "payments" and actor.name.startswith("sweep")
            case service:
                return service == call.service

    def _wait(self, actor: Actor) -> None:
        latency = self.mix.latency
        self.hub.park(int(self.hub.draws.expovariate(1) * latency) if latency else 0)

    def _pause(self) -> None:
        self.hub.park(int(self.hub.draws.uniform(0.2, 2) * self.mix.pause))

    def _behind(self, call: Call, answer: dict[str, Any]) -> dict[str, Any]:
        """An index that has not yet heard of the newest rows."""
        name = TABLES[call.asked["TableName"]]
        limit = self.hub.now - (self.mix.lag or self.hub.draws.randrange(self.mix.stale))
        keys = {
            "items": ("slot", "id"),
            "payments": ("slot", "id"),
            "journal": ("listing", "id"),
            "accounts": ("account",),
            "operations": ("operation", "place"),
        }[name]

        def is_known(row: Mapping[str, Any]) -> bool:
            first, *rest = (row[key]["S"] for key in keys)
            second = rest[0] if rest else "__no_sort__"
            return self.seen_at.get((name, (first, second)), 0) <= limit

        found = [row for row in answer["Items"] if is_known(row)]
        if len(found) < len(answer["Items"]):
            self.counted("stale index")
        answer["Items"], answer["Count"] = found, len(found)
        return answer

    def _row(self, table: str, key: Mapping[str, Any]) -> Mapping[str, Any] | None:
        first, second = (value["S"] for value in key.values())
        row = self.engine.row(TABLES[table], first, second)
        return None if row is None else quick.copied(row)

    def _worded(self, actor: Actor | None, call: Call, answer: dict[str, Any]) -> dict[str, Any]:
        """Refusals as AWS words them: with the row in the way, if it was asked for, or without it."""
        answer = gaps.worded(call.asked, answer, self._row, rowless=actor is not None and actor.rowless)
        for reason in answer.get("CancellationReasons", ()) if self.mix.duplicate_key else ():
            if reason["Code"].startswith("DuplicateItem"):
                reason |= {"Code": "ValidationError", "Message": "Duplicate primary key exists in table"}
        return answer
