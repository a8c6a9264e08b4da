"""The searches, each with its number of states when it was last checked: a smaller number means a lost part."""

from dataclasses import replace
from typing import Final

from tests.model.payment_system import PaymentSystem
from tests.model.plan import Plan
from tests.model.search import Found, search
from tests.model.task_system import TaskSystem

# From far ahead to an hour later: a minute is opened at its -120 s and closed at its 120 s.
_A_MINUTE: Final = (-190, -130, -110, 20, 30, 45, 120, 180, 3660)
_TWO_MINUTES: Final = (-10, 20, 30, 120, 900, 930, 950, 1030, 1090, 1230, 1320, 1400, 3660, 4860)
# A first minute with all its passes, and the 63rd, in which a letter is redriven.
_REDRIVEN: Final = (0, 60, 120, 180, 3660, 3720, 3780, 3840, 3900, 7380)

_TASKS: Final = {
    Plan(name="a task and two crashes", seconds=(0, 60), due=0, doubles=0): 45_125,
    Plan(
        name="a task and a worker that stands still", seconds=(0, 60, 120), due=0, crashes=1, doubles=0
    ): 73_758,
    Plan(name="a task and a doubled call", seconds=(0, 60), due=0, crashes=1): 90_279,
    Plan(
        name="a task and an answer that is lost", seconds=(0, 60), due=0, crashes=1, doubles=0, answers=1
    ): 22_187,
    Plan(
        name="a task that is cancelled",
        seconds=(0, 60, 120),
        due=1,
        crashes=1,
        doubles=0,
        wishes=("cancelled",),
    ): 38_990,
    Plan(
        name="a task that is redriven",
        seconds=(0, 60),
        due=0,
        attempts=1,
        crashes=1,
        doubles=0,
        redrives=1,
        postpones=1,
    ): 49_486,
    Plan(name="a task that waits its turn", seconds=(0, 60), due=0, crashes=0, doubles=0, postpones=1): 5_611,
    Plan(
        name="a task with a deadline",
        seconds=(0, 60, 120),
        due=0,
        crashes=1,
        doubles=0,
        expires=2,
    ): 22_180,
    Plan(
        name="a task with a deadline that is redriven",
        seconds=(0, 60, 120),
        due=0,
        workers=1,
        attempts=1,
        crashes=1,
        doubles=0,
        redrives=1,
        expires=2,
    ): 566,
    Plan(
        name="a task that its receiver acknowledges",
        seconds=(0, 60),
        due=0,
        crashes=1,
        doubles=0,
        acknowledged=True,
        prompt=True,
        wishes=("done", "failed"),
    ): 64_050,
    Plan(
        name="a task that is registered late",
        seconds=_A_MINUTE,
        due=4,
        workers=1,
        attempts=1,
        doubles=0,
        prompt=True,
        registers=True,
        repeats=1,
        sweeps=(0,),
        audits=(8,),
    ): 23_616,
    Plan(
        name="a task that is moved",
        seconds=_TWO_MINUTES,
        due=2,
        moved_to=(9,),
        workers=1,
        attempts=1,
        doubles=0,
        prompt=True,
        wishes=("moved 0", "cancelled"),
        sweeps=(0, 20),
        audits=(12, 13),
    ): 23_518,
    Plan(
        name="a call that vanishes",
        seconds=_A_MINUTE,
        due=4,
        workers=1,
        attempts=1,
        crashes=0,
        doubles=0,
        losses=1,
        prompt=True,
        registers=True,
        sweeps=(0,),
        audits=(8,),
    ): 939,
    Plan(
        name="a task that is redriven after its audit, and a call that vanishes",
        seconds=_REDRIVEN,
        due=0,
        workers=1,
        attempts=1,
        crashes=0,
        doubles=0,
        losses=1,
        redrives=1,
        postpones=1,
        prompt=True,
        sweeps=(0, 62),
        audits=(4, 9),
    ): 1_366,
    Plan(
        name="all together",
        seconds=_A_MINUTE[1:],
        due=3,
        moved_to=(4,),
        attempts=1,
        crashes=1,
        doubles=0,
        prompt=True,
        registers=True,
        wishes=("moved 0", "cancelled"),
        sweeps=(0,),
        audits=(7,),
    ): 73_807,
}
_PAYMENTS: Final = {
    Plan(
        name="two payments",
        seconds=(0, 60),
        due=0,
        amounts=(2, 1),
        money=3,
        doubles=0,
        wishes=("cancelled 2",),
    ): 7_795,
    Plan(
        name="two payments and money for one",
        seconds=(0, 60),
        due=0,
        amounts=(2, 1),
        money=2,
        reserves=False,
        wishes=("cancelled 1",),
    ): 50_918,
    Plan(
        name="two payments of which one is registered late",
        seconds=(0, 60, 120),
        due=1,
        amounts=(2, 1),
        money=4,
        crashes=1,
        doubles=0,
        wishes=("registered 2", "cancelled 1"),
        closes=True,
    ): 48_504,
    Plan(
        name="a payment that is changed",
        seconds=(0, 60, 120),
        due=1,
        moved_to=(2,),
        amounts=(2,),
        money=3,
        crashes=1,
        doubles=0,
        wishes=("amount of 1", "moved 1"),
        closes=True,
    ): 24_885,
    Plan(
        name="a payment that meets trouble",
        seconds=(0, 60),
        due=0,
        amounts=(2,),
        money=2,
        crashes=1,
        doubles=0,
        outages=2,
        redrives=1,
        wishes=("cancelled by an operator 1", "executed 1"),
    ): 47_870,
    Plan(
        name="a payment that meets trouble and lacks money",
        seconds=(0, 60),
        due=0,
        amounts=(2,),
        money=1,
        reserves=False,
        doubles=0,
        outages=2,
    ): 6_657,
}
COUNTS: Final = {plan.name: count for plan, count in (_TASKS | _PAYMENTS).items()}
PLANS: Final = {plan.name: plan for plan in (*_TASKS, *_PAYMENTS)}


def searched(name: str, *, mistake: str = "", breaks: str = "") -> Found:
    plan = replace(PLANS[name], mistake=mistake, breaks=breaks)
    return search(PaymentSystem(plan) if plan.amounts else TaskSystem(plan))
