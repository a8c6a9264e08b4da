"""Meaning of crons and their refusals; then the days on which clocks change, spelt out."""

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import available_timezones

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from postdate.domain.cron import Cron
from postdate.domain.errors import ValidationFailed
from postdate.domain.wall_clock import zone_named
from tests.unit.doubles import START

MONDAY = datetime(2026, 11, 16, tzinfo=UTC)
ZONES = sorted(
    {"Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca"}
)


def after(cron: Cron, instant: datetime, count: int) -> list[str]:
    """The next occurrences as `wall -> instant in UTC`."""
    found = []
    for _ in range(count):
        occurrence = cron.next_after(instant)
        found.append(f"{occurrence.wall:%m-%d %H:%M} -> {occurrence.at:%m-%d %H:%M}")
        instant = occurrence.at
    return found


def walls(text: str, count: int, first: datetime = MONDAY) -> list[str]:
    return [
        f"{wall:%a %d %b %H:%M}" for wall in islice(Cron.parse(text).walls(first.replace(tzinfo=None)), count)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 9 * * MON-FRI", ["Mon 16 Nov 09:00", "Tue 17 Nov 09:00", "Wed 18 Nov 09:00"]),
        ("0 9 * * sat-SUN", ["Sat 21 Nov 09:00", "Sun 22 Nov 09:00", "Sat 28 Nov 09:00"]),
        ("0 9 * * 0", ["Sun 22 Nov 09:00", "Sun 29 Nov 09:00", "Sun 06 Dec 09:00"]),
        ("0 9 * * 7", ["Sun 22 Nov 09:00", "Sun 29 Nov 09:00", "Sun 06 Dec 09:00"]),
        ("0 9 * * 0-1", ["Mon 16 Nov 09:00", "Sun 22 Nov 09:00", "Mon 23 Nov 09:00"]),
        ("0 9 31 * *", ["Thu 31 Dec 09:00", "Sun 31 Jan 09:00", "Wed 31 Mar 09:00"]),
        ("0 9 20 * FRI", ["Fri 20 Nov 09:00", "Fri 27 Nov 09:00", "Fri 04 Dec 09:00"]),
        ("0 9 17 * FRI", ["Tue 17 Nov 09:00", "Fri 20 Nov 09:00", "Fri 27 Nov 09:00"]),
        ("0 9 */16 * *", ["Tue 17 Nov 09:00", "Tue 01 Dec 09:00", "Thu 17 Dec 09:00"]),
        ("58-59 23 * JAN,NOV *", ["Mon 16 Nov 23:58", "Mon 16 Nov 23:59", "Tue 17 Nov 23:58"]),
        ("*/25,7 0 * * *", ["Mon 16 Nov 00:00", "Mon 16 Nov 00:07", "Mon 16 Nov 00:25"]),
        ("10-40/15 3 * * *", ["Mon 16 Nov 03:10", "Mon 16 Nov 03:25", "Mon 16 Nov 03:40"]),
        ("@weekly", ["Sun 22 Nov 00:00", "Sun 29 Nov 00:00", "Sun 06 Dec 00:00"]),
        (" 0\t12 1  1 * ", ["Fri 01 Jan 12:00", "Sat 01 Jan 12:00", "Mon 01 Jan 12:00"]),
    ],
)
def test_a_cron_names_these_wall_times(text, expected):
    assert walls(text, 3) == expected


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@Midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_an_alias_is_its_five_fields(text, fields):
    assert Cron.parse(text) == Cron.parse(fields)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has 0 fields"),
        ("* * * *", "has 4 fields"),
        ("*/30 * * * * *", "six fields: seconds and years are not offered"),
        ("* * * * * * *", "has 7 fields"),
        ("@reboot", "not offered: use @hourly"),
        ("@every 30s", "not offered: use @hourly"),
        ("R * * * *", "jitter_seconds spreads"),
        ("R(0-29) * * * *", "jitter_seconds spreads"),
        ("H H * * *", "jitter_seconds spreads"),
        ("H/15 * * * *", "jitter_seconds spreads"),
        ("0 0 L * *", "L, W, # and ? are not offered"),
        ("0 0 L-3 * *", "L, W, # and ? are not offered"),
        ("0 0 15W * *", "L, W, # and ? are not offered"),
        ("0 0 * * 5#2", "L, W, # and ? are not offered"),
        ("0 0 * * 5L", "L, W, # and ? are not offered"),
        ("0 0 ? * MON", "L, W, # and ? are not offered"),
        ("60 * * * *", "minute: 60 is not between 0 and 59"),
        ("* 24 * * *", "hour: 24 is not between 0 and 23"),
        ("* * 0 * *", "day of month: 0 is not between 1 and 31"),
        ("* * * 13 *", "month: 13 is not between 1 and 12"),
        ("* * * * 8", "day of week: 8 is not between 0 and 7"),
        ("* * * JULY *", "month: 'JULY' is not understood: a value is 1 to 12 or JAN to DEC"),
        ("* * * MON *", "month: 'MON' is not understood"),
        ("*/0 * * * *", "a step is 1 or more"),
        ("*/90 * * * *", "step is longer than its range"),
        ("* */24 * * *", "step is longer than its range"),
        ("5/15 * * * *", "a step needs a range, such as 5-59/15"),
        ("* 22-2 * * *", "write two ranges, such as 22-23,0-2"),
        ("* * * * FRI-MON", "runs backwards"),
        ("* * */2 * MON", "write it as a range, which is 'or', such as 1-31"),
        ("* * 1 * */2", "write it as a range, which is 'or', such as 0-7"),
        ("1,,2 * * * *", "'' is not understood"),
        ("-5 * * * *", "'-5' is not understood"),
        ("1.5 * * * *", "'1.5' is not understood"),
        ("\u0663 * * * *", "has a character"),
        ("0\xa00 * * *", "has a character"),
        ("0\u20280 * * *", "has a character"),
        ("0 0\u2003* * *", "has a character"),
        ("0 0\n* * *", "has a character"),
        ("0 0\x0b* * *", "has a character"),
        ("0 0\x1c* * *", "has a character"),
        ("\x850 0 * * *", "has a character"),
        ("0 0 * * *\x00", "has a character"),
        ("@wee\u212aly", "has a character"),
        ("0" * 257, "longer than 256 characters"),
        ("0 0 31 2 *", "would never run"),
        ("0 0 30,31 FEB *", "would never run"),
        ("0 0 31 APR,JUN,SEP,NOV *", "would never run"),
    ],
)
def test_a_text_that_is_no_cron_is_refused_with_a_reason(text, reason):
    with pytest.raises(ValidationFailed) as refusal:
        Cron.parse(text)
    ((field, message),) = refusal.value.fields
    assert field == "cron"
    assert reason in message


@given(st.text("0123456789*/-,LWRH#?@ JANMON\n", max_size=30) | st.text(max_size=20))
def test_any_text_is_a_cron_that_runs_or_is_refused(text):
    try:
        cron = Cron.parse(text)
    except ValidationFailed:
        return
    assert cron.next_after(START) is not None


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "Berlin",
            "Europe",
            "Europe/Berln",
            "../UTC",
            "/etc/localtime",
            "localtime",
            "posixrules",
            "Factory",
        ),
        *(
            "right/UTC",
            "posix/UTC",
            "tzdata.zi",
            "zone.tab",
            "UTC\x00",
            "+02:00",
            "UTC+2",
            "Z" * 300,
            "Europe/Bérlin",
        ),
    ],
)
def test_a_name_that_is_no_zone_of_iana_is_refused(name):
    with pytest.raises(ValidationFailed, match="no time zone of IANA's") as refusal:
        Cron.parse("0 0 * * *", name)
    assert refusal.value.fields[0][0] == "timezone"


def test_every_zone_of_ianas_is_known():
    names = available_timezones() - {"localtime", "Factory"}
    assert {zone_named(name).key for name in names} == names


def test_29_february_is_eight_years_away_at_times():
    walls = Cron.parse("0 0 29 2 *").walls(datetime(2090, 1, 1))  # noqa: DTZ001 (a wall time)
    assert [wall.year for wall in islice(walls, 3)] == [2092, 2096, 2104]


@given(
    text=st.sampled_from(["* * * * *", "*/20 1-3 * * *", "30 2 * * *", "0 0 29 2 *", "15 0 1,31 * SUN"]),
    name=st.sampled_from(ZONES),
    instant=st.datetimes(datetime(1970, 1, 2), datetime(2150, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    part=st.floats(0, 1, exclude_max=True),
)
def test_nothing_lies_between_an_instant_and_the_next_occurrence(text, name, instant, part):
    cron = Cron.parse(text, name)
    found = cron.next_after(instant)
    assert found.at > instant
    between = instant + part * (found.at - instant)
    assume(between < found.at)
    assert cron.next_after(between) == found
    assert cron.next_after(found.at).wall > found.wall


def test_an_instant_without_an_offset_is_refused():
    with pytest.raises(ValueError, match="offset"):
        Cron.parse("* * * * *").next_after(datetime(2026, 11, 18))  # noqa: DTZ001 (that is what is refused)


def test_plans_reach_from_1970_to_2200():
    cron = Cron.parse("0 0 1 1 *", "Pacific/Apia")
    assert cron.next_after(datetime.min.replace(tzinfo=UTC)).wall.year == 1970
    assert cron.next_after(datetime(2198, 12, 30, tzinfo=UTC)).wall.year == 2199
    assert cron.next_after(datetime(2199, 12, 30, tzinfo=UTC)) is None
    assert cron.next_after(datetime.max.replace(tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("text", "zone", "instant", "expected"),
    [
        (  # 02:00 to 03:00 does not exist on 29 March
            "30 2 * * *",
            "Europe/Berlin",
            datetime(2026, 3, 28, tzinfo=UTC),
            ["03-28 02:30 -> 03-28 01:30", "03-29 02:30 -> 03-29 01:00", "03-30 02:30 -> 03-30 00:30"],
        ),
        (  # what is skipped is one run
            "*/10 2 * * *",
            "Europe/Berlin",
            datetime(2026, 3, 29, tzinfo=UTC),
            ["03-29 02:00 -> 03-29 01:00", "03-30 02:00 -> 03-30 00:00", "03-30 02:10 -> 03-30 00:10"],
        ),
        (  # and the one that is there anyway, if there is one
            "0 * * * *",
            "Europe/Berlin",
            datetime(2026, 3, 28, 23, 30, tzinfo=UTC),
            ["03-29 01:00 -> 03-29 00:00", "03-29 03:00 -> 03-29 01:00", "03-29 04:00 -> 03-29 02:00"],
        ),
        (  # 02:00 to 03:00 comes twice on 25 October
            "30 2 * * *",
            "Europe/Berlin",
            datetime(2026, 10, 24, 12, tzinfo=UTC),
            ["10-25 02:30 -> 10-25 00:30", "10-26 02:30 -> 10-26 01:30"],
        ),
        (  # so what runs often pauses
            "*/30 * * * *",
            "Europe/Berlin",
            datetime(2026, 10, 25, 0, 0, tzinfo=UTC),
            ["10-25 02:30 -> 10-25 00:30", "10-25 03:00 -> 10-25 02:00", "10-25 03:30 -> 10-25 02:30"],
        ),
        (  # also for who begins to look in the second pass
            "*/30 * * * *",
            "Europe/Berlin",
            datetime(2026, 10, 25, 1, 15, tzinfo=UTC),
            ["10-25 03:00 -> 10-25 02:00"],
        ),
        (  # half an hour
            "15 2 * * *",
            "Australia/Lord_Howe",
            datetime(2026, 10, 3, tzinfo=UTC),
            ["10-04 02:15 -> 10-03 15:30", "10-05 02:15 -> 10-04 15:15"],
        ),
        (  # a whole day: 30 December 2011 was none
            "0 9 * * *",
            "Pacific/Apia",
            datetime(2011, 12, 29, tzinfo=UTC),
            ["12-29 09:00 -> 12-29 19:00", "12-30 09:00 -> 12-30 10:00", "12-31 09:00 -> 12-30 19:00"],
        ),
        (  # midnight itself
            "0 0 * * *",
            "America/Sao_Paulo",
            datetime(2018, 11, 3, 12, tzinfo=UTC),
            ["11-04 00:00 -> 11-04 03:00", "11-05 00:00 -> 11-05 02:00"],
        ),
        (  # the hour before midnight, twice
            "30 23 * * *",
            "America/Sao_Paulo",
            datetime(2019, 2, 16, 12, tzinfo=UTC),
            ["02-16 23:30 -> 02-17 01:30", "02-17 23:30 -> 02-18 02:30"],
        ),
        (  # two hours
            "30 1 * * *",
            "Antarctica/Troll",
            datetime(2026, 3, 28, 12, tzinfo=UTC),
            ["03-29 01:30 -> 03-29 01:00", "03-30 01:30 -> 03-29 23:30"],
        ),
    ],
)
def test_on_days_when_clocks_change(text, zone, instant, expected):
    assert after(Cron.parse(text, zone), instant, len(expected)) == expected
