"""A run that is broken, made small: less goes wrong in it, less is asked for, and the same invariant does not hold.

Whatever is left out changes each draw after it. So a smaller mix is tried with its own seed and with some others, and
any of them that breaks as the first one did will do.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.hub import SECOND
from tests.simulation.mix import Control, Fault, Mix, Outage

if TYPE_CHECKING:
    from tests.simulation.run import Result

Make = Callable[[int, Mix], "Result"]
_SEEDS_TRIED: Final = 12
# The smaller ones first; what is not named is left as it is.
_SMALLER: Final[dict[str, tuple[Any, ...]]] = {
    "outage": (None,),
    "down": (None,),
    "control": (None,),
    "fatal": (0.0,),
    "poison": (0, 1),
    "newer_forms": (False,),
    "newer": (0.0, 1.0),
    "explicit": (0.0,),
    "recurring": (0.0, 1.0),
    "payments": (0.0, 1.0),
    "money": (0.0,),
    "batches": (0.0,),
    "changes": (0.0,),
    "impatient": (0.0,),
    "sweepers": (1,),
    "executors": (1, 2),
    "clients": (1,),
    "requests": (1, 2, 3, 4, 6),
    "shards": (1,),
    "accounts": (2,),
    "attempts": (1, 2),
    "tempers": (("takes",),),
    "timeouts": ((30,),),
    "ticks": (True,),
    "heartbeat": (True,),
    "duplicates": (0.0,),
    "deletes_lost": (0.0,),
    "delayed": (0.0,),
    "stale": (0,),
    "jumps": (0,),
    "skew": (0, SECOND, 5 * SECOND),
    "latency": (0, 5_000),
    "pause": (SECOND,),
    "span": (30 * SECOND,),
    "sticky": (0.0,),
}
_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "rates": lambda rates: {Fault(fault): rate for fault, rate in rates.items()},
    "outage": lambda outage: outage and Outage(**outage),
    "control": lambda control: control and Control(**control),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Shrunk:
    """The run with the shortest trace of those that were found with this mix; `tried` is how many were made."""

    seed: int
    mix: Mix
    result: "Result"
    tried: int


def check_of(broken: str) -> str:
    """The invariant that does not hold, or the name of the exception."""
    kind, _, rest = broken.partition(": ")
    return rest.partition(":")[0] if kind == "Broken" else kind


def shrunk(seed: int, mix: Mix, make: Make) -> Shrunk:
    """`make` makes the run of a seed and a mix; the one that is given is broken."""
    search = _Search(make, wanted=check_of(make(seed, mix).broken or ""))
    smaller: Mix | None = mix
    while smaller is not None:
        mix = smaller
        smaller = next((less for less in _less(mix) if search.breaks(seed, less)), None)
    results = [result for each in _seeds(seed) if (result := search.made(each, mix))]
    shortest = min(results, key=lambda result: len(result.lines))
    return Shrunk(seed=shortest.seed, mix=mix, result=shortest, tried=search.tried)


class _Search:
    def __init__(self, make: Make, *, wanted: str) -> None:
        self._make = make
        self._wanted = wanted
        self._refused: set[str] = set()
        self.tried = 0

    def breaks(self, seed: int, mix: Mix) -> bool:
        name = text_of(mix)
        found = name not in self._refused and any(self.made(each, mix) for each in _seeds(seed))
        if not found:
            self._refused.add(name)
        return found

    def made(self, seed: int, mix: Mix) -> "Result | None":
        """The run, if it breaks as it should."""
        self.tried += 1
        result = self._make(seed, mix)
        return result if check_of(result.broken or "") == self._wanted else None


def _seeds(own: int) -> list[int]:
    return [own, *(seed for seed in range(_SEEDS_TRIED) if seed != own)]


def _less(mix: Mix) -> Iterator[Mix]:
    for fault in mix.rates:
        yield replace(mix, rates={other: rate for other, rate in mix.rates.items() if other is not fault})
    for name, values in _SMALLER.items():
        for value in values:
            if getattr(mix, name) == value:
                break
            yield replace(mix, **{name: value})


def text_of(mix: Mix) -> str:
    """The unusual values of the mix, as arguments of a command line."""
    usual, found = asdict(Mix()), asdict(mix)
    return json.dumps({name: value for name, value in found.items() if value != usual[name]})


def mix_of(text: str) -> Mix:
    given = json.loads(text)
    unknown = given.keys() - {field.name for field in fields(Mix)}
    if unknown:
        raise ValueError(f"a mix has no {', '.join(sorted(unknown))}")
    return Mix(**{name: _READ.get(name, _as_tuple)(value) for name, value in given.items()})


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
