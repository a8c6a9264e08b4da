"""A step of the state machine `reconcile` -> a minute's part of the nightly check of all tenants, and where to go on.

Nothing is repaired here. Each step may be repeated: it reads, and writes working papers under names of its own.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from functions.reconcile.letters import LetterBox, LetterQueue
from functions.reconcile.money import Collector, Judge
from functions.reconcile.papers import Papers
from functions.reconcile.report import ReportWriter
from functions.reconcile.settings import Settings
from functions.reconcile.tenants import Inspector
from postdate.domain.reconciling import EVENTS_COMPLETE, Finding, late_archive, part_of, run_id
from postdate.domain.recurrence import Runs
from postdate.domain.slots import ShardPlan
from postdate.runtime import aws, metric, settings
from postdate.runtime.clock import SystemClock
from postdate.runtime.dead_letters import SqsLetters
from postdate.runtime.observability import emit, logger, metrics
from postdate.runtime.parameters import parameters_at
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.erasures import DynamoErasures
from postdate.stores.ledger_dynamo import DynamoLedger
from postdate.stores.operations_dynamo import DynamoOperations
from postdate.stores.reconciliations import DynamoReconciliations
from postdate.stores.reports import S3Reports, noted_archive
from postdate.stores.scans import Scans
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants import DynamoTenants
from postdate.use_cases.auditing import Auditor

# Of one invocation. What has begun ends; then the machine calls again.
_WORKS_FOR: Final = timedelta(seconds=60)
# Tenants are divided among so many branches of the machine.
GROUPS: Final = 4
# How far back events are looked for: a run of the night before may have failed.
_EVENTS_SINCE: Final = timedelta(days=2)
_CAUSE_CHARACTERS: Final = 500


class Wired:
    def __init__(self) -> None:
        given = settings.read(Settings)
        self.clock = SystemClock()
        dynamodb, shards = aws.client("dynamodb"), ShardPlan.parse(given.shard_plan)
        retention = timedelta(days=given.retention_days)
        tasks = DynamoTasks(
            table=given.items_table,
            client=dynamodb,
            shards=shards,
            listing_shards=given.listing_shards,
            retention=retention,
        )
        ledger = DynamoLedger(
            payments_table=given.payments_table,
            accounts_table=given.accounts_table,
            journal_table=given.journal_table,
            client=dynamodb,
            shards=shards,
            listing_shards=given.listing_shards,
        )
        tables = {
            "accounts": given.accounts_table,
            "payments": given.payments_table,
            "journal": given.journal_table,
        }
        self.reports = S3Reports(bucket=given.reports_bucket, client=aws.client("s3"))
        self.tenants = DynamoTenants(table=given.tenants_table, client=dynamodb)
        self.parameters = parameters_at(given.parameters, clock=self.clock)
        self.collector = Collector(
            scans=Scans(client=dynamodb, tables=tables),
            # Asked for at each run, because parameters change while the process lives.
            segments_max=lambda: self.parameters.values.reconciling.segments_max,
        )
        self.judge = Judge(
            ledger=ledger,
            auditor=Auditor(ledger=ledger, clock=self.clock),
            erasing=DynamoErasures(table=given.tenants_table, client=dynamodb).under_way,
        )
        self.letters = LetterBox(
            queues=(
                LetterQueue(name="tasks", letters=_letters(given.tasks_dlq_url), known=tasks.get_many),
                LetterQueue(name="payments", letters=_letters(given.payments_dlq_url), known=ledger.payments),
            )
        )
        self.inspector = Inspector(
            tasks=tasks,
            definitions=DynamoDefinitions(
                table=given.items_table,
                client=dynamodb,
                listing_shards=given.listing_shards,
                retention=retention,
            ),
            operations=DynamoOperations(table=given.operations_table, client=dynamodb),
            runs=Runs(shards=shards),
            clock=self.clock,
        )
        reconciliations = DynamoReconciliations(table=given.operations_table, client=dynamodb)
        self.reporter = ReportWriter(reconciliations=reconciliations, clock=self.clock)

    def papers(self, run: str) -> Papers:
        return Papers(reports=self.reports, run=run)


def _letters(url: str) -> SqsLetters:
    return SqsLetters(url=url, client=aws.client("sqs"))


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The answer is the machine's next input. Raises what the machine is to try again."""
    with wired().parameters.fresh():
        return _STEPS[event["action"]](event)


def _plan(event: Mapping[str, Any]) -> dict[str, Any]:
    started_at = datetime.fromisoformat(event["started_at"])
    scans, parts = wired().collector.plan(started_at)
    return {
        "run": run_id(started_at, event["name"]),
        "started_at": event["started_at"],
        "events_since": (started_at - _EVENTS_SINCE).isoformat(),
        "scans": scans,
        "parts": parts,
        "groups": list(range(GROUPS)),
    }


def _scan(event: Mapping[str, Any]) -> dict[str, Any]:
    papers = wired().papers(event["run"])
    scan = wired().collector.scan(event["scan"], papers, has_time=_has_time())
    return {**event, "scan": scan}


def _compare(event: Mapping[str, Any]) -> dict[str, Any]:
    papers = wired().papers(event["run"])
    found = wired().judge.compare(event["part"], papers, after=event["after"], has_time=_has_time())
    return {**event, **found}


def _check_letters(event: Mapping[str, Any]) -> dict[str, Any]:
    wired().letters.check(wired().papers(event["run"]))
    return {}


def _check_tenant(event: Mapping[str, Any]) -> dict[str, Any]:
    """Notes what the recorder found about a tenant's events, and checks the next tenant of the group when it has
    looked through them all."""
    papers, given = wired().papers(event["run"]), dict(event)
    events = given.pop("events", None)
    if events is not None:
        _note_events(papers, given, events)
        if events.get("after") is not None:
            return {**given, "events_after": events["after"]}
    behind = given["tenant"] or ""
    ours = [id for id in wired().tenants.ids() if part_of(id, GROUPS) == given["group"] and id > behind]
    if not ours:
        return {**given, "goes_on": False}
    findings, counts = wired().inspector.inspect(ours[0], papers)
    papers.put_found(f"tenant-{ours[0]}", findings, **counts)
    return {**given, "tenant": ours[0], "events_after": None, "goes_on": True}


def _note_events(papers: Papers, given: Mapping[str, Any], events: Mapping[str, Any]) -> None:
    """Events that no history tells of are findings. Those that were filled are told, and a check that failed."""
    tenant, page = given["tenant"], given["events_after"] or 0
    findings = [
        Finding(check=EVENTS_COMPLETE, tenant=tenant, subject=each, observed=None, expected="an event")
        for each in events.get("left", ())
    ]
    told: dict[str, Any] = {"filled": list(events.get("filled", ())), "subjects": events.get("subjects", 0)}
    if "Error" in events:
        told["moving"] = [f"events of {tenant}"]
    papers.put_found(f"events-{tenant}-{page:012d}", findings, **told)


def _report(event: Mapping[str, Any]) -> dict[str, Any]:
    papers = wired().papers(event["run"])
    papers.put_found("archive", late_archive(noted_archive(wired().reports), now=wired().clock.now()))
    told = wired().reporter.report(event["run"], event["started_at"], papers)
    emit(metric.RECONCILED)
    emit(metric.RECONCILIATIONS_DIFFER, 0 if told["ok"] else 1)
    if not told["ok"]:
        extra = {"action": "reconciliation_differs", "run": event["run"], "tenants": len(told["failed"])}
        logger.error("a reconciliation found contradictions", extra=extra)
    metrics.flush_metrics()
    return told


def _give_up(event: Mapping[str, Any]) -> dict[str, Any]:
    error = event.get("error", {})
    cause = str(error.get("Cause", ""))[:_CAUSE_CHARACTERS]
    extra = {"action": "reconciliation_failed", "error": str(error.get("Error", "")), "cause": cause}
    logger.error("a reconciliation was given up", extra=extra)
    return {}


def _has_time() -> Callable[[], bool]:
    clock = wired().clock
    until = clock.now() + _WORKS_FOR
    return lambda: clock.now() < until


_STEPS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "plan": _plan,
    "scan": _scan,
    "compare": _compare,
    "letters": _check_letters,
    "tenant": _check_tenant,
    "report": _report,
    "give_up": _give_up,
}
