"""However many names of a batch hang, its answer comes in time."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from functions.api.tasks.checks.destinations import refusals
from postdate.domain.errors import DestinationNotAllowed, Unavailable
from postdate.domain.task import Destination
from postdate.stores.tenants import Tenant
from postdate.targets.webhook import WEBHOOK


def hooks(number: int) -> list[Destination]:
    return [
        Destination(type="webhook", address=f"https://n{each}.example.invalid/") for each in range(number)
    ]


def asking(
    refuse: Callable[[str], None], number: int, *, seconds: float = 0.3
) -> tuple[dict[str, str], float]:
    """Answer by address, and the time that it took."""

    def check(destination: Destination, loopback_allowed: bool) -> None:
        refuse(destination.address)

    began = time.monotonic()
    found = refusals(
        hooks(number),
        tenant=Tenant(id="demo"),
        loopback_allowed=False,
        kinds={"webhook": replace(WEBHOOK, check=check)},
        seconds=seconds,
    )
    took = time.monotonic() - began
    return {destination.address: error.code for destination, error in found.items()}, took


def test_names_that_hang_are_told_as_unknown_when_the_time_is_over() -> None:
    over = threading.Event()

    def hangs(address: str) -> None:
        over.wait(5)

    found, took = asking(hangs, 100)
    over.set()
    assert (len(found), set(found.values())) == (100, {Unavailable.code})
    assert took < 1


def test_destinations_without_an_answer_in_time_are_unavailable_beside_the_known_ones() -> None:
    over = threading.Event()

    def refuse(address: str) -> None:
        if "//n0." in address:
            raise DestinationNotAllowed
        if "//n1." in address:
            over.wait(5)

    found, _ = asking(refuse, 3)
    over.set()
    assert found == {
        "https://n0.example.invalid/": "destination_not_allowed",
        "https://n1.example.invalid/": "unavailable",
    }


@pytest.mark.parametrize("number", [1, 100])
def test_quick_answers_are_not_waited_for_longer(number: int) -> None:
    found, took = asking(lambda address: None, number, seconds=5)
    assert found == {}
    assert took < 2
