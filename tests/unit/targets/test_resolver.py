import socket
import threading

import pytest

from postdate.targets.resolver import Resolver


def answer(*addresses):
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]


class Lookup:
    """Answers in turn; the last answer stays."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def __call__(self, host, port, **options):
        self.asked.append(host)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found


def test_every_address_is_named_once():
    assert Resolver(Lookup(answer("1.1.1.1", "9.9.9.9", "1.1.1.1")))("a.example", 1) == ("1.1.1.1", "9.9.9.9")


def test_an_answer_is_kept_for_a_few_seconds_only():
    now = [100.0]
    lookup = Lookup(answer("1.1.1.1"), answer("9.9.9.9"))
    resolver = Resolver(lookup, keep_seconds=5, clock=lambda: now[0])
    assert resolver("a.example", 1) == ("1.1.1.1",)
    now[0] += 4.9
    assert resolver("a.example", 1) == ("1.1.1.1",)
    now[0] += 0.2
    assert resolver("a.example", 1) == ("9.9.9.9",)
    assert lookup.asked == ["a.example", "a.example"]


def test_a_failure_is_not_kept():
    resolver = Resolver(Lookup(socket.gaierror(-2, "x"), answer("1.1.1.1")))
    with pytest.raises(socket.gaierror):
        resolver("a.example", 1)
    assert resolver("a.example", 1) == ("1.1.1.1",)


def test_one_open_question_serves_all_who_ask_and_nobody_waits_too_long():
    go = threading.Event()
    asked = []

    def slow(host, port, **options):
        asked.append(host)
        go.wait(2)
        return answer("1.1.1.1")

    resolver = Resolver(slow)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            resolver("a.example", 0.01)
    go.set()
    assert resolver("a.example", 1) == ("1.1.1.1",)
    assert asked == ["a.example"]


def test_answers_do_not_pile_up():
    lookup = Lookup(answer("1.1.1.1"))
    resolver = Resolver(lookup, keep_max=3)
    for number in (0, 1, 2, 0, 3, 0):
        resolver(f"{number}.example", 1)
    assert lookup.asked == ["0.example", "1.example", "2.example", "3.example", "0.example"]
