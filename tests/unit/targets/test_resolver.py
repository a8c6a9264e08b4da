import socket
import threading

import pytest

from postdate.targets.resolver import Resolver
from tests.unit.targets.names import answer


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


def test_a_failure_is_kept_for_as_long_as_an_answer():
    now = [100.0]
    lookup = Lookup(socket.gaierror(-2, "x"), answer("1.1.1.1"))
    resolver = Resolver(lookup, clock=lambda: now[0])
    for _ in range(100):
        with pytest.raises(socket.gaierror):
            resolver("a.example", 1)
    now[0] += 4.9
    with pytest.raises(socket.gaierror):
        resolver("a.example", 1)
    assert lookup.asked == ["a.example"]
    now[0] += 0.2
    assert resolver("a.example", 1) == ("1.1.1.1",)


def test_an_answer_is_kept_from_when_it_came():
    now = [100.0]

    def slow(host, port, **options):
        asked.append(host)
        now[0] += 4
        return answer("1.1.1.1")

    asked = []
    resolver = Resolver(slow, keep_seconds=5, clock=lambda: now[0])
    resolver("a.example", 1)
    now[0] += 4
    resolver("a.example", 1)
    assert asked == ["a.example"]


class TestShares:
    """240 dead names of one tenant beside the names of another."""

    @pytest.fixture
    def held(self):
        """Look-ups that go on until they are let go."""
        go, names = threading.Event(), []

        def lookup(host, port, **options):
            names.append(host)
            if "dead" in host:
                go.wait(5)
                raise socket.gaierror(socket.EAI_AGAIN, "x")
            return answer("1.1.1.1")

        yield Resolver(lookup, threads=8, tenant_threads=2), names
        go.set()

    def test_names_that_hang_keep_no_more_threads_busy_than_a_tenants_share(self, held):
        resolver, names = held
        dead = [resolver.ask(f"dead{number}.example", tenant="bad") for number in range(240)]
        for number in range(50):
            asked = resolver.ask(f"{number}.example", tenant="good")
            assert asked.answer.result(timeout=1) == ("1.1.1.1",)
        assert sum(question.started.done() for question in dead) == 2
        assert sum("dead" in name for name in names) <= 2

    def test_a_name_that_waits_on_one_tenants_share_starts_on_anothers(self, held):
        resolver, _ = held
        for number in range(3):
            resolver.ask(f"dead{number}.example", tenant="bad")
        waiting = resolver.ask("both.example", tenant="bad")
        assert not waiting.started.done()
        assert resolver.ask("both.example", tenant="good") is waiting
        assert waiting.answer.result(timeout=1) == ("1.1.1.1",)

    def test_waiting_look_ups_begin_when_a_thread_is_free_again(self):
        lookup = Lookup(answer("1.1.1.1"))
        resolver = Resolver(lookup, threads=1, tenant_threads=1)
        asked = [resolver.ask(f"{n}.example", tenant=tenant) for n in range(20) for tenant in ("a", "b")]
        assert [question.answer.result(timeout=1) for question in asked] == [("1.1.1.1",)] * 40
        assert len(lookup.asked) == 20


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
