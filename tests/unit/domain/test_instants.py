from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import instants

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
INSTANTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=ZONES)  # noqa: DTZ001 (zoned by hypothesis)


@given(INSTANTS)
def test_a_whole_instant_is_less_than_a_millisecond_later_and_never_earlier(instant):
    whole = instants.whole(instant)
    assert timedelta(0) <= whole - instant < timedelta(milliseconds=1)
    assert whole.microsecond % 1000 == 0
    assert whole.tzinfo is UTC


@given(INSTANTS)
def test_a_whole_instant_survives_the_way_to_milliseconds_and_back(instant):
    whole = instants.whole(instant)
    assert instants.from_milliseconds(instants.milliseconds(whole)) == whole
    assert instants.whole(whole) == whole


@given(INSTANTS)
def test_every_instant_lies_in_its_minute(instant):
    minute = instants.minute_of(instant)
    assert instants.start_of(minute) <= instant < instants.end_of(minute)


def test_an_instant_without_an_offset_is_refused():
    with pytest.raises(ValueError, match="offset"):
        instants.whole(datetime(2026, 11, 18, 10, 5))  # noqa: DTZ001 (that is what is refused)
