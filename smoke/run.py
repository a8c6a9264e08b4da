"""Runs the cases one after the other; a case that fails stops no other."""

from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from cli.failure import Failure
from infra.environment import Environment
from postdate.domain.errors import PostdateError
from smoke import bed, burst, parameters, stacks, tables

Case = Callable[[bed.Bed], str]
CASES: Final[dict[str, Case]] = {
    "mixed-statements": tables.mixed_statements,
    "refusal-and-its-row": tables.refusal_and_its_row,
    "insert-of-a-row-that-exists": tables.insert_of_a_row_that_exists,
    "unprocessed-keys": tables.unprocessed_keys,
    "money-outside-transactions": tables.money_outside_transactions,
    "rollback": stacks.rollback,
    "alarm": stacks.alarm,
    "parameters-taken-back": parameters.taken_back,
    "burst": burst.burst,
}


class Result(NamedTuple):
    case: str
    ok: bool
    observed: str


def results(
    environment: Environment,
    client: Callable[[str], Any],
    *,
    api_url: str,
    tasks: int,
    patience_seconds: float = 300,
    only: Iterable[str] = (),
) -> Generator[Result]:
    """Raises Failure for an unknown case, before any resource is made."""
    wanted = list(only) or list(CASES)
    if unknown := sorted(set(wanted) - CASES.keys()):
        raise Failure(f"There is no case {', '.join(unknown)}. Cases: {', '.join(CASES)}.")
    with bed.made(
        environment, client, api_url=api_url, tasks=tasks, patience_seconds=patience_seconds
    ) as made:
        for name in wanted:
            yield _result(name, made)


def _result(name: str, made: bed.Bed) -> Result:
    try:
        return Result(name, True, CASES[name](made))
    except (Failure, PostdateError, BotoCoreError, ClientError) as error:
        return Result(name, False, " ".join(str(error).split()))
