"""One step of the state machine `reconcile`: works on the nightly check for up to 60 seconds, and answers the place
where the next step goes on.

Nothing is repaired here. Each step may be repeated: it reads, and writes working papers under names of its own.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from functions.reconcile.papers import Papers
from functions.reconcile.wiring import wired
from postdate.domain.reconciled_sums import part_of
from postdate.domain.reconciling import EVENTS_COMPLETE, Finding, late_archive, run_id
from postdate.runtime import metric
from postdate.runtime.observability import emit, logger, metrics
from postdate.stores.reports import noted_archive

# The time of one invocation. A page that has begun is finished; then the machine calls again.
_WORKS_FOR: Final = timedelta(seconds=60)
# Tenants are divided among so many branches of the machine.
GROUPS: Final = 4
# How far back events are looked for. Those of the last 25 hours are left alone, and a run of the night before may have
# failed.
_EVENTS_SINCE: Final = timedelta(days=3)
_CAUSE_CHARACTERS: Final = 500
# Above four times as many tenants there are more branches. A branch is an execution of its own, with 25,000 events at
# most. A tenant takes 12, and 12 more for each further page of its events.
TENANTS_OF_A_GROUP: Final = 1_000
# The ids of so many tenants are read at once.
_TENANTS_AHEAD: Final = 100


@logger.inject_lambda_context
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The answer is the machine's next input. Raises what the machine is to try again."""
    with wired().parameters.fresh():
        return _STEPS[event["action"]](event)


def _plan(event: Mapping[str, Any]) -> dict[str, Any]:
    """The first step. `scans` are segments of tables, `parts` numbers of the parts of all accounts, `groups` numbers of
    the groups of tenants. The run's id follows from the execution, so a repeated step answers the same."""
    started_at = datetime.fromisoformat(event["started_at"])
    scans, parts = wired().collector.plan(started_at)
    groups = max(GROUPS, 1 + len(wired().tenants.ids()) // TENANTS_OF_A_GROUP)
    return {
        "run": run_id(started_at, event["name"]),
        "started_at": event["started_at"],
        "events_since": (started_at - _EVENTS_SINCE).isoformat(),
        "scans": scans,
        "parts": parts,
        "groups": list(range(groups)),
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
    looked through them all. `ahead` are tenants to check."""
    papers, given = wired().papers(event["run"]), dict(event)
    events = given.pop("events", None)
    if events is not None:
        _note_events(papers, given, events)
        if events.get("after") is not None:
            return {**given, "events_after": events["after"]}
    tenant, *ahead = given.get("ahead") or _ahead(given) or [None]
    if tenant is None:
        return {**given, "goes_on": False}
    findings, counts = wired().inspector.inspect(tenant, papers)
    papers.put_found(f"tenant-{tenant}", findings, **counts)
    return {**given, "tenant": tenant, "ahead": ahead, "events_after": None, "goes_on": True}


def _ahead(given: Mapping[str, Any]) -> list[str]:
    """The next tenants of the group, in the order of their ids."""
    behind, groups = given["tenant"] or "", given.get("of", GROUPS)
    ours = (id for id in wired().tenants.ids() if id > behind and part_of(id, groups) == given["group"])
    return list(islice(ours, _TENANTS_AHEAD))


def _note_events(papers: Papers, given: Mapping[str, Any], events: Mapping[str, Any]) -> None:
    """The missing events of a subject that no history tells of are a finding about the first of them. Those that were
    filled are told, and a check that failed."""
    tenant, page = given["tenant"], given["events_after"] or 0
    findings = [
        Finding(
            check=EVENTS_COMPLETE,
            tenant=tenant,
            subject=each["event_id"],
            observed=f"{each['count']} missing up to number {each['last']}",
            expected="an event",
        )
        for each in map(_gap, events.get("left", ()))
    ]
    filled = list(events.get("filled", ()))
    told: dict[str, Any] = {
        "filled": filled,
        "filled_count": events.get("filled_count", len(filled)),
        "subjects": events.get("subjects", 0),
    }
    if "Error" in events:
        told["moving"] = [f"events of {tenant}"]
    papers.put_found(f"events-{tenant}-{page:012d}", findings, **told)


def _gap(left: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """A recorder of the release before answers the id of each missing event."""
    return {"event_id": left, "count": 1, "last": left} if isinstance(left, str) else left


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
