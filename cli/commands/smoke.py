"""Check AWS's behaviour and a peak in a deployed environment; all that the run makes is removed again.

A run in dev costs less than a dollar. The cases are in smoke/, each with its expectation.
"""

import argparse
import os
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final

from botocore.exceptions import ClientError

from cli.clients import clients
from cli.commands.down import place_arguments
from cli.failure import Failure, NotReady
from cli.local.place import Place
from cli.local.stack import saved
from cli.progress import say
from infra.environment import Environment
from infra.environments import ENVIRONMENTS, LOCAL
from smoke.run import CASES, results

_TASKS: Final = 50_000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", required=True, choices=tuple(ENVIRONMENTS), help="the environment")
    parser.add_argument("--only", nargs="*", default=[], metavar="CASE", help=f"of {', '.join(CASES)} (all)")
    parser.add_argument("--tasks", type=int, default=_TASKS, help=f"tasks of the burst ({_TASKS})")
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    environment, found = ENVIRONMENTS[options.env], []
    with clients(environment, options.port) as client:
        made = results(
            environment,
            client,
            api_url=_api_url(environment, client, options.port),
            tasks=options.tasks,
            only=options.only,
        )
        with closing(made):
            for result in made:
                say(f"{'ok    ' if result.ok else 'FAILED'} {result.case}: {result.observed}")
                found.append(result._asdict())
    failed = [each["case"] for each in found if not each["ok"]]
    if failed:
        raise Failure(f"Not as expected: {', '.join(failed)}")
    return {"cases": found}


def show(answer: dict[str, Any]) -> str:
    return f"{len(answer['cases'])} cases, all as expected."


def _api_url(environment: Environment, client: Callable[[str], Any], port: int) -> str:
    if environment is LOCAL:
        place = Place.of(port, os.environ)
        if (stack := saved(place)) is None:
            raise NotReady(f"No local stack runs on port {place.port}. Start one: {place.starts_it}")
        return stack.api_url
    name = environment.named("service")
    try:
        (described,) = client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        raise NotReady(f"There is no stack {name}: `make deploy ENV={environment.name}` makes it.") from error
    outputs = {each["OutputKey"]: each["OutputValue"] for each in described["Outputs"]}
    return str(outputs["ApiUrl"]).rstrip("/")
