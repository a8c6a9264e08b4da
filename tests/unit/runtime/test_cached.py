import pytest

from postdate.domain.errors import Unavailable
from postdate.runtime.cached import Cached
from tests.unit.doubles import SECOND, ManualClock


class Source:
    def __init__(self, **values):
        self.values = values
        self.asked = []

    def get(self, id):
        self.asked.append(id)
        if isinstance(self.values.get(id), Exception):
            raise self.values[id]
        return self.values.get(id)

    def get_many(self, ids):
        self.asked.append(tuple(ids))
        for value in self.values.values():
            if isinstance(value, Exception):
                raise value
        return {id: self.values[id] for id in ids if id in self.values}


@pytest.fixture
def clock():
    return ManualClock()


def cached(source, clock):
    return Cached(source.get, keep=60 * SECOND, clock=clock)


def test_a_value_is_read_once_while_it_is_kept_and_anew_after_that(clock):
    source = Source(a=1)
    values = cached(source, clock)
    clock.move(60 * SECOND - SECOND)
    assert [values.get("a"), values.get("a")] == [1, 1]
    source.values["a"] = 2
    clock.move(60 * SECOND - SECOND)
    assert values.get("a") == 1
    clock.move(SECOND)
    assert values.get("a") == 2
    assert source.asked == ["a", "a"]


def test_a_missing_value_is_not_remembered(clock):
    source = Source()
    values = cached(source, clock)
    assert values.get("a") is None
    source.values["a"] = 1
    assert values.get("a") == 1


def test_a_removed_value_is_forgotten_when_its_time_is_over(clock):
    source = Source(a=1)
    values = cached(source, clock)
    values.get("a")
    del source.values["a"]
    clock.move(60 * SECOND)
    assert values.get("a") is None


def test_a_source_that_fails_is_told_and_not_remembered(clock):
    source = Source(a=Unavailable())
    values = cached(source, clock)
    with pytest.raises(Unavailable):
        values.get("a")
    source.values["a"] = 1
    assert values.get("a") == 1


def test_no_more_is_kept_than_a_thousand_values_and_the_oldest_go_first(clock):
    source = Source(**{f"v{number}": number for number in range(1001)})
    values = cached(source, clock)
    for number in range(1001):
        values.get(f"v{number}")
    values.get("v1")
    values.get("v0")
    assert source.asked[1001:] == ["v0"]


def together(source, clock):
    return Cached(source.get, load_many=source.get_many, keep=60 * SECOND, clock=clock)


def test_several_missing_values_are_read_together_and_kept(clock):
    source = Source(a=1, b=2)
    values = together(source, clock)
    assert values.get_many(["a", "b", "none"]) == {"a": 1, "b": 2}
    assert values.get_many(["a", "b"]) == {"a": 1, "b": 2}
    assert source.asked == [("a", "b", "none")]


def test_one_missing_value_is_read_alone(clock):
    source = Source(a=1, b=2)
    values = together(source, clock)
    assert values.get("a") == 1
    assert values.get_many(["a", "b"]) == {"a": 1, "b": 2}
    assert source.asked == ["a", "b"]


def test_values_that_cannot_be_read_together_are_not_kept(clock):
    source = Source(a=1, b=Unavailable("not now"))
    values = together(source, clock)
    with pytest.raises(Unavailable):
        values.get_many(["a", "b"])
    source.values["b"] = 2
    assert values.get_many(["a", "b"]) == {"a": 1, "b": 2}


def test_values_are_read_one_by_one_where_nothing_reads_several(clock):
    source = Source(a=1, b=2)
    assert cached(source, clock).get_many(["a", "b"]) == {"a": 1, "b": 2}
    assert source.asked == ["a", "b"]
