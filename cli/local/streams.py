"""Streams of the local engine as AWS has them, loaded into the engine itself.

The engine makes no stream records of PartiQL's writes, runs a stream's consumer in the thread that delivers all SQS
messages, and takes every answer of a consumer for success. Each patch here has a test that fails without it.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ministack.core.responses import _request_account_id, _request_region
from ministack.services import dynamodb, lambda_svc

# Longer than a recorder may be behind on a loaded machine; a day would keep each row's every version in memory.
RETENTION_SECONDS: Final = 600
# A batch that was not full is followed by a pause, as Lambda reads each shard four times a second.
_PAUSE_SECONDS: Final = 0.25
_LOOKS_FOR_MAPPINGS_SECONDS: Final = 0.5
_RETRY_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
_STREAM: Final = "/stream/"
# Nothing here deletes by PartiQL.
_PARTIQL: Final = {"_partiql_insert": "INSERT", "_partiql_update": "MODIFY"}

Record = dict[str, Any]
Told = tuple[str, str, Any, Any]
_held = threading.local()


def patched() -> None:
    dynamodb._STREAM_RETENTION_SECONDS = RETENTION_SECONDS
    _wake_no_other_poller()
    _tell_partiql()
    lambda_svc._poll_dynamodb_streams = lambda: False
    threading.Thread(target=_start_pollers, daemon=True).start()


def _wake_no_other_poller() -> None:
    """Each record wakes the thread that delivers all SQS messages. That thread has nothing to do for a stream here, and
    takes time from the event loop."""
    dynamodb.esm_wake = threading.Event()


def _tell_partiql() -> None:
    """A statement within a transaction is told only when the transaction was carried out."""
    for name, event in _PARTIQL.items():
        setattr(dynamodb, name, _telling(getattr(dynamodb, name), event))
    transaction = dynamodb._execute_transaction

    def held_back(data: Any) -> Any:
        told: list[Told] = []
        _held.told = told
        try:
            answer = transaction(data)
        finally:
            _held.told = None
        for each in told if answer[0] == 200 else ():
            dynamodb._emit_stream_event(*each)
        return answer

    dynamodb._execute_transaction = held_back


def _telling(write: Callable[..., Any], event: str) -> Callable[..., Any]:
    def written(table: Any, parsed: Any, *rest: Any) -> Any:
        before: Any = None
        after: Any = None
        put = dynamodb._set_item

        def noted(into: Any, first: str, second: str, item: Any) -> Any:
            nonlocal before, after
            before, after = into["items"].get(first, {}).get(second), item
            return put(into, first, second, item)

        with _ONE_AT_A_TIME:
            dynamodb._set_item = noted
            try:
                answer = write(table, parsed, *rest)
            finally:
                dynamodb._set_item = put
        if answer[0] == 200 and after is not None:
            told = (table["TableName"], event, before, after)
            if getattr(_held, "told", None) is not None:
                _held.told.append(told)
            else:
                dynamodb._emit_stream_event(*told)
        return answer

    return written


# Writes run in the engine's one event loop; the lock is for calls from other threads.
_ONE_AT_A_TIME: Final = threading.RLock()


def _start_pollers() -> None:
    """One thread for each mapping of a stream: a consumer that takes long keeps nobody waiting but itself."""
    started: set[str] = set()
    while True:
        for account, region, mapping in lambda_svc._iter_all_esms():
            if _STREAM in mapping.get("EventSourceArn", "") and mapping["UUID"] not in started:
                started.add(mapping["UUID"])
                threading.Thread(target=_poll, args=(account, region, mapping["UUID"]), daemon=True).start()
        time.sleep(_LOOKS_FOR_MAPPINGS_SECONDS)


def _poll(account: str, region: str, id: str) -> None:
    _request_account_id.set(account)
    _request_region.set(region)
    follower = Follower()
    while (mapping := _mapping(id)) is not None:
        took = 0
        try:
            took = follower.look(mapping)
        except Exception as error:
            lambda_svc.logger.error("stream poller: %r", error)
        if took < mapping.get("BatchSize", 100):
            time.sleep(_PAUSE_SECONDS)


def _mapping(id: str) -> Mapping[str, Any] | None:
    return next((each for _, _, each in lambda_svc._iter_all_esms() if each["UUID"] == id), None)


class Follower:
    """Delivers one mapping's records by AWS's rules: in order, again from the first that failed, in halves after an
    error, and to the mapping's destination for failures once its tries are used up."""

    def __init__(self) -> None:
        self._at: int | None = None

    def look(self, mapping: Mapping[str, Any]) -> int:
        """Takes the next records of a mapping's stream; returns their number."""
        if not mapping.get("Enabled", True):
            return 0
        table = mapping["EventSourceArn"].split(_STREAM)[0].rpartition("/")[2]
        known = dynamodb._tables.get(table)
        function, _ = lambda_svc._get_func_record_for_qualifier(
            mapping["FunctionName"], mapping.get("Qualifier")
        )
        if function is None or not known or known.get("LatestStreamArn") != mapping["EventSourceArn"]:
            return 0
        begin = dynamodb.stream_start_position(table)
        if self._at is None:
            oldest = mapping.get("StartingPosition") == "TRIM_HORIZON"
            self._at = begin if oldest else dynamodb.stream_end_position(table)
        at = max(self._at, begin)
        batch = dynamodb.stream_records_since(table, at, mapping.get("BatchSize", 100))
        if batch:
            self.deliver(mapping, function, list(batch))
        self._at = at + len(batch)
        return len(batch)

    def deliver(self, mapping: Mapping[str, Any], function: Any, batch: list[Record]) -> None:
        """Returns when each record was taken or given up."""
        most = mapping.get("MaximumRetryAttempts")
        tries_max = 10**9 if most in (None, -1) else int(most) + 1
        waiting = [(lambda_svc._apply_filter_criteria(batch, mapping), 0)]
        while waiting:
            part, tries = waiting.pop()
            if not part:
                continue
            result = lambda_svc._execute_function(function, {"Records": part})
            left = part if result.get("error") else _left(part, result)
            if not left:
                continue
            if len(left) < len(part):
                # The stream went on: what is left has all its tries.
                waiting.append((left, 0))
                continue
            tries += 1
            if tries >= tries_max:
                lambda_svc._send_ddb_stream_failure_record(
                    mapping, function, left, mapping["EventSourceArn"], result, "RetryAttemptsExhausted"
                )
                continue
            if mapping.get("BisectBatchOnFunctionError") and len(left) > 1:
                half = len(left) // 2
                waiting += [(left[half:], tries), (left[:half], tries)]
            else:
                waiting.append((left, tries))
            time.sleep(_RETRY_SECONDS[min(tries, len(_RETRY_SECONDS)) - 1])


def _left(part: Sequence[Record], result: Mapping[str, Any]) -> list[Record]:
    """The records to deliver again: those from the first failed record on. If the answer names an unknown record, all
    of them failed."""
    failed = set(_failed(result.get("body")))
    numbers = [record["dynamodb"]["SequenceNumber"] for record in part]
    if not failed:
        return []
    places = [place for place, number in enumerate(numbers) if number in failed]
    return list(part[places[0] :]) if places and len(places) == len(failed) else list(part)


def _failed(body: Any) -> Iterator[str]:
    answer = json.loads(body) if isinstance(body, str | bytes) and body else body
    for each in (answer or {}).get("batchItemFailures") or () if isinstance(answer, dict) else ():
        yield each.get("itemIdentifier", "")
