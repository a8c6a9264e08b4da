"""A taste of the simulation, in a process of its own: it replaces what the whole process knows of time and AWS."""

import os
import re
import subprocess
import sys
from pathlib import Path

from postdate.domain import definition, money, transitions
from tests.simulation import boundary, destination, items_at_rest, operations, queues, quotas, switched
from tests.simulation.checkers import (
    AT_THE_END,
    INVARIANTS,
    OF_ERASURE,
    OF_EVENTS,
    OF_RETENTION,
    STEP,
)
from tests.simulation.planted import BUGS, seeds_in
from tests.simulation.transitions import DEFINITIONS, PAYMENTS, TASKS

_SEEDS = "0:70"
# Runs of operations, of subscriptions and of long transactions: the last caches that outlived a run showed in them.
_ORDERED = "406,416:420,422,435,457"
_SINGLE = "a payment, cancelled"
_PLANTED = "no fence"
_FENCE = "an outcome is written over a newer claim (no fence)"
_PLANTED_SEEDS = "60"


def _simulated(*arguments: str, hash_seed: str = "random") -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.simulation.main", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{ran.stdout[-4000:]}\n{ran.stderr[-4000:]}"
    return ran.stdout


def test_whatever_goes_wrong_every_invariant_holds_and_all_comes_to_its_end() -> None:
    assert " 0 broken" in _simulated("--seeds", _SEEDS)


def test_short_runs_hold_as_well_and_are_the_same_again() -> None:
    assert " 0 broken" in _simulated("--short", "--seeds", "0:60")
    assert _simulated("--replay", "7", "--short") == _simulated("--replay", "7", "--short")


def test_a_long_run_that_is_broken_off_tells_its_findings_until_then() -> None:
    ran = subprocess.Popen(
        [sys.executable, "-m", "tests.simulation.main", "--short", "--seeds", "0:1000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ran.stderr is not None
    assert " of 1000000 seeds, 0 broken" in ran.stderr.readline()
    ran.terminate()
    told, _ = ran.communicate(timeout=60)
    assert ran.returncode == 1
    assert " seeds of 1000000, 0 broken; " in told
    assert not told.startswith("0 seeds")


def test_the_same_seed_is_the_same_run_to_the_byte() -> None:
    once = _simulated("--replay", "5", hash_seed="1")
    assert len(once.splitlines()) > 50
    assert _simulated("--replay", "5", hash_seed="2") == once


def test_a_run_does_not_depend_on_the_runs_before_it() -> None:
    assert _simulated("--replay", "5", "--after", "1:5") == _simulated("--replay", "5")


def test_runs_of_one_process_are_the_same_in_any_order() -> None:
    assert " 0 differ" in _simulated("--orders", _ORDERED)
    assert " 0 differ" in _simulated("--orders", "0:40", "--short")


def test_a_single_fault_at_any_call_of_a_flow_leaves_nothing_undone() -> None:
    assert " 0 broken" in _simulated("--single", "--only", _SINGLE)


def test_a_planted_mistake_is_found_by_the_seed_that_found_it_last() -> None:
    assert " 0 missed; 1 runs" in _simulated("--planted", _PLANTED_SEEDS, "--only", _PLANTED)


def test_each_planted_mistake_has_a_seed_in_the_page() -> None:
    page = Path("docs/planted.md").read_text()
    assert list(seeds_in(page)) == [bug.name for bug in BUGS if bug.test is None]
    assert all(f"| {bug.test} |" in page for bug in BUGS if bug.test is not None)
    assert f"{len(BUGS)} mistakes, 0 missed." in page
    assert "**nothing**" not in page


def test_what_was_kept_of_broken_runs_breaks_with_their_mistakes_and_holds_without() -> None:
    assert " 0 missed, 0 broken" in _simulated("--kept")


def test_a_broken_run_is_made_small_and_what_is_left_breaks_as_well() -> None:
    found = _simulated("--planted", "200", "--short", "--only", _PLANTED).split()[0]
    told = _simulated("--shrink", found, "--short", "--planting", _FENCE)
    before, after = map(int, re.findall(r"(\d+) lines made (\d+)", told)[0])
    assert after < before
    seed, mix = re.findall(r"--replay (\d+) --given '(.*)'", told)[0]
    again = ("--replay", seed, "--given", mix)
    assert "all invariants hold" in _simulated(*again)
    broken = subprocess.run(
        [sys.executable, "-m", "tests.simulation.main", *again, "--planting", _FENCE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert broken.returncode == 1
    assert broken.stdout.splitlines()[-1] == told.splitlines()[-3]


def test_the_checkers_allow_what_the_tables_allow() -> None:
    tables = (TASKS, transitions.ALLOWED), (PAYMENTS, money.ALLOWED), (DEFINITIONS, definition.ALLOWED)
    for own, table in tables:
        code = {state.value: {to.value for to in then} for state, then in table.items()}
        assert own == code


def test_each_invariant_has_its_checkers_and_each_checker_its_invariant() -> None:
    assert list(INVARIANTS) == [f"I{number}" for number in range(1, 27)]
    used = {
        *STEP,
        *AT_THE_END,
        *OF_EVENTS,
        *OF_RETENTION,
        *OF_ERASURE,
        items_at_rest.i11_nothing_is_left_to_the_audit,
        items_at_rest.i16_who_is_dead_has_a_letter,
    }
    used |= {items_at_rest.i22_it_comes_to_rest, items_at_rest.on_time, queues.a_queue_moves_on}
    used |= {operations.i24_an_operation_calls_what_it_planned, switched.i25_nothing_settles_while_it_is_off}
    used |= {items_at_rest.i22_payments_outlive_their_worker}
    used |= {operations.i24_each_is_carried_out}
    used |= {quotas.i17_deliveries_keep_to_the_share, destination.i26_each_delivery_is_signed}
    used |= {*boundary.BEFORE_EACH, boundary.i19_is_told_only_of_the_tenants_own}
    named = {check for shown in INVARIANTS.values() for check in shown.here}
    assert named <= used
    of_destinations = {"tests.simulation.flows", "tests.simulation.breakers"}
    assert {check for check in used - named if check.__module__ not in of_destinations} == set()


def test_what_is_shown_elsewhere_is_there() -> None:
    tests = Path(__file__).parents[1]
    written = "".join(path.read_text() for path in tests.rglob("test_*.py"))
    wanted = {name for shown in INVARIANTS.values() for name in shown.elsewhere}
    assert {name for name in wanted if f"def {name}(" not in written} == set()
