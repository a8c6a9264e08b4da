"""Mistakes that are made on purpose, one at a time: what finds none of them proves nothing."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Mistake:
    """Found by the search named `within`, as a break of what begins with `breaks`."""

    name: str
    within: str
    breaks: str


def _of(within: str, *pairs: tuple[str, str]) -> tuple[Mistake, ...]:
    return tuple(Mistake(name=name, within=within, breaks=breaks) for name, breaks in pairs)


MISTAKES: Final = (
    *_of(
        "a task and two crashes",
        ("no fence", "I8"),
        ("no token", "I9"),
        ("a claim without condition", "I10"),
        ("whatever is stored is one's own", "I10"),
        ("the message goes before what follows", "I11"),
        ("the retry is forgotten", "I11"),
        ("the letter is forgotten", "I16"),
        ("a missing dead letter is not sent again", "I16"),
        ("a deferred call is lost", "I11"),
    ),
    *_of(
        "a task and a worker that stands still",
        ("no token check", "I9"),
        ("a lease is no lease", "I9"),
        ("a takeover does not look at the lease", "I9"),
        ("who was fenced off lets its message go", "I16"),
    ),
    *_of("a task and an answer that is lost", ("nobody is taken for dead", "I22")),
    *_of("a task that is redriven", ("any call redrives a dead task", "I8")),
    *_of(
        "a task that is cancelled",
        ("begins early", "I12"),
        ("a cancel without condition", "I8"),
        ("a claim without condition", "I14"),
        ("a claim without condition", "I15"),
    ),
    *_of(
        "a task that is registered late",
        ("no closing pass", "I11"),
        ("a pass is noted before its calls are sent", "I11"),
        ("a key stands for a new item each time", "I13"),
    ),
    *_of("a task that is moved", ("no pointer", "I11")),
    *_of("a call that vanishes", ("no audit", "I11")),
    *_of(
        "a task that is redriven after its audit, and a call that vanishes",
        ("no pointer for an audit", "I11"),
    ),
    *_of(
        "two payments",
        ("no condition on a payment's state", "I8"),
        ("no condition on a payment's state", "I15"),
        ("neither the payment's state nor the journal is looked at", "I5"),
        ("neither the payment's state nor the journal is looked at", "I7"),
        ("a movement tells another amount", "I6"),
        ("the payee gets nothing", "I1"),
        ("a hold is not returned", "I4"),
        ("a hold is returned twice", "I3"),
        ("a hold is not returned", "I3"),
    ),
    *_of("two payments and money for one", ("an account falls below zero", "I2")),
    *_of(
        "two payments of which one is registered late", ("settles early", "I12"), ("no closing pass", "I11")
    ),
    *_of(
        "a payment that meets trouble",
        ("the message goes before what follows", "I11"),
        ("the retry is forgotten", "I11"),
        ("the letter is forgotten", "I16"),
        ("a missing dead letter is not sent again", "I16"),
        ("any call settles what is parked", "I16"),
        ("the call before its parking is dropped", "I16"),
    ),
)
