import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ministack.services import sqs

from cli.local import ministack
from cli.local.engine import _CHANGES_A_QUEUE, Unpacked, copied, inherited, kept_whole
from cli.local.place import Place

_ROWS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_ROWS)
def test_a_copy_of_a_row_is_equal_to_it_and_shares_nothing_that_could_change(row: Any) -> None:
    copy = copied(row)

    assert copy == row
    assert not _changeable(copy) & _changeable(row)


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


def test_what_could_not_be_unpacked_whole_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    sender.join(5)
    assert len(sqs._receive_messages_for_esm(url, 10)) == 1
