"""The dead letters of the recorder, read again: each names a row, a stretch of a stream that was given up, or events
whose deliveries could not be made."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from functions.record.changes import Change, change_of
from functions.record.mend import NEAR, EventsChecked, Mender
from functions.record.record import Recorder
from postdate.domain.errors import Unavailable
from postdate.domain.event import Subject, kind_of_item
from postdate.domain.payment import Payment
from postdate.domain.task import Task
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.faults import REFUSALS

_AT_ONCE: Final = 10
_HIDDEN_SECONDS: Final = 120
_RECORDS_MAX: Final = 1000
# An open shard always has a further iterator.
_ANSWERS_MAX: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Reread:
    """The result of reading the dead letters again."""

    # The number of letters whose events are recorded, or have their deliveries, now.
    deleted: int
    # The number of letters that stay for a person, or for another try.
    kept: int
    # The events that were made for them.
    mended: EventsChecked


@dataclass(frozen=True, kw_only=True, slots=True)
class Rereader:
    """Reads the dead letters of the recorder again."""

    # The queue of the letters.
    url: str
    sqs: Any
    # The client of DynamoDB's streams.
    streams: Any
    mender: Mender
    recorder: Recorder
    # Finds items by their ids.
    load: Callable[[Iterable[str]], Mapping[str, Payment | Task]]
    clock: Clock

    def read(self, has_time: Callable[[], bool]) -> Reread:
        """A letter goes when its events are recorded, or have their deliveries. A letter that cannot be used stays, and
        shows itself again in two minutes."""
        found, deleted, kept = EventsChecked(), 0, 0
        while has_time() and (messages := self._messages()):
            for message in messages:
                if self._is_done(json.loads(message["Body"]), found):
                    self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
                    deleted += 1
                else:
                    kept += 1
        return Reread(deleted=deleted, kept=kept, mended=found)

    def _messages(self) -> list[dict[str, Any]]:
        answer = self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=_AT_ONCE, VisibilityTimeout=_HIDDEN_SECONDS
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def _is_done(self, letter: Mapping[str, Any], found: EventsChecked) -> bool:
        try:
            if "DDBStreamBatchInfo" in letter:
                return self._recorded(letter["DDBStreamBatchInfo"])
            if "undelivered" in letter:
                self.recorder.deliver(letter["tenant"], letter["undelivered"])
                return True
            return self._filled(letter["keys"]["id"], found)
        except (Unavailable, KeyError, ValueError, *REFUSALS):
            logger.exception("a letter of the recorder stays", extra={"action": "letter_kept"})
            return False

    def _filled(self, id: str, found: EventsChecked) -> bool:
        item = self.load([id]).get(id)
        kind = kind_of_item(id)
        # A young version may still be in its stream: a made event would be poorer than the real one.
        if item is None or kind is None or item.history[-1].at > self.clock.now() - NEAR:
            return False
        before = len(found.left)
        self.mender.fill([Subject(tenant=item.tenant, kind=kind, id=id)], found, age=NEAR)
        return len(found.left) == before

    def _recorded(self, info: Mapping[str, Any]) -> bool:
        """Records the stretch again, as long as the stream has it: for a day."""
        changes = self._changes(info)
        if changes is None:
            return False
        done = self.recorder.record(changes)
        return not done.failed and not done.poisoned

    def _changes(self, info: Mapping[str, Any]) -> list[Change] | None:
        """Reads the changes of a failed batch again from the stream, by the numbers that its letter names. An answer of
        the stream may have a part of them, or none. None if the last one was not read."""
        last, found = int(info["endSequenceNumber"]), list[Change]()
        iterator = self.streams.get_shard_iterator(
            StreamArn=info["streamArn"],
            ShardId=info["shardId"],
            ShardIteratorType="AT_SEQUENCE_NUMBER",
            SequenceNumber=info["startSequenceNumber"],
        )["ShardIterator"]
        for _ in range(_ANSWERS_MAX):
            answer = self.streams.get_records(ShardIterator=iterator, Limit=_RECORDS_MAX)
            for record in answer["Records"]:
                number = int(record["dynamodb"]["SequenceNumber"])
                if number > last:
                    return found
                change = change_of({**record, "eventSourceARN": info["streamArn"]})
                if change is not None:
                    found.append(change)
                if number == last:
                    return found
            # A shard that is closed and read to its end has no further iterator.
            iterator = answer.get("NextShardIterator")
            if iterator is None:
                break
        return None
