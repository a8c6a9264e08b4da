"""The actions on the items of a slice.

Each item's change is conditional on the version that the plan saw, so a slice that is repeated after a crash changes
nothing more. An item with another version was acted on before the crash, or belongs to whoever changed it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol, TypeAlias

from postdate.domain import money, transitions
from postdate.domain import operation as rules
from postdate.domain.definition import Definition
from postdate.domain.due import PACKET_ITEMS_MAX, Due, Packet, Via
from postdate.domain.errors import Unavailable
from postdate.domain.letters import used_up
from postdate.domain.operation import Action, Entry, Item, Kind, Operation, Outcome
from postdate.domain.payment import Payment
from postdate.domain.task import State, Task
from postdate.runtime.dead_letters import Letter, Letters
from postdate.runtime.queue import Queue
from postdate.stores.ledger import Ledger, PostingAnswer
from postdate.stores.tasks import Tasks, Written

# In one look. Further letters are found by the next.
LETTERS_MAX: Final = 1_000
# At most so many looks search for the letters of a slice, well within the time for which a look hides its letters.
_LOOKS: Final = 5


class Actor(Protocol):
    def known(self, ids: Iterable[str]) -> Mapping[str, Item]:
        """Returns the items that exist, by a consistent read. Raises Unavailable if some cannot be read."""

    def act(self, operation: Operation, items: Sequence[Item], *, now: datetime) -> dict[str, Outcome]:
        """Acts on items that the action is for, each at the version that the plan saw. SENT: the end follows later.
        Raises Unavailable if not all of it could be done: the caller repeats all of it."""

    def tidied(self, most: int) -> int:
        """Deletes letters that are used up, among this many; answers how many they were."""


def acted(actor: Actor, operation: Operation, entries: Sequence[Entry], *, now: datetime) -> list[Entry]:
    """The entries after the action."""
    known = actor.known(each.id for each in entries)
    outcomes: dict[str, Outcome] = {}
    fresh: list[Item] = []
    for entry in entries:
        item = known.get(entry.id)
        if item is None or item.tenant != operation.tenant:
            outcomes[entry.id] = Outcome.CHANGED
        elif item.version != entry.version:
            outcomes[entry.id] = _before(operation, entry, item)
        elif rules.why_not(operation.plan, item, now):
            outcomes[entry.id] = Outcome.CHANGED
        else:
            fresh.append(item)
    outcomes |= actor.act(operation, fresh, now=now)
    return [replace(each, outcome=outcomes[each.id], at=now) for each in entries]


def ended(actor: Actor, operation: Operation, entries: Sequence[Entry]) -> list[Entry]:
    """The entries whose ends are known now."""
    known = actor.known(each.id for each in entries)
    told = [replace(each, outcome=rules.outcome_of(operation, each, known.get(each.id))) for each in entries]
    return [each for each in told if each.outcome is not Outcome.SENT]


def _before(operation: Operation, entry: Entry, item: Item) -> Outcome:
    if not rules.was_acted_on(operation, entry, item):
        return Outcome.CHANGED
    at_once = operation.plan.action is Action.CANCEL or isinstance(item, Definition)
    return Outcome.DONE if at_once else Outcome.SENT


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskActor:
    """A redrive sends the call that the redrive of the dead letter would send: it names the version of the death, and
    `run_tasks` accepts it from that version alone. A retry of a task that waits is written first and called after; the
    closing pass finds a call that is lost."""

    tasks: Tasks
    queue: Queue
    letters: Letters
    dead_letters: Queue

    def known(self, ids: Iterable[str]) -> Mapping[str, Item]:
        return self.tasks.get_many(ids).complete()

    def act(self, operation: Operation, items: Sequence[Item], *, now: datetime) -> dict[str, Outcome]:
        tasks = [each for each in items if isinstance(each, Task)]
        if operation.plan.action is Action.CANCEL:
            changes = [transitions.cancel(task, now=now) for task in tasks]
            return self._committed(operation, [each for each in changes if each is not None], Outcome.DONE)
        if operation.plan.action is Action.DISCARD:
            found = self._discard({(task.id, task.version) for task in tasks})
            return {
                task.id: Outcome.DONE if (task.id, task.version) in found else Outcome.MISSING
                for task in tasks
            }
        dead = [task for task in tasks if task.state is State.DEAD]
        _send(self.queue, operation, dead, Via.DEAD)
        waiting = [transitions.bring_forward(task, now=now) for task in tasks if task.state.waits]
        told = self._committed(operation, waiting, Outcome.SENT)
        moved = [each.after for each in waiting if told[each.after.id] is Outcome.SENT]
        _send(self.queue, operation, moved, Via.REGISTRATION)
        return told | dict.fromkeys((task.id for task in dead), Outcome.SENT)

    def tidied(self, most: int) -> int:
        letters = self.letters.look(most)
        known = self.tasks.get_many(due.id for letter in letters for due in letter.dues)
        over = [letter for letter in letters if used_up(letter.dues, known.get)]
        return self._delete(over, letters)

    def _discard(self, unwanted: set[tuple[str, int]]) -> set[tuple[str, int]]:
        """Deletes the letters of these items, and returns the items whose letter was found. Raises Unavailable if one
        of these letters stays.

        A letter that also calls other items is written anew for these, before it is deleted: a crash in between leaves
        one letter too many, which does no harm."""
        letters = self._looked(unwanted)
        found = [letter for letter in letters if _calls(letter) & unwanted]
        try:
            known = self.tasks.get_many(due.id for letter in found for due in letter.dues)
            for letter in found:
                kept = tuple(
                    due
                    for due in letter.dues
                    if (due.id, due.version) not in unwanted and not used_up([due], known.get)
                )
                if kept:
                    self.dead_letters.send([Packet(tenant=letter.tenant, via=Via.DEAD, dues=kept)])
        except Unavailable:
            self.letters.release(letters)
            raise
        if self._delete(found, letters) < len(found):
            raise Unavailable("some letters were not deleted")
        return {call for letter in found for call in _calls(letter)} & unwanted

    def _looked(self, unwanted: set[tuple[str, int]]) -> list[Letter]:
        """Reads letters until all `unwanted` calls are found, or no more letters are there. Each look hides its letters
        from others, so the next look finds others."""
        letters: list[Letter] = []
        for _ in range(_LOOKS):
            newest = self.letters.look(LETTERS_MAX)
            letters += newest
            unwanted = unwanted.difference(*map(_calls, newest))
            if not unwanted or len(newest) < LETTERS_MAX:
                break
        return letters

    def _delete(self, over: Sequence[Letter], letters: Sequence[Letter]) -> int:
        """Deletes the letters that are over, lets the others go, and returns the number of deleted letters."""
        gone = self.letters.delete(over)
        self.letters.release(letter for letter in letters if letter.id not in gone)
        return len(gone)

    def _committed(
        self, operation: Operation, changes: Sequence[transitions.Transition], outcome: Outcome
    ) -> dict[str, Outcome]:
        if not changes:
            return {}
        written = self.tasks.commit(
            [replace(each, after=each.after.signed(operation.author)) for each in changes]
        )
        if Written.UNAVAILABLE in written or Written.REFUSED in written:
            raise Unavailable("some changes of tasks were not written")
        return {
            change.after.id: outcome if done is Written.DONE else Outcome.CHANGED
            for change, done in zip(changes, written, strict=True)
        }


_CANCELS: Final = {PostingAnswer.DONE: Outcome.DONE, PostingAnswer.STALE: Outcome.CHANGED}


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentActor:
    """A parked payment is settled by a call of its very version, and by no other. A cancel is one posting."""

    ledger: Ledger
    queue: Queue
    letters: Letters

    def known(self, ids: Iterable[str]) -> Mapping[str, Item]:
        return dict(self.ledger.payments(ids))

    def act(self, operation: Operation, items: Sequence[Item], *, now: datetime) -> dict[str, Outcome]:
        payments = [each for each in items if isinstance(each, Payment)]
        if operation.plan.action is not Action.CANCEL:
            _send(self.queue, operation, payments, Via.DEAD)
            return dict.fromkeys((payment.id for payment in payments), Outcome.SENT)
        decided = [money.cancel(payment, now=now, operator=operation.plan.operates) for payment in payments]
        postings = [posting.signed(operation.author) for posting in decided if posting is not None]
        answers = [posted.answer for posted in self.ledger.post(postings)] if postings else []
        if PostingAnswer.UNAVAILABLE in answers:
            raise Unavailable("some cancels were not written")
        return {
            posting.after.id: _CANCELS.get(answer, Outcome.FAILED)
            for posting, answer in zip(postings, answers, strict=True)
            if posting.after is not None
        }

    def tidied(self, most: int) -> int:
        letters = self.letters.look(most)
        known = self.ledger.payments(due.id for letter in letters for due in letter.dues)
        over = [letter for letter in letters if used_up(letter.dues, known.get)]
        gone = self.letters.delete(over)
        self.letters.release(letter for letter in letters if letter.id not in gone)
        return len(gone)


def _calls(letter: Letter) -> set[tuple[str, int]]:
    return {(due.id, due.version) for due in letter.dues}


def _send(queue: Queue, operation: Operation, items: Sequence[Task | Payment], via: Via) -> None:
    """The worker signs with the operation what follows from the calls of the dead."""
    starts = range(0, len(items), PACKET_ITEMS_MAX)
    packets = [tuple(map(Due.of, items[start : start + PACKET_ITEMS_MAX])) for start in starts]
    by = operation.author if via is Via.DEAD else ""
    if packets:
        queue.send([Packet(tenant=operation.tenant, via=via, dues=dues, by=by) for dues in packets])


Actors: TypeAlias = Mapping[Kind, Actor]
