"""The page that tells which single faults were tried, and how each ended."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from tests.simulation.single import Case, Ended
from tests.simulation.single_flows import FLOWS


def page(found: list[Case]) -> str:
    """docs/faults.md"""
    broken = [case for case in found if case.ended.broken]
    lines = [
        "# Single faults",
        "",
        "Written by `postdate-sim --single --write`. `make prove` runs all of them.",
        "",
        f"{len(found)} cases: each kind of fault at each call to AWS of {len(FLOWS)} flows, one at a time. In each",
        "case every invariant held after every write, no item was lost, and every accepted item reached its end. A",
        "call is one HTTP request; *each time* means that botocore's repeats of the call met the same fault.",
        "",
        "A cell shows the differences from the run without the fault: the requests of the caller, the calls of the",
        "destination, and items with another end. `-` means no difference; an empty cell means that this call cannot",
        "meet this fault.",
    ]
    if broken:
        lines += ["", f"**{len(broken)} cases are broken.**"]
    for flow, group in groupby(found, key=lambda case: case.flow):
        given = list(group)
        without = given[0].without
        lines += ["", f"## {flow[0].upper()}{flow[1:]}", "", _told_without(without), ""]
        lines += list(_table(given))
    return "\n".join(lines) + "\n"


def _told_without(ended: Ended) -> str:
    states = ", ".join(state.split()[1] for state in ended.states) or "no item"
    return f"Without a fault: {states}; asked {ended.asked} times, delivered {ended.taken} times."


def _table(given: list[Case]) -> Iterator[str]:
    """Faults with the same outcome at every call of the flow share a column's name only if they are one fault."""
    faults = list(dict.fromkeys(case.fault for case in given))
    cells = {(case.place, case.fault): _cell(case) for case in given}
    notable = [
        fault for fault in faults if any(cells.get((p, fault), "-") != "-" for p, f in cells if f == fault)
    ]
    calls = {case.place: case.call.split(" 20")[0] for case in given}
    unnoticed = [fault for fault in faults if fault not in notable]
    yield "| | call | " + " | ".join(notable) + " |"
    yield "|---|---|" + "---|" * len(notable)
    for place, call in calls.items():
        row = " | ".join(cells.get((place, fault), "") for fault in notable)
        yield f"| {place + 1} | {call} | {row} |"
    if unnoticed:
        yield ""
        yield f"Never a difference: {'; '.join(unnoticed)}."


def _cell(case: Case) -> str:
    ended, without = case.ended, case.without
    if ended.broken:
        return f"**{ended.broken[:60]}**"
    told = []
    if ended.states != without.states:
        before, after = Counter(without.states), Counter(ended.states)
        gone = [state.split()[1] for state in (before - after).elements()]
        come = [state.split()[1] for state in (after - before).elements()]
        told.append(f"{', '.join(come) or 'nothing'} instead of {', '.join(gone) or 'nothing'}")
    if ended.asked != without.asked:
        told.append(f"asked {ended.asked} times")
    if ended.taken != without.taken:
        told.append(f"delivered {ended.taken} times")
    if ended.brought_back != without.brought_back:
        told.append("brought back" if ended.brought_back > without.brought_back else "not brought back")
    return ", ".join(told) or "-"
