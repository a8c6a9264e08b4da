"""Transitions of a payment's states; no step makes or loses money."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import executions, money, settlement
from postdate.domain.due import Due
from postdate.domain.errors import InvalidState
from postdate.domain.executions import EXECUTIONS_MAX
from postdate.domain.item import Phase
from postdate.domain.money import ALLOWED, HISTORY_LINES_MAX
from postdate.domain.payment import ExecutionStatus, Funding, Payment, State
from postdate.domain.posting import Posting
from postdate.domain.verdicts import Buried, Deferred, Dropped
from postdate.stores.ledger import PostingAnswer
from tests.unit.doubles import (
    MINUTE,
    SECOND,
    START,
    STEADY,
    ScriptedLedger,
    a_payment,
    a_registration,
    parked,
    payment_in,
    stumbled,
)

MILLISECOND = SECOND / 1000
NOW = START + MINUTE
PENDING, EXECUTING = State.PENDING, State.EXECUTING
COMPLETED, FAILED, CANCELLED = State.COMPLETED, State.FAILED, State.CANCELLED
REFUSED, NOTHING = "refused", "nothing to do"

STEPS = {
    "settle": lambda payment, now=NOW: settlement.settle(payment, now=now),
    "fail": lambda payment, now=NOW: settlement.fail(
        payment, now=now, code="account_frozen", why="is frozen"
    ),
    "stumble": lambda payment, now=NOW: settlement.stumble(
        payment, now=now, why="no", retry=STEADY, draw=0.5
    ),
    "cancel": lambda payment, now=NOW: money.cancel(payment, now=now),
    "operator cancels": lambda payment, now=NOW: money.cancel(payment, now=now, operator=True),
    "edit": lambda payment, now=NOW: money.edit(payment, now=now, amount=150, why="changed amount"),
    "move": lambda payment, now=NOW: money.edit(payment, now=now, due_at=now + MINUTE, why="moved"),
}

# The next state of a payment for each step and state, or the answer instead.
CELLS = {
    PENDING: (COMPLETED, FAILED, EXECUTING, CANCELLED, CANCELLED, PENDING, PENDING),
    EXECUTING: (COMPLETED, FAILED, EXECUTING, REFUSED, CANCELLED, REFUSED, REFUSED),
    COMPLETED: (REFUSED,) * 7,
    FAILED: (REFUSED,) * 7,
    CANCELLED: (REFUSED, REFUSED, REFUSED, NOTHING, NOTHING, REFUSED, REFUSED),
}
EVERY_CELL = [
    pytest.param(state, step, expected, id=f"{state}-{step}")
    for state, row in CELLS.items()
    for step, expected in zip(STEPS, row, strict=True)
]
EVERY_STEP = [
    pytest.param(state, step, id=f"{state}-{step}")
    for state, row in CELLS.items()
    for step, expected in zip(STEPS, row, strict=True)
    if isinstance(expected, State)
]
FUNDINGS = pytest.mark.parametrize("funding", Funding)


def legs(posting: Posting) -> dict[str, tuple[int, int]]:
    return {leg.account: (leg.available, leg.reserved) for leg in posting.legs}


def test_the_cells_name_every_state():
    assert CELLS.keys() == set(State) == ALLOWED.keys()


@pytest.mark.parametrize(("state", "step", "expected"), EVERY_CELL)
def test_a_step_does_in_each_state_what_the_table_says(state, step, expected):
    before = payment_in(state)
    if expected is REFUSED:
        with pytest.raises(InvalidState) as refused:
            STEPS[step](before)
        assert refused.value.state == state
        return
    posting = STEPS[step](before)
    if expected is NOTHING:
        assert posting is None
        return
    assert (posting.before, posting.after.state) == (before, expected)
    assert expected in ALLOWED[state]


def test_the_table_allows_no_more_than_the_steps_do():
    reached = {state: {cell for cell in row if isinstance(cell, State)} for state, row in CELLS.items()}
    assert {state: set(allowed) for state, allowed in ALLOWED.items()} == reached


def test_nothing_leaves_a_final_state():
    assert {state for state, after in ALLOWED.items() if not after} == {
        state for state in State if state.is_final
    }


@FUNDINGS
@pytest.mark.parametrize(("state", "step"), EVERY_STEP)
def test_no_step_makes_or_loses_money_and_what_is_held_follows(state, step, funding):
    posting = STEPS[step](payment_in(state, a_payment(funding=funding)))
    assert sum(leg.available + leg.reserved for leg in posting.legs) == 0
    held = sum(leg.reserved for leg in posting.legs)
    assert held == posting.after.held - posting.before.held
    assert (posting.movement is not None) == (posting.after.state is COMPLETED)
    if posting.movement:
        assert sum(amount for _, amount in posting.movement.legs) == 0
        effects = {leg.account: leg.available + leg.reserved for leg in posting.legs}
        assert effects == {name: posting.movement.effect_on(name) for name in ("alice", "bob")}


@FUNDINGS
@pytest.mark.parametrize(("state", "step"), EVERY_STEP)
def test_each_step_is_a_version_with_a_line_of_its_own(state, step, funding):
    posting = STEPS[step](payment_in(state, a_payment(funding=funding)))
    before, after = posting.before, posting.after
    assert after.version == before.version + 1
    assert after.history[:-1] == before.history
    line = after.history[-1]
    assert (line.version, line.at, line.to, line.attempt) == (
        after.version,
        NOW,
        after.state,
        after.attempts,
    )
    assert posting.at == NOW


def test_registering_holds_the_amount_if_it_is_to_be_held():
    held, not_held = a_registration(), a_registration(funding=Funding.AT_EXECUTION)
    assert legs(held) == {"alice": (-100, 100)}
    assert not_held.legs == ()
    assert (held.after.held, not_held.after.held) == (100, 0)
    assert (held.before, held.after.version, held.after.state) == (None, 1, PENDING)
    assert [(line.version, line.to, line.why) for line in held.after.history] == [(1, PENDING, "registered")]


@pytest.mark.parametrize(
    ("funding", "given_by_payer"), [(Funding.RESERVE, (0, -100)), (Funding.AT_EXECUTION, (-100, 0))]
)
def test_settling_gives_what_was_held_or_what_is_there(funding, given_by_payer):
    posting = settlement.settle(a_payment(funding=funding), now=NOW)
    assert legs(posting) == {"alice": given_by_payer, "bob": (100, 0)}
    assert all(leg.needs_active for leg in posting.legs)


def test_a_payment_has_one_movement_whatever_its_plan_and_its_attempts():
    once = settlement.settle(a_payment(), now=NOW).movement
    again = settlement.settle(stumbled(stumbled(a_payment())), now=NOW + MINUTE).movement
    moved = STEPS["move"](a_payment()).after
    assert once.id == again.id
    assert settlement.settle(moved, now=moved.due_at).movement.id == once.id
    assert settlement.settle(a_payment(2), now=NOW).movement.id != once.id
    assert (once.payer, once.payee, once.amount, once.payment_id) == ("alice", "bob", 100, a_payment().id)


@pytest.mark.parametrize(
    "payment", [a_payment(), stumbled(a_payment()), parked()], ids=["new", "tried", "parked"]
)
def test_nothing_is_settled_a_millisecond_early(payment):
    with pytest.raises(InvalidState):
        settlement.settle(payment, now=payment.planned_at - MILLISECOND)
    assert settlement.settle(payment, now=payment.planned_at).after.state is COMPLETED


@pytest.mark.parametrize("step", ["fail", "cancel"])
def test_money_goes_back_to_its_owner_though_the_account_is_frozen(step):
    (leg,) = STEPS[step](a_payment()).legs
    assert (leg.account, leg.available, leg.reserved, leg.needs_active) == ("alice", 100, -100, False)
    assert STEPS[step](a_payment(funding=Funding.AT_EXECUTION)).legs == ()


def test_a_payment_can_fail_without_a_payer_to_give_anything_back_to():
    posting = settlement.fail(a_payment(), now=NOW, code="account_not_found", why="no", payer_is_there=False)
    assert (posting.legs, posting.after.state) == ((), FAILED)


@pytest.mark.parametrize(("amount", "more"), [(150, 50), (40, -60)])
def test_the_hold_follows_an_edited_amount(amount, more):
    posting = money.edit(a_payment(), now=NOW, amount=amount, why="changed amount")
    assert legs(posting) == {"alice": (-more, more)}
    assert (posting.after.amount, posting.after.held) == (amount, amount)
    unheld = a_payment(funding=Funding.AT_EXECUTION)
    assert money.edit(unheld, now=NOW, amount=amount, why="changed amount").legs == ()


def test_an_edit_of_something_else_moves_neither_money_nor_the_instant():
    posting = money.edit(a_payment(), now=NOW, why="changed description", description="rent")
    assert (posting.legs, posting.points, posting.after.description) == ((), False, "rent")
    assert (posting.after.due_at, posting.after.moved_at) == (a_payment().due_at, a_payment().moved_at)


def test_only_a_change_of_minute_away_from_home_needs_a_pointer():
    before = a_payment()

    def moved_to(due_at, payment=before):
        return money.edit(payment, now=NOW, due_at=due_at, why="moved")

    assert not moved_to(before.due_at + 59 * SECOND).points
    away = moved_to(before.due_at + MINUTE)
    assert away.points
    assert (away.after.planned_at, away.after.due_at, away.after.moved_at) == (
        before.due_at + MINUTE,
        before.due_at + MINUTE,
        NOW,
    )
    assert not moved_to(before.due_at, away.after).points


def test_a_stumble_names_its_next_attempt_and_leaves_the_last_to_a_person():
    payment, seen = a_payment(), []
    for _ in range(STEADY.max_attempts):
        posting = STEPS["stumble"](payment)
        assert (posting.legs, posting.movement) == ((), None)
        payment = posting.after
        seen.append((payment.attempts, payment.due_at, payment.lease_until, payment.phase))
    second, third = NOW + 10 * SECOND, NOW + 20 * SECOND
    assert seen == [
        (1, second, second, Phase.RUNS),
        (2, third, third, Phase.RUNS),
        (3, third, None, Phase.RESTS),
    ]
    assert (payment.held, payment.error, payment.planned_at) == (100, "no", START)
    again = STEPS["stumble"](payment).after
    assert (again.attempts, again.lease_until, again.version) == (4, None, payment.version + 1)


def test_a_parked_payment_that_has_attempts_again_is_seen_by_the_sweep_of_its_retry():
    """The payment's own minute may be audited already, and a lost call would not be found there."""
    more = replace(STEADY, max_attempts=20)
    posting = settlement.stumble(parked(), now=NOW, why="no", retry=more, draw=0.5)
    assert (posting.points, posting.after.phase) == (True, Phase.RUNS)
    assert not STEPS["stumble"](a_payment()).points
    assert not STEPS["stumble"](parked()).points


def test_no_attempt_is_due_before_the_plan_whatever_the_clock_says():
    """A clock that is put back between an attempt and its note would have it tried without a pause until then."""
    payment = a_payment()
    put_back = payment.planned_at - MINUTE
    after = settlement.stumble(payment, now=put_back, why="no", retry=STEADY, draw=0.5).after
    assert (after.due_at, after.lease_until) == (payment.planned_at, payment.planned_at)


def test_an_end_tells_when_and_why_and_a_success_forgets_the_stumbles():
    tried = stumbled(a_payment())
    done, failed = STEPS["settle"](tried).after, STEPS["fail"](tried).after
    assert (done.finished_at, done.error, done.error_code, done.lease_until) == (NOW, None, None, None)
    assert (done.lateness_ms, failed.lateness_ms) == (60_000, None)
    assert (failed.finished_at, failed.error, failed.error_code) == (NOW, "is frozen", "account_frozen")
    assert (done.attempts, failed.attempts, failed.lease_until) == (2, 2, None)


def test_executions_tell_of_each_attempt_and_only_the_newest_is_open():
    payment = a_payment()
    first = stumbled(payment)
    second = stumbled(first)
    done = settlement.settle(second, now=NOW).after
    assert [each.status for each in first.executions] == [ExecutionStatus.IN_PROGRESS]
    assert [each.status for each in second.executions] == [
        ExecutionStatus.FAILED,
        ExecutionStatus.IN_PROGRESS,
    ]
    assert [(each.status, each.retry_count) for each in done.executions] == [
        (ExecutionStatus.FAILED, 0),
        (ExecutionStatus.FAILED, 1),
        (ExecutionStatus.SUCCESS, 2),
    ]
    assert all(each.completed_at for each in done.executions)
    assert len({each.id for each in done.executions}) == 3
    assert parked().executions[-1].status is ExecutionStatus.FAILED


def test_an_execution_has_the_name_it_was_given():
    assert settlement.settle(a_payment(), now=NOW, execution_id="mine").after.executions[-1].id == "mine"
    default = settlement.settle(a_payment(), now=NOW).after.executions[-1].id
    assert default == executions.execution_id(a_payment())


def test_long_lives_keep_their_first_line_and_the_newest():
    edited, tried = a_payment(), a_payment()
    for _ in range(HISTORY_LINES_MAX + 20):
        edited = money.edit(edited, now=NOW, why="again").after
        tried = STEPS["stumble"](tried).after
    versions = [line.version for line in edited.history]
    assert versions == [1, *range(edited.version - HISTORY_LINES_MAX + 2, edited.version + 1)]
    assert len(tried.executions) == EXECUTIONS_MAX
    assert tried.executions[-1].retry_count == tried.attempts - 1


def test_cancelling_twice_is_no_error_and_makes_no_version():
    cancelled = STEPS["cancel"](a_payment()).after
    assert cancelled.finished_at == NOW
    assert STEPS["cancel"](cancelled) is None


# Each step at some amount, upon one of a few payments between three accounts.
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["register", *STEPS]),
        st.integers(0, 5),
        st.integers(1, 900),
        st.sampled_from(Funding),
    ),
    max_size=60,
)


class Books:
    """A ledger, and what one expects of it who only adds up."""

    NAMES = ("alice", "bob", "carol")

    def __init__(self) -> None:
        self.ledger = ScriptedLedger()
        self.ledger.opens(*self.NAMES, available=1_000)
        self.now = START
        self.ends: Counter[str] = Counter()
        self.lines: dict[str, list[int]] = {}

    def step(self, name: str, number: int, amount: int, funding: Funding) -> None:
        self.now += SECOND
        posting = self._posting(name, number, amount, funding)
        if posting is None:
            return
        (posted,) = self.ledger.post([posting])
        assert posted.answer in (PostingAnswer.DONE, PostingAnswer.SHORT, PostingAnswer.STALE)
        if posted.answer is PostingAnswer.DONE:
            self.lines.setdefault(posting.after.id, []).append(posting.after.history[-1].version)
            self.ends[posting.after.id] += posting.after.state.is_final

    def _posting(self, name: str, number: int, amount: int, funding: Funding) -> Posting | None:
        registration = a_registration(
            number,
            amount=amount,
            funding=funding,
            payer=self.NAMES[number % 3],
            payee=self.NAMES[(number + 1) % 3],
        )
        payment = self.ledger.payment(registration.after.id)
        if name == "register" or payment is None:
            return registration
        try:
            if name == "edit":
                return money.edit(payment, now=self.now, amount=amount, why="changed amount")
            return STEPS[name](payment, now=max(self.now, payment.due_at))
        except InvalidState:
            return None

    @property
    def payments(self) -> Iterable[Payment]:
        return self.ledger.payments(self.lines).values()


@given(MOVES)
def test_whatever_happens_money_is_conserved_and_held_for_what_is_open(moves):
    books = Books()
    for move in moves:
        books.step(*move)
        accounts = books.ledger.accounts("demo", books.NAMES).values()
        assert sum(account.available + account.reserved for account in accounts) == 3_000
        assert min(min(account.available, account.reserved) for account in accounts) >= 0
        held = Counter(dict.fromkeys(books.NAMES, 0))
        for payment in books.payments:
            held[payment.payer] += payment.held
        assert {account.id: account.reserved for account in accounts} == held
    for payment in books.payments:
        assert books.lines[payment.id] == list(range(1, payment.version + 1))
        assert books.ends[payment.id] == payment.state.is_final
        assert all(later.to in ALLOWED[earlier.to] for earlier, later in pairwise(payment.history))
    for name in books.NAMES:
        journal = books.ledger.movements("demo", name, after="", limit=100)
        account = books.ledger.account("demo", name)
        assert 1_000 + sum(row.effect_on(name) for row in journal) == account.balance


PAYMENT = a_payment()
MOVED = money.edit(PAYMENT, now=START - MINUTE, due_at=START + MINUTE, why="moved").after


def verdict(payment, *, due=None, now=None, repeated=False):
    return settlement.verdict(payment, due or Due.of(payment), now=now or payment.due_at, repeated=repeated)


def test_a_call_settles_at_its_instant_and_no_millisecond_before():
    assert verdict(PAYMENT) is None
    assert verdict(PAYMENT, now=START - MILLISECOND) == Deferred(why="not due yet")


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("state", [COMPLETED, FAILED, CANCELLED])
def test_an_ended_payment_drops_every_call(state, repeated):
    assert verdict(payment_in(state), now=NOW, repeated=repeated) == Dropped(why=f"is {state}")


def test_the_call_of_an_instant_the_payment_was_moved_from_is_dropped_until_it_is_due():
    assert verdict(MOVED, due=Due.of(PAYMENT), now=START) == Dropped(why="moved")
    assert verdict(MOVED, due=Due.of(PAYMENT)) is None


def test_a_repeated_call_of_a_moved_payment_is_sent_on_to_its_new_instant():
    assert verdict(MOVED, due=Due.of(PAYMENT), now=START, repeated=True) == Deferred(why="not due yet")


def test_a_call_that_comes_more_than_fifteen_minutes_early_is_left_to_a_sweep():
    early = START - 15 * MINUTE
    for repeated in (False, True):
        assert verdict(PAYMENT, now=early, repeated=repeated) == Deferred(why="not due yet")
        left = verdict(PAYMENT, now=early - MILLISECOND, repeated=repeated)
        assert left == Dropped(why="a later sweep has it")


def test_the_call_of_a_next_attempt_waits_for_it_and_no_sweep_is_trusted_with_it():
    tried = stumbled(a_payment())
    assert verdict(tried) is None
    assert verdict(tried, now=tried.due_at - 20 * MINUTE) == Deferred(why="not due yet")
    assert verdict(tried, due=Due.of(PAYMENT), now=START) == Dropped(why="moved")
    assert verdict(tried, due=Due.of(PAYMENT), now=START, repeated=True) == Deferred(why="not due yet")


def test_a_parked_payment_is_settled_by_its_own_letter_and_by_no_other_call():
    left = parked()
    for repeated in (False, True):
        assert verdict(left, repeated=repeated) is None
    for off in (-2, -1, 1):
        due = replace(Due.of(left), version=left.version + off)
        once = Buried() if off == -1 else Dropped(why="waits for a person")
        assert verdict(left, due=due) == once, "only the call for the attempt before may be the last there is"
        assert verdict(left, due=due, repeated=True) == Buried()


def test_not_even_a_letter_settles_before_the_instant():
    left = parked()
    assert verdict(left, now=left.due_at - MILLISECOND) == Deferred(why="not due yet")
