"""The form of a planted mistake, and the modules that most mistakes are planted into."""

from dataclasses import dataclass
from typing import Final

TRANSITIONS: Final = "postdate.domain.transitions"
VERDICTS: Final = "postdate.domain.verdicts"
REQUESTS: Final = "postdate.domain.task_requests"
MONEY: Final = "postdate.domain.money"
SETTLEMENT: Final = "postdate.domain.settlement"
TASKS: Final = "postdate.stores.tasks_dynamo"
ROWS: Final = "postdate.stores.rows"
STATEMENTS: Final = "postdate.stores.statements"
BATCH_GET: Final = "postdate.stores.batch_get"
LEDGER: Final = "postdate.stores.posting_dynamo"
ACTIONS: Final = "postdate.stores.ledger_actions"
ACCOUNT: Final = "postdate.stores.account_updates"
KEYS: Final = "postdate.stores.idempotency"
RUN: Final = "functions.run_tasks.run"
BATCH: Final = "functions.run_tasks.batch"
CLAIMING: Final = "functions.run_tasks.claiming"
DELIVERING: Final = "functions.run_tasks.delivering"
RECORDING: Final = "functions.run_tasks.recording"
AGENDA: Final = "postdate.runtime.agenda"
SETTLE: Final = "functions.settle.run"
HIDDEN: Final = "functions.settle.hidden"
SWEEP: Final = "functions.sweep"
API: Final = "functions.api"
RECURRENCE: Final = "postdate.domain.recurrence"
FOLLOWING: Final = "postdate.domain.following"
BACKLOG: Final = "postdate.domain.backlog"
LINE: Final = "postdate.domain.line"
BEFORE: Final = "functions.run_tasks.before"
BREAKER: Final = "postdate.domain.breaker"
GATE: Final = "functions.run_tasks.gate"
INTAKE: Final = "functions.run_tasks.intake"
CHAIN: Final = "functions.run_tasks.chain"
BACKFILL: Final = "functions.run_tasks.backfill"
RUNS: Final = "functions.api.runs"
OPERATE: Final = "functions.operate"
RECORD: Final = "functions.record.record"
DEPENDENCY: Final = "postdate.domain.dependency"
DEPENDENCIES: Final = "postdate.runtime.dependencies"
RESTATE: Final = "functions.api.accounts.restate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """`place` is `module:name.of.function`; `old` stands in it exactly once."""

    place: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Bug:
    """`mix` names one of the sorts of runs. `short` is set if short runs of the sort find the mistake sooner.
    `test` is the test that fails on a mistake which the simulation finds too seldom; no run is made for it."""

    name: str
    patches: tuple[Patch, ...]
    mix: str | None = None
    short: bool = False
    test: str | None = None


def bug(
    name: str,
    place: str,
    old: str,
    new: str,
    *more: tuple[str, str, str],
    mix: str | None = None,
    short: bool = False,
    test: str | None = None,
) -> Bug:
    patches = (Patch(place=place, old=old, new=new), *(Patch(place=p, old=o, new=n) for p, o, n in more))
    return Bug(name=name, patches=patches, mix=mix, short=short, test=test)
