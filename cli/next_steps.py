"""Texts that tell what happens next with an item, by its kind and its state.

A name in braces is a field of the item, or one that `cli.explanation` adds.
"""

from collections.abc import Mapping
from typing import Final

NEXT: Final[Mapping[str, Mapping[str, str]]] = {
    "payments": {
        "PENDING": "It is executed at {scheduled_time}, and can be changed or cancelled until then. {funded}",
        "EXECUTING": "Another attempt follows at {next_at} at the latest.",
        "COMPLETED": "Nothing: the money moved at {executed_at}, {lateness_ms} ms after its instant.",
        "FAILED": "Nothing: no money moved and none is held. Schedule a new payment, with a new idempotency key.",
        "CANCELLED": "Nothing: no money moved and none is held.",
    },
    "tasks": {
        "PENDING": "Its first attempt is due at {next_at}.{deadline}",
        "RUNNING": "{awaited}, or its lease ends at {lease_until}: then {after_failure}.",
        "RETRYING": "Attempt {following} of {most} is due at {next_at}.{deadline}",
        "SUCCEEDED": "Nothing: it succeeded at attempt {made}.",
        "DEAD": "Nothing until a person redrives it: `postdate operations redrive {id} --reason ...` plans that.",
        "CANCELLED": "Nothing: no attempt begins any more.",
        "EXPIRED": "Nothing: its deadline passed before an attempt succeeded. Register it again, with a later one.",
        "SKIPPED": "Nothing: this run does not take place. The plan goes on: `postdate explain {task_id}`.",
        "MISSED": "Nothing, unless its time is run after all: `postdate call backfillTask task_id={task_id}`.",
    },
    "plans": {
        "ACTIVE": "Its next run is due at {next_at}.",
        "PAUSED": "Nothing until it is resumed: `postdate call resumeTask task_id={id}`.",
        "FINISHED": "Nothing: no run is left to plan. A later `end_at` or greater `max_runs` lets it go on: "
        "`postdate call changeTask task_id={id}`.",
        "CANCELLED": "Nothing: no run begins any more.",
    },
    "operations": {
        "PLANNED": "Nothing until it is started: `postdate operations start {id}`.",
        "RUNNING": "It acts on {waiting} more items, at most {max_per_second} a second, and awaits {sent} ends.",
        "PAUSED": "It awaits the ends of its canary, {sent} items, and then goes on or stops by itself.",
        "STOPPED": "Nothing until it is resumed: `postdate operations resume {id}`. {waiting} items are left.",
        "DONE": "Nothing: {done} succeeded, {failed} failed, {changed} had changed meanwhile. "
        "`postdate operations show {id}` lists them.",
        "ABORTED": "Nothing: it cannot go on. Plan it again for what is left: {waiting} items.",
    },
    "backfills": {
        "RUNNING": "It plans the rest of its {count} runs; {done} are written.",
        "STOPPED": "It goes on once an operator redrives the dead letter of its step: `postdate letters tasks --each`.",
        "DONE": "Nothing: its {done} runs are written. `postdate explain {task_id}` tells of their task.",
        "ABORTED": "Nothing: it cannot go on. Ask for the rest of its time again.",
    },
    "subscriptions": {
        "ACTIVE": "Each event of its types is sent: `postdate subscriptions deliveries {id}` lists them.",
        "PAUSED": "Nothing until it is resumed: `postdate subscriptions resume {id}`. Events wait meanwhile.",
        "ENDED": "Nothing: it was deleted, or its endpoint answered 410. Make a new one.",
    },
    "accounts": {
        "ACTIVE": "Money comes and goes. `postdate call forecast account_id={id}` tells its balance to come.",
        "FROZEN": "No money moves until it is unfrozen: `postdate call unfreezeAccount account_id={id}`.",
        "CLOSED": "Nothing: an account that was closed stays closed.",
    },
}
PARKED: Final = (
    "Nothing until a person decides: `postdate operations redrive {id} --kind payments --reason ...` plans another "
    "attempt, and an operator may cancel it."
)
LATE: Final = (
    "It was due at {next_at}, and goes on once a worker takes it. If that takes minutes, an operator finds the reason "
    "with `postdate switches list` and `postdate overview`."
)
OF_AN_EVENT: Final = "Nothing: an event never changes. `postdate explain {subject}` tells of its item."
