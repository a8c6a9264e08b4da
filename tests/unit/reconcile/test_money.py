"""A scan of one segment: each step lasts its whole time, and holds the sums of few accounts."""

from collections.abc import Iterator
from typing import Any, cast

from functions.reconcile.money import Collector
from functions.reconcile.papers import Papers
from postdate.stores.scans import ScanPage
from tests.unit.doubles import START
from tests.unit.reconcile.folder import Folder

_PAGES = 7
_ACCOUNTS_OF_A_PAGE = 3
_ACCOUNTS_MAX = 5


class Segment:
    """One segment of the table `accounts`."""

    def pages(self, table: str, *, segment: int, segments: int, after: Any) -> Iterator[ScanPage]:
        for number in range(0 if after is None else int(after["page"]["N"]), _PAGES):
            rows = [
                {
                    "account": {"S": f"acme#account-{number}-{each}"},
                    "tenant": {"S": "acme"},
                    "available": {"N": "7"},
                    "reserved": {"N": "0"},
                }
                for each in range(_ACCOUNTS_OF_A_PAGE)
            ]
            rest = {"page": {"N": str(number + 1)}} if number + 1 < _PAGES else None
            yield ScanPage(rows=rows, after=rest)


def scanned(times: Iterator[bool]) -> tuple[Papers, list[dict[str, Any]]]:
    """The papers of all steps, and their answers. `times` say after each page if there is time for another."""
    papers = Papers(reports=Folder(), run="run")
    collector = Collector(scans=cast(Any, Segment()), accounts_max=_ACCOUNTS_MAX)
    scan: dict[str, Any] = {
        "table": "accounts",
        "segment": 0,
        "segments": 1,
        "started_at": START.isoformat(),
        "parts": 2,
        "after": None,
        "step": 0,
    }
    steps: list[dict[str, Any]] = []
    while not steps or steps[-1]["goes_on"]:
        scan = collector.scan(scan, papers, has_time=lambda: next(times))
        steps.append(scan)
    return papers, steps


def held(papers: Papers) -> int:
    """All accounts have the sums of one row each."""
    accounts = [papers.sums(part) for part in range(2)]
    assert {sums.available for some in accounts for _, sums in some.suspects(after="")} == {7}
    return sum(len(some) for some in accounts)


def test_a_step_reads_on_after_it_has_written_the_sums_of_many_accounts() -> None:
    papers, steps = scanned(iter([True] * _PAGES))
    assert [step["step"] for step in steps] == [1]
    assert held(papers) == _PAGES * _ACCOUNTS_OF_A_PAGE


def test_sums_are_written_before_they_are_those_of_too_many_accounts() -> None:
    papers, _ = scanned(iter([True] * _PAGES))
    folder = cast(Folder, papers.reports)
    written: dict[str, int] = {}
    for name in folder.names("work/run/sums/"):
        source = name.rpartition("/")[2]
        written[source] = written.get(source, 0) + len(folder.get(name))
    assert sum(written.values()) == _PAGES * _ACCOUNTS_OF_A_PAGE
    assert max(written.values()) < _ACCOUNTS_MAX + _ACCOUNTS_OF_A_PAGE


def test_a_step_ends_when_its_time_is_over() -> None:
    papers, steps = scanned(iter([True, True, False, *[True] * _PAGES]))
    assert [step["step"] for step in steps] == [1, 2]
    assert held(papers) == _PAGES * _ACCOUNTS_OF_A_PAGE
