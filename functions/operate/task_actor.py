"""The actions on tasks: cancel, redrive, retry and discard."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from functions.operate.actors import send_calls
from postdate.domain import task_requests, transitions
from postdate.domain.due import Packet, Via
from postdate.domain.errors import Unavailable
from postdate.domain.letters import used_up
from postdate.domain.operation import Action, Operation
from postdate.domain.operation_items import Item
from postdate.domain.operation_pages import Outcome
from postdate.domain.task import State, Task
from postdate.runtime.dead_letters import Letter, Letters
from postdate.runtime.queue import Queue
from postdate.stores.tasks import Tasks, Written

# In one look. Further letters are found by the next.
LETTERS_MAX: Final = 1_000
# At most so many looks search for the letters of a slice, well within the time for which a look hides its letters.
_LOOKS: Final = 5


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
        if operation.request.action is Action.CANCEL:
            changes = [task_requests.cancel(task, now=now) for task in tasks]
            return self._committed(operation, [each for each in changes if each is not None], Outcome.DONE)
        if operation.request.action is Action.DISCARD:
            found = self._discard({(task.id, task.version) for task in tasks})
            return {
                task.id: Outcome.DONE if (task.id, task.version) in found else Outcome.MISSING
                for task in tasks
            }
        # A dead task is called as its dead letter would call it, and its row stays as it is until then.
        dead = [task for task in tasks if task.state is State.DEAD]
        send_calls(self.queue, operation, dead, Via.DEAD)
        # A waiting task gets its new instant first. The sweep finds it if the call is lost.
        waiting = [task_requests.bring_forward(task, now=now) for task in tasks if task.state.waits]
        told = self._committed(operation, waiting, Outcome.SENT)
        moved = [each.after for each in waiting if told[each.after.id] is Outcome.SENT]
        send_calls(self.queue, operation, moved, Via.REGISTRATION)
        return told | dict.fromkeys((task.id for task in dead), Outcome.SENT)

    def tidied(self, most: int) -> int:
        letters = self.letters.look(most)
        known = self.tasks.get_many(due.id for letter in letters for due in letter.dues)
        over = [letter for letter in letters if used_up(letter.dues, known.get)]
        return self._delete(over, letters)

    def _discard(self, unwanted: set[tuple[str, int]]) -> set[tuple[str, int]]:
        """Deletes the letters of these items, and returns the items whose letter was found. Raises Unavailable if one
        of these letters stays.

        A letter that also calls other items is sent anew for these, before it is deleted. A crash in between leaves
        both letters. This does no harm: a letter revives only the version that it names."""
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


def _calls(letter: Letter) -> set[tuple[str, int]]:
    return {(due.id, due.version) for due in letter.dues}
