"""`make deploy`: asks the account, deploys the stacks of an environment, and protects what holds data.

Exit status 2 when something is missing that a person has to provide, 1 when the deployment itself failed.
"""

import os
import subprocess
import sys
from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

from cli.aws import stacks
from cli.aws.account import Account, account, answering, denied
from cli.aws.mute import muted
from cli.aws.preflight import check
from cli.aws.protection import protect
from cli.failure import Failure
from cli.local import bytecode, cdk
from cli.local.layer import layer
from cli.local.once import ROOT
from cli.progress import say
from infra.environment import Environment
from infra.environments import ENVIRONMENTS


def build(environment: Environment) -> None:
    layer(environment.platform)
    bytecode.functions()


def run(found: Account, given: list[str]) -> None:
    """Runs the CDK's command line, which prints the reason of a failure itself."""
    variables = cdk.environment(os.environ) | {
        "AWS_REGION": found.region,
        "AWS_DEFAULT_REGION": found.region,
        "POSTDATE_REQUIRE_LAYER": "1",
    }
    if subprocess.run(cdk.command(*given), cwd=ROOT, env=variables, check=False).returncode:
        raise Failure("The deployment failed: the lines above say why.")


def deploy(
    environment: Environment,
    *,
    build: Callable[[Environment], None] = build,
    run: Callable[[Account, list[str]], None] = run,
) -> None:
    """Raises NotReady before anything is built or changed, and Failure after a deployment that failed."""
    found = account()
    check(found, environment)
    say(f"Deploying {environment.name} to {found}.")
    build(environment)
    first = _is_first(found, environment)
    try:
        with muted(found, environment):
            asked = sys.stdin.isatty()
            run(found, arguments(environment, first=first, asked=asked))
            if first and environment.watched:
                say("Naming the alarms that take changed parameters back: they exist now.")
                run(
                    found,
                    arguments(environment, first=False, asked=asked, only=stacks.state(environment.name)),
                )
    finally:
        _protect(found, environment)


def arguments(environment: Environment, *, first: bool, asked: bool, only: str = "") -> list[str]:
    """The arguments of `cdk deploy`. Approval is asked only at a terminal, where a person can answer. With `first`
    nothing is protected yet, because a protected stack could not be taken back. `only` names one stack in place of
    all."""
    return [
        *("deploy", *((only, "--exclusively") if only else ("--all",))),
        *("--context", f"env={environment.name}"),
        *(("--context", "first=true") if first else ()),
        *(() if asked else ("--require-approval", "never")),
    ]


def _is_first(found: Account, environment: Environment) -> bool:
    with answering(str(found)):
        try:
            return not stacks.stands(found, stacks.state(environment.name))
        except ClientError as error:
            if not denied(error):
                raise
            return False


def _protect(found: Account, environment: Environment) -> None:
    """Also after a failed update, which leaves standing what stood before."""
    try:
        for name in protect(found, environment):
            say(f"Protected from deletion: {name}")
    except (BotoCoreError, ClientError) as error:
        raise Failure(
            f"What holds data in {environment.name} is not protected from deletion: {error}"
        ) from error


def main(name: str) -> int:
    try:
        deploy(ENVIRONMENTS[name])
    except Failure as failure:
        print(failure, file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
