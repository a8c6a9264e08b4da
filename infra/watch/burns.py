"""Burn rates: how fast an error budget is spent, over a long and a short window."""

from collections.abc import Iterator
from typing import Final

from infra.watch.alarm import Alarm, Composite, Series, Severity
from infra.watch.series import DAY, HOUR, MINUTE

# How many times too fast an error budget is spent, and over which windows: a long one, and a short one that ends the
# page soon after the fault.
BURNS: Final = (
    ("fast", 14.4, (HOUR, 5 * MINUTE)),
    ("steady", 6.0, (6 * HOUR, 30 * MINUTE)),
)


def burns(
    name: str, meaning: str, *, series: dict[str, Series], expression: str, budget: float
) -> Iterator[Alarm]:
    for speed, factor, windows in BURNS:
        for which, window in zip(("long", "short"), windows, strict=True):
            yield Alarm(
                name=f"{name}_{speed}_{which}",
                entry=name,
                meaning=f"{meaning} Above {factor} x {100 * budget:g} % over {window // MINUTE} minutes.",
                severity=Severity.PART,
                series=series,
                expression=expression,
                threshold=factor * budget,
                period=window,
            )
    yield Alarm(
        name=f"{name}_slow",
        entry=name,
        meaning=f"{meaning} Above {100 * budget:g} % over a day: the error budget does not last.",
        severity=Severity.TICKET,
        series=series,
        expression=expression,
        threshold=budget,
        period=DAY,
    )


def pages(name: str, meaning: str) -> Iterator[Composite]:
    """A page for each speed, while both of its windows are above their threshold."""
    for speed, factor, _ in BURNS:
        parts = (f"{name}_{speed}_long", f"{name}_{speed}_short")
        yield Composite(
            name=f"{name}_{speed}",
            entry=name,
            meaning=f"{meaning}: {factor}x of the error budget.",
            severity=Severity.PAGE,
            rule=" AND ".join(parts),
            parts=parts,
        )
