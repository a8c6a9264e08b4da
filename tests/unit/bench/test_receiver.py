"""The receiver's side of HTTP, without a network."""

import asyncio
import json

from bench.receiver import Calls, Memory

CALL = b"POST /arrivals HTTP/1.1\r\nHost: x\r\ncontent-length: 4\r\npostdate-task-id: task_%d\r\n\r\nbody"


class Line(asyncio.Transport):
    """A connection that keeps the written bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data


def connection(memory: Memory) -> tuple[Calls, Line]:
    calls, line = Calls(memory), Line()
    calls.connection_made(line)
    return calls, line


def test_a_call_is_noted_by_the_task_it_names_and_answered_204() -> None:
    memory = Memory()
    calls, line = connection(memory)
    calls.data_received(CALL % 1)
    assert [id for id, _ in memory.noted] == ["task_1"]
    assert line.written == b"HTTP/1.1 204 No Content\r\n\r\n"


def test_a_call_that_comes_in_pieces_is_noted_at_its_first_byte() -> None:
    memory = Memory()
    calls, _ = connection(memory)
    other, _ = connection(memory)
    calls.data_received((CALL % 1)[:30])
    other.data_received(CALL % 2)
    calls.data_received((CALL % 1)[30:])
    (second, second_at), (first, first_at) = memory.noted
    assert (first, second) == ("task_1", "task_2")
    assert first_at <= second_at


def test_calls_that_come_in_one_piece_are_told_apart() -> None:
    memory = Memory()
    calls, line = connection(memory)
    calls.data_received(CALL % 1 + CALL % 2)
    assert [id for id, _ in memory.noted] == ["task_1", "task_2"]
    assert line.written.count(b"204") == 2


def test_noted_arrivals_are_told_and_can_be_forgotten() -> None:
    calls, line = connection(Memory(noted=[("task_1", 5.0)]))
    calls.data_received(b"GET /arrivals HTTP/1.1\r\n\r\n")
    assert json.loads(line.written.partition(b"\r\n\r\n")[2]) == [["task_1", 5.0]]
    calls.data_received(b"DELETE /arrivals HTTP/1.1\r\n\r\n")
    line.written = b""
    calls.data_received(b"GET /arrivals HTTP/1.1\r\n\r\n")
    assert line.written.endswith(b"[]")


def test_a_call_that_hangs_is_noted_and_never_answered() -> None:
    memory = Memory()
    calls, line = connection(memory)
    calls.data_received((CALL % 1).replace(b"/arrivals", b"/hangs"))
    assert [id for id, _ in memory.noted] == ["task_1"]
    assert line.written == b""


def test_a_receiver_that_is_down_notes_each_call_and_answers_503_until_it_is_back() -> None:
    memory = Memory()
    calls, line = connection(memory)
    calls.data_received(b"PUT /down HTTP/1.1\r\n\r\n" + CALL % 1)
    assert line.written.endswith(b"503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
    calls.data_received(b"PUT /up HTTP/1.1\r\n\r\n" + CALL % 2)
    assert line.written.endswith(b"204 No Content\r\n\r\n")
    assert [id for id, _ in memory.noted] == ["task_1", "task_2"]
