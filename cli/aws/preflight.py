"""Checks an account before a deployment: each missing prerequisite of the environment is told in one line.

Without these questions CloudFormation finds out halfway, and rolls back after minutes.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from cli.aws.account import Account, answering, denied
from cli.failure import NotReady
from cli.progress import say
from infra.environment import Environment
from postdate.domain.instants import MINUTE, minute_of
from postdate.domain.slots import ShardPlan

BOOTSTRAP: Final = "/cdk-bootstrap/hnb659fds/version"
BOOTSTRAP_VERSION: Final = 6
# Lambda keeps this much of an account's concurrency for functions without a reservation, once anything is reserved.
UNRESERVED_MIN: Final = 100
# The copies that a function for requests needs, without a reservation, to serve one request while another is served. A
# state machine tries a step again for which there is no room.
ROOM: Final = 2
ANSWERING: Final = frozenset({"api", "authorize"})
# Write units a second that an account grants each table, and the quota that raises them.
TABLE_WRITES: Final = 40_000
TABLE_QUOTA: Final = ("dynamodb", "L-AB614373")
# All copies have one configuration before a step of the shard plan begins: a deployment takes less.
SHARDS_AHEAD: Final = timedelta(hours=1)
# A backfill or a late worker still makes runs of earlier minutes.
SHARDS_BACK: Final = timedelta(days=60)
QUOTA: Final = 'the quota "Concurrent executions" of AWS Lambda (L-B99A9384)'


def check(account: Account, environment: Environment) -> None:
    """Raises NotReady with a line for each missing thing. A question that the credentials may not ask is passed over:
    a deployer may hold nothing but the right to assume the CDK's roles."""
    missing: list[str] = []
    for question in (_bootstrap, _concurrency, _table_writes, _shard_plan):
        with answering(str(account)):
            missing += _asked(question, account, environment)
    if missing:
        raise NotReady("\n".join(missing))


def _asked(
    question: Callable[[Account, Environment], Iterator[str]], account: Account, environment: Environment
) -> list[str]:
    try:
        return list(question(account, environment))
    except ClientError as error:
        if not denied(error):
            raise
        say(f"Not checked, because the credentials may not ask: {error.operation_name}.")
        return []


def _bootstrap(account: Account, environment: Environment) -> Iterator[str]:
    try:
        found = int(account.client("ssm").get_parameter(Name=BOOTSTRAP)["Parameter"]["Value"])
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
        found = 0
    if found < BOOTSTRAP_VERSION:
        has = f"has version {found} of the CDK's bootstrap stack" if found else "is not bootstrapped"
        yield (
            f"The {account} {has}, and version {BOOTSTRAP_VERSION} is needed: "
            f"`.venv/bin/python -m cli.local.cdk bootstrap aws://{account.id}/{account.region}`."
        )


def _concurrency(account: Account, environment: Environment) -> Iterator[str]:
    functions = account.client("lambda")
    limits = functions.get_account_settings()["AccountLimit"]
    has, free = limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"]
    others = (
        has - free - sum(_reserved_now(functions, environment.named(name)) for name in environment.functions)
    )
    reserves, shares = _reserved(environment), _shared(environment)
    keeps = max(shares, UNRESERVED_MIN if reserves else 0)
    needs = reserves + keeps + others
    if needs > has:
        parts = [
            f"{reserves} that {environment.name} reserves" if reserves else "",
            f"{keeps} unreserved",
            f"{others} that other functions reserve" if others else "",
        ]
        yield (
            f"The {account} may run {has} functions at once, and {needs} are needed "
            f"({', '.join(part for part in parts if part)}): ask for {needs} of {QUOTA}."
        )


def _table_writes(account: Account, environment: Environment) -> Iterator[str]:
    """Warm throughput above the quota of a table fails the deployment of its stack."""
    needs = max(environment.warm_writes.values(), default=0)
    if needs <= TABLE_WRITES:
        return
    service, code = TABLE_QUOTA
    quota = account.client("service-quotas").get_service_quota(ServiceCode=service, QuotaCode=code)
    has = int(quota["Quota"]["Value"])
    if needs > has:
        yield (
            f"A table of the {account} takes up to {has} write units a second, and {needs} are needed: ask for "
            f'{needs} of the quota "Table-level write throughput limit" of DynamoDB ({code}), or lower '
            f"`warm_writes` in infra/environments.py."
        )


def _shard_plan(account: Account, environment: Environment) -> Iterator[str]:
    """The id of a run follows from the number of shards of its minute. While copies with two plans work side by side,
    they would write two runs for one instant of a minute for which the plans differ."""
    deployed = _shard_plan_now(account.client("lambda"), environment.named("run_tasks"))
    if deployed is None:
        return
    wanted, now = ShardPlan.parse(environment.settings.shard_plan), minute_of(datetime.now(UTC))
    since, soon = now - SHARDS_BACK // MINUTE, now + SHARDS_AHEAD // MINUTE
    steps = sorted({since, *deployed.from_minutes, *wanted.from_minutes})
    differs = [each for each in steps if since <= each < soon and deployed.count(each) != wanted.count(each)]
    if differs:
        yield (
            f"`shard_plan` in infra/environments.py differs from the deployed plan at minute {differs[0]}, and the "
            f"earliest minute of a new step is {soon}, an hour ahead. Steps of the last {SHARDS_BACK.days} days stay."
        )


def _shard_plan_now(functions: Any, name: str) -> ShardPlan | None:
    """The plan of an earlier deployment; None before the first one."""
    try:
        answer = functions.get_function_configuration(FunctionName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return None
        raise
    text = answer.get("Environment", {}).get("Variables", {}).get("SHARD_PLAN")
    return None if text is None else ShardPlan.parse(text)


def _reserved(environment: Environment) -> int:
    return sum(size.reserved or 0 for size in environment.functions.values())


def _shared(environment: Environment) -> int:
    """The concurrency that functions without a reservation take from the account's pool. A function that follows
    streams may wait: its records stay where they are."""
    sizes = {name: size for name, size in environment.functions.items() if size.reserved is None}
    consumers = sum(size.consumers + size.slow_consumers for size in sizes.values())
    return consumers + ROOM * len(ANSWERING & sizes.keys())


def _reserved_now(functions: Any, name: str) -> int:
    """The concurrency that an earlier deployment of this environment has reserved."""
    try:
        answer = functions.get_function_concurrency(FunctionName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return 0
        raise
    return int(answer.get("ReservedConcurrentExecutions", 0))
