"""Each check finds a world sound in which every promise is kept, and each finds what breaks its own."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from chaos import answer_checks, arrival_checks, checks, item_checks, money
from chaos.items import Check, milliseconds
from chaos.notes import Notes, Recurring, Wanted
from chaos.seen import Letter, Replay, Seen
from postdate.domain.payment import Funding
from postdate.domain.payment import State as PaymentState
from postdate.domain.task import State, Task
from tests.unit.chaos import sound
from tests.unit.chaos.sound import CANCELLED, DEAD, PAID, PLAN, RUN, TASK, UNPAID, arrival, seen
from tests.unit.doubles import MINUTE, START, a_task

ALL: Final = (*money.CHECKS, *checks.CHECKS)
SOUND: Final = seen()


def tasks(*changed: Task) -> dict[str, Task]:
    return {**SOUND.tasks, **{each.id: each for each in changed}}


def without(id: str) -> dict[str, Any]:
    return {"tasks": {each: task for each, task in SOUND.tasks.items() if each != id}}


def payments(**changes: Any) -> dict[str, Any]:
    return {"payments": {**SOUND.payments, PAID.id: replace(PAID, **changes)}}


def accounts(**changes: Any) -> dict[str, Any]:
    return {"accounts": {**SOUND.accounts, "alice": replace(SOUND.accounts["alice"], **changes)}}


def notes(**changes: Any) -> dict[str, Any]:
    kept = {name: getattr(SOUND.notes, name) for name in ("promised", "deposited")}
    return {"notes": Notes(**(kept | changes))}


def told(place: int, **changes: Any) -> dict[str, Any]:
    promised = list(SOUND.notes.promised)
    promised[place] = replace(promised[place], **changes)
    return notes(promised=promised)


def arrivals(*more: Any) -> dict[str, Any]:
    return {"arrivals": [*SOUND.arrivals, *more]}


def lines(task: Task, *versions: int) -> Task:
    """With these lines of its history alone."""
    return replace(task, history=tuple(line for line in task.history if line.version in versions))


def hurried(task: Task) -> Task:
    """Tried again at once."""
    pending, running, retrying, again, end = task.history
    return replace(task, history=(pending, running, retrying, replace(again, at=retrying.at), end))


def left_final(task: Task) -> Task:
    pending, *rest = task.history
    return replace(task, history=(replace(pending, to=State.SUCCEEDED), *rest))


EARLY: Final = timedelta(milliseconds=-1)
EXTRA: Final = a_task(9, name="nobody asked for it", state=State.CANCELLED)
MOVED: Final = SOUND.movements[1]
BROKEN: Final[list[tuple[Check, dict[str, Any]]]] = [
    (money.i1_money_is_conserved, notes(deposited=101)),
    (money.i2_nothing_is_below_zero, accounts(available=-1)),
    (money.i3_what_is_reserved_is_held, accounts(reserved=1)),
    (money.i3_what_is_reserved_is_held, payments(state=PaymentState.PENDING, funding=Funding.RESERVE)),
    (money.i4_nothing_is_held_at_the_end, accounts(reserved=1)),
    (money.i5_movements_are_sound, {"movements": [replace(MOVED, amount=24)]}),
    (money.i5_movements_are_sound, {"movements": [replace(MOVED, id="txn_of_an_attempt")]}),
    (money.i5_movements_are_sound, {"movements": [replace(MOVED, payee="alice")]}),
    (money.i6_the_journal_gives_the_balances, accounts(available=74)),
    (money.i7_a_payment_moves_once, {"movements": [*SOUND.movements, replace(MOVED, id="txn_twice")]}),
    (money.i7_a_payment_moves_once, {"movements": SOUND.movements[:1]}),
    (money.i7_a_payment_moves_once, payments(state=PaymentState.FAILED)),
    (money.i1_to_i7_by_the_audit, {"audit": {**SOUND.audit, "moving": ["alice"]}}),
    (
        money.i1_to_i7_by_the_audit,
        {"audit": {**SOUND.audit, "checks": [{**SOUND.audit["checks"][0], "ok": False}]}},
    ),
    (item_checks.i8_nothing_leaves_a_final_state, {"tasks": tasks(left_final(TASK))}),
    (arrival_checks.i9_tokens_rise, arrivals(arrival(TASK, 1, after=MINUTE))),
    (arrival_checks.i9_tokens_rise, arrivals(arrival(TASK, 3, after=MINUTE))),
    (arrival_checks.i9_tokens_rise, arrivals(arrival(TASK, 2, after=MINUTE)._replace(attempt=3))),
    (arrival_checks.i10_one_key_a_run, arrivals(arrival(TASK, 2, after=MINUTE)._replace(key="another"))),
    (arrival_checks.i10_one_key_a_run, arrivals(arrival(TASK, 2, after=MINUTE)._replace(task=DEAD.id))),
    (arrival_checks.i10_one_run_a_planned_instant, without(RUN.id)),
    (arrival_checks.i10_one_run_a_planned_instant, {"tasks": tasks(replace(RUN, id="run_twice"))}),
    (arrival_checks.i10_one_run_a_planned_instant, {"recurring": [Recurring(id=PLAN, planned_ms=())]}),
    (item_checks.i11_what_was_accepted_has_ended, without(TASK.id)),
    (item_checks.i11_what_was_accepted_has_ended, {"tasks": tasks(replace(TASK, state=State.RETRYING))}),
    (item_checks.i11_what_was_accepted_has_ended, payments(state=PaymentState.EXECUTING)),
    (arrival_checks.i11_what_succeeded_has_arrived, {"arrivals": SOUND.arrivals[2:]}),
    (arrival_checks.i11_what_succeeded_has_arrived, without(DEAD.id)),
    (arrival_checks.i12_no_arrival_is_early, arrivals(arrival(DEAD, 1, after=EARLY))),
    (arrival_checks.i12_no_arrival_is_early, arrivals(arrival(RUN, 1, after=EARLY))),
    (arrival_checks.i12_no_arrival_is_early, told(0, earliest_ms=milliseconds(START) + 4)),
    (item_checks.i12_nothing_begins_early, told(0, earliest_ms=milliseconds(START) + 1)),
    (item_checks.i12_nothing_begins_early, told(3, earliest_ms=milliseconds(PAID.planned_at) + 10_001)),
    (answer_checks.i13_one_item_a_key, {"tasks": tasks(replace(TASK, id=DEAD.id))}),
    (answer_checks.i13_one_item_a_key, {"tasks": tasks(EXTRA)}),
    (answer_checks.i13_one_item_a_key, notes(promised=SOUND.notes.promised[1:])),
    (
        answer_checks.i13_asked_again_the_answer_is_the_same,
        {"replays": [Replay(SOUND.notes.promised[0], 201, DEAD.id)]},
    ),
    (
        answer_checks.i13_asked_again_the_answer_is_the_same,
        {"replays": [Replay(SOUND.notes.promised[0], 201, TASK.id, True)]},
    ),
    (
        answer_checks.i13_asked_again_the_answer_is_the_same,
        notes(wanted=[Wanted(key="never answered", path="/", form={})]),
    ),
    (answer_checks.i14_what_was_told_stays, without(TASK.id)),
    (answer_checks.i14_what_was_told_stays, told(0, version=TASK.version + 1)),
    (answer_checks.i14_what_was_told_stays, told(0, version=2, status="PENDING")),
    (answer_checks.i14_what_was_told_stays, {"words": {RUN.id: 2}}),
    (answer_checks.i14_what_was_told_stays, {"words": {DEAD.id: 1}}),
    (answer_checks.i15_a_cancel_stays, {"tasks": tasks(replace(CANCELLED, state=State.SUCCEEDED))}),
    (answer_checks.i15_a_cancel_stays, arrivals(arrival(CANCELLED, 1))),
    (
        answer_checks.i15_a_cancel_stays,
        {"movements": [*SOUND.movements, replace(MOVED, payment_id=UNPAID.id)]},
    ),
    (item_checks.i16_letters_and_the_dead, {"letters": []}),
    (item_checks.i16_letters_and_the_dead, {"letters": [Letter(DEAD.id, DEAD.version - 1)]}),
    (item_checks.i16_letters_and_the_dead, {"letters": [*SOUND.letters, Letter(TASK.id, TASK.version)]}),
    (item_checks.i16_letters_and_the_dead, {"letters": [*SOUND.letters, Letter("task_unheard_of", 1)]}),
    (item_checks.i16_the_queues_are_empty, {"queued": {"tasks": 1, "payments": 0}}),
    (item_checks.i17_attempts_and_delays, {"tasks": tasks(replace(TASK, attempts=4))}),
    (item_checks.i17_attempts_and_delays, arrivals(arrival(TASK, 4, after=MINUTE))),
    (item_checks.i17_attempts_and_delays, {"tasks": tasks(hurried(TASK))}),
    (item_checks.i20_history_has_no_gap, {"tasks": tasks(lines(TASK, 1, 2, 4, 5))}),
    (item_checks.i20_history_has_no_gap, {"tasks": tasks(lines(TASK, 1, 2, 3, 4))}),
]


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_a_world_in_which_all_promises_are_kept_is_found_sound(check: Check) -> None:
    verdict = check(SOUND)
    assert verdict.ok, verdict.observed


@pytest.mark.parametrize(
    ("check", "changes"), BROKEN, ids=[f"{place}-{check.__name__}" for place, (check, _) in enumerate(BROKEN)]
)
def test_a_broken_promise_is_found(check: Check, changes: dict[str, Any]) -> None:
    verdict = check(seen(**changes))
    assert verdict.wrong
    assert not verdict.ok


def test_each_check_can_fail() -> None:
    assert {check for check, _ in BROKEN} == set(ALL)


@pytest.mark.parametrize("check", [each for each in ALL if each is not money.i1_money_is_conserved])
def test_a_check_that_finds_nothing_to_look_at_is_not_content(check: Check) -> None:
    nothing = Seen(
        notes=Notes(),
        recurring=[],
        tasks={},
        payments={},
        accounts={},
        movements=[],
        arrivals=[],
        words={},
        letters=[],
        queued={},
        replays=[],
        audit={"moving": [], "unread": [], "goes_on_after": None, "checks": []},
    )
    assert not check(nothing).ok


def test_an_acknowledged_task_that_is_cancelled_between_two_attempts_has_arrived_before() -> None:
    """The task's acceptance is a line of its own, and no attempt."""
    pending, running, retrying, *_ = TASK.history
    accepted = replace(running, version=3)
    cancelled = replace(
        TASK,
        state=State.CANCELLED,
        version=5,
        history=(
            pending,
            running,
            accepted,
            replace(retrying, version=4),
            replace(retrying, version=5, to=State.CANCELLED),
        ),
    )
    promised = [replace(SOUND.notes.promised[0], cancelled=True, version=5, status="CANCELLED")]
    changes = {"tasks": tasks(cancelled), **notes(promised=promised)}
    once = {**changes, "arrivals": [sound.arrival(TASK, 1)]}
    assert answer_checks.i15_a_cancel_stays(seen(**once)).ok
    assert not answer_checks.i15_a_cancel_stays(seen(**changes)).ok
