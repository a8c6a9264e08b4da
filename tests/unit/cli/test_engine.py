import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ministack.services import dynamodb, sqs

from cli.local import ministack
from cli.local.engine import (
    _CHANGES_A_QUEUE,
    Unpacked,
    copied,
    inherited,
    kept_whole,
    keys_compared_plainly,
)
from cli.local.place import Place

_EVALUATE: Any = dynamodb._evaluate_condition
_ROWS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_ROWS)
def test_a_copy_of_a_row_is_equal_to_it_and_shares_nothing_that_could_change(row: Any) -> None:
    copy = copied(row)

    assert copy == row
    assert not _changeable(copy) & _changeable(row)


_TEXTS = st.text(alphabet="ab\u00e9\U0001f600", min_size=1, max_size=3)
_VALUES = st.one_of(
    _TEXTS.map(lambda text: {"S": text}), st.integers(0, 9).map(lambda each: {"N": str(each)})
)
_KEY_ROWS = st.lists(
    st.fixed_dictionaries({}, optional={"slot": _VALUES, "place": _VALUES, "more": _VALUES}), min_size=1
)
_CONDITIONS = [
    "#s = :a",
    "(#s = :a AND #p BETWEEN :b AND :c)",
    "#s = :a and #p between :b and :c",
    "(#s = :a AND #p >= :b)",
    "(#s = :a AND #p < :b)",
    "(#s = :a) AND (#p <= :b)",
    "(#s = :a AND begins_with (#p, :b))",
    "slot = :a AND place > :b",
]


@given(rows=_KEY_ROWS, condition=st.sampled_from(_CONDITIONS), values=st.tuples(_VALUES, _VALUES, _VALUES))
def test_a_query_finds_what_the_engine_finds_by_itself(
    rows: list[Any], condition: str, values: tuple[Any, ...]
) -> None:
    given, names = dict(zip((":a", ":b", ":c"), values, strict=True)), {"#s": "slot", "#p": "place"}

    def found(evaluate: Any) -> list[Any]:
        try:
            return [evaluate(condition, row, given, names, slot="KeyConditionExpression") for row in rows]
        except ValueError as error:
            return [str(error)]

    assert found(keys_compared_plainly(_EVALUATE)) == found(_EVALUATE)


def test_a_query_reads_its_expression_for_the_first_row_alone() -> None:
    read: list[Any] = []

    def evaluate(*given: Any, **named: Any) -> bool:
        read.append(given[1])
        return bool(_EVALUATE(*given, **named))

    values, names = {":a": {"S": "x"}, ":b": {"S": "a"}, ":c": {"S": "c"}}, {"#s": "slot", "#p": "place"}
    rows = [{"slot": {"S": "x"}, "place": {"S": place}} for place in "abcd"]
    compared = keys_compared_plainly(evaluate)
    condition = "(#s = :a AND #p BETWEEN :b AND :c)"
    answers = [compared(condition, row, values, names, slot="KeyConditionExpression") for row in rows]
    assert (answers, read) == ([True, True, True, False], rows[:1])
    others = values | {":c": {"S": "d"}}
    assert compared(condition, rows[3], others, names, slot="KeyConditionExpression")
    assert compared("#p = :b", rows[0], values, names)
    assert len(read) == 3


def test_workers_of_one_function_share_what_they_run_and_those_of_its_next_version_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before, after = _archive(tmp_path / "1.zip", "before"), _archive(tmp_path / "2.zip", "after")

    first, second, third = (
        _unpacked(archive, tmp_path / str(index)) for index, archive in enumerate((before, before, after))
    )

    assert first.resolve() == second.resolve() != third.resolve()
    assert [(folder / "handler.py").read_text() for folder in (first, third)] == ["before", "after"]


def test_an_archive_that_was_unpacked_in_part_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    archive = _archive(tmp_path / "1.zip", "code")
    whole = archive.read_bytes()
    archive.write_bytes(whole.replace(b"code", b"cod_", 1))
    with pytest.raises(zipfile.BadZipFile):
        _unpacked(archive, tmp_path / "broken")
    archive.write_bytes(whole)

    assert (_unpacked(archive, tmp_path / "whole") / "handler.py").read_text() == "code"


def test_a_worker_inherits_nothing_that_steers_the_engine(tmp_path: Path) -> None:
    place = Place(port=4566, directory=tmp_path)
    engine = ministack.environment(place)

    assert engine["LOG_LEVEL"] == "WARNING"
    assert inherited(engine).keys() == {"GATEWAY_PORT", "HOME", "LANG", "PATH", "TMPDIR"} & engine.keys()


def _archive(file: Path, code: str) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("handler.py", code)
    return file


def _unpacked(archive: Path, folder: Path) -> Path:
    folder.mkdir()
    with Unpacked(archive) as whole:
        whole.extractall(folder)
    return folder


def _changeable(value: Any) -> set[int]:
    if isinstance(value, dict):
        return {id(value)}.union(*map(_changeable, value.values()))
    return {id(value)}.union(*map(_changeable, value)) if isinstance(value, list) else set()


def test_a_queue_is_changed_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_queues_lock", *_CHANGES_A_QUEUE):
        monkeypatch.setattr(sqs, name, getattr(sqs, name))
    monkeypatch.setattr(sqs, "_HANDLERS", dict(sqs._HANDLERS))
    url = sqs._act_create_queue({"QueueName": "kept-whole"}, "")["QueueUrl"]
    kept_whole()
    done = []

    def send() -> None:
        sqs._HANDLERS["SendMessageBatch"](
            {"QueueUrl": url, "Entries": [{"Id": "1", "MessageBody": "b"}]}, url
        )
        done.append("sent")

    sender = threading.Thread(target=send)
    with sqs._queues_lock:
        sender.start()
        sender.join(0.05)
        assert done == []
        assert sqs._receive_messages_for_esm(url, 10) == [], "whoever holds it may go on"
    sender.join(60)
    assert len(sqs._receive_messages_for_esm(url, 10)) == 1
