"""Registering by the hundred, tasks and payments alike."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from bench.bed import Bed
from bench.load import Ran, side_by_side
from bench.plan import BATCH
from cli.failure import Failure


def register(bed: Bed, path: str, thing: str, forms: list[dict[str, Any]], clients: int) -> Ran[list[str]]:
    """The answers are ids, a batch's in the order of its forms."""

    def caller(opened: ExitStack) -> Callable[[list[dict[str, Any]]], list[str]]:
        client = opened.enter_context(bed.client())
        return lambda batch: ids(client.post(path, {f"{thing}s": batch}).expect(200), thing)

    batches = [forms[start : start + BATCH] for start in range(0, len(forms), BATCH)]
    return side_by_side(clients, batches, caller)


def ids(answer: dict[str, Any], thing: str) -> list[str]:
    results = answer["results"]
    if refused := [result["error"] for result in results if "error" in result]:
        raise Failure(f"The API refused {len(refused)} {thing}s of a batch, the first with {refused[0]}.")
    return [result[thing][f"{thing}_id"] for result in results]
