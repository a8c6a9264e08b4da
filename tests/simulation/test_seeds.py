"""A taste of the simulation, in a process of its own: it replaces what the whole process knows of time and AWS."""

import os
import subprocess
import sys

from postdate.domain import money, transitions
from tests.simulation.transitions import PAYMENTS, TASKS

_SEEDS = "0:60"
# Seeds in which something was wrong once, of the code or of a checker.
_KEPT = (2, 44, 67, 107, 127, 151, 162, 223)
_SINGLE = ("a task, due at once", "a payment, cancelled")
_PLANTED = {
    "no fence": 20,
    "no condition on its state": 40,
    "a payment settles again and again": 40,
    "a key is reserved without a condition": 10,
}


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
    assert " 0 broken" in _simulated("--seeds", _SEEDS, "--jobs", "2")


def test_what_was_wrong_once_stays_right() -> None:
    for seed in _KEPT:
        assert " 0 broken" in _simulated("--seeds", f"{seed}:{seed + 1}", "--jobs", "1")


def test_the_same_seed_is_the_same_run_to_the_byte() -> None:
    for seed in ("3", "11"):
        once, again = (_simulated("--replay", seed, hash_seed=order) for order in ("1", "2"))
        assert once == again
        assert len(once.splitlines()) > 50


def test_a_run_does_not_depend_on_the_runs_before_it() -> None:
    alone = _simulated("--replay", "5")
    assert _simulated("--replay", "5", "--after", "1:5") == alone


def test_a_single_fault_at_any_call_of_a_flow_leaves_nothing_undone() -> None:
    for flow in _SINGLE:
        assert " 0 broken" in _simulated("--single", "--only", flow, "--jobs", "1")


def test_planted_mistakes_are_found() -> None:
    for name, seeds in _PLANTED.items():
        assert " 0 missed" in _simulated("--planted", str(seeds), "--only", name, "--jobs", "1")


def test_the_checkers_allow_what_the_tables_allow() -> None:
    for own, table in ((TASKS, transitions.ALLOWED), (PAYMENTS, money.ALLOWED)):
        code = {state.value: {to.value for to in then} for state, then in table.items()}
        assert own == code
