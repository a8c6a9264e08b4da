import json
from dataclasses import replace
from pathlib import Path

from infra.environments import DEV
from infra.watch.series import queues
from infra.watch.table import alarms
from tests.infra.synthesis import Stacks, Template, synthesise

QUEUES = "AWS::SQS::Queue"
MAPPINGS = "AWS::Lambda::EventSourceMapping"
# Dead letters of a stream belong to no queue.
OF_STREAMS = frozenset({"events-dlq"})


def of_queues(stacks: Stacks) -> dict[str, Template]:
    return {
        name: each for name, each in stacks.properties(MAPPINGS).items() if "StartingPosition" not in each
    }


def test_every_queue_has_dead_letters_and_a_lane_those_of_its_queue(stacks: Stacks) -> None:
    queues = stacks.properties(QUEUES)
    for name, queue in queues.items():
        if not name.endswith("-dlq"):
            letters = "tasks" if name == "slow" else name
            assert stacks.text(queue["RedrivePolicy"]["deadLetterTargetArn"]) == f"queue:{letters}-dlq"
    assert {
        name: each["RedrivePolicy"]["maxReceiveCount"]
        for name, each in queues.items()
        if "RedrivePolicy" in each
    } == {
        "tasks": 8,
        "slow": 8,
        "payments": 8,
        "ticks": 5,
    }


def test_each_queue_that_is_read_is_watched(stacks: Stacks) -> None:
    """A queue that is added later is missing here until the table of alarms and the dashboard have it."""
    read = {stacks.text(each["EventSourceArn"]) for each in of_queues(stacks).values()}
    letters = {name for name in stacks.properties(QUEUES) if name.endswith("-dlq")}
    environment = stacks.environment
    assert read == {f"queue:{name}" for name in queues(environment)}
    watched = {
        value
        for alarm in alarms(environment)
        for each in alarm.series.values()
        for _, value in each.dimensions
    }
    assert {environment.named(name) for name in (*queues(environment), *letters)} <= watched
    ages = {alarm.name for alarm in alarms(environment) if alarm.runbook == "messages_wait"}
    assert ages == {f"messages_wait_{name}" for name in queues(environment)}
    if stacks.watch is not None:
        shown = json.dumps(stacks.watch)
        assert all(f'\\"{environment.named(name)}\\"' in shown for name in (*queues(environment), *letters))


def test_dead_letters_may_be_redriven_to_the_queue_they_came_from_and_come_from_no_other(
    stacks: Stacks,
) -> None:
    for name, queue in stacks.properties(QUEUES).items():
        if name.endswith("-dlq") and name not in OF_STREAMS:
            allowed = queue["RedriveAllowPolicy"]
            source = name.removesuffix("-dlq")
            sources = [source, "slow"] if source == "tasks" else [source]
            assert allowed["redrivePermission"] == "byQueue"
            assert [stacks.text(arn).rpartition(":")[2] for arn in allowed["sourceQueueArns"]] == [
                f"postdate-{stacks.environment.name}-{each}" for each in sources
            ]


def test_dead_letters_outlive_the_messages_of_their_queue(stacks: Stacks) -> None:
    queues = stacks.properties(QUEUES)
    for name, queue in queues.items():
        if not name.endswith("-dlq"):
            letters = queues[
                stacks.text(queue["RedrivePolicy"]["deadLetterTargetArn"]).removeprefix("queue:")
            ]
            assert queue["MessageRetentionPeriod"] < letters["MessageRetentionPeriod"]


def test_every_queue_is_encrypted(stacks: Stacks) -> None:
    assert all(queue["SqsManagedSseEnabled"] for queue in stacks.properties(QUEUES).values())


def test_every_queue_on_aws_refuses_what_comes_without_tls(stacks: Stacks) -> None:
    refusing = {
        stacks.text(queue)
        for policy in stacks.properties("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        for queue in policy["Queues"]
        if statement["Effect"] == "Deny"
        and statement["Action"] == "sqs:*"
        and statement["Principal"] == {"AWS": "*"}
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        and stacks.text(statement["Resource"]) == stacks.text(queue)
    }
    expected = {f"queue:{name}" for name in stacks.properties(QUEUES)}
    assert refusing == (set() if stacks.environment.name == "local" else expected)


def test_nobody_is_let_into_a_queue_by_its_own_policy(stacks: Stacks) -> None:
    for policy in stacks.properties("AWS::SQS::QueuePolicy").values():
        assert {statement["Effect"] for statement in policy["PolicyDocument"]["Statement"]} == {"Deny"}


def test_every_mapping_reports_partial_failures_and_is_bounded(stacks: Stacks) -> None:
    mappings = of_queues(stacks)
    assert {stacks.text(each["EventSourceArn"]) for each in mappings.values()} == {
        "queue:tasks",
        "queue:payments",
        "queue:ticks",
        *(["queue:slow"] if stacks.environment.functions["run_tasks"].slow_consumers else []),
    }
    for mapping in mappings.values():
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert 2 <= mapping["ScalingConfig"]["MaximumConcurrency"] <= 1000
        assert mapping["BatchSize"] <= 10
        assert "MaximumBatchingWindowInSeconds" not in mapping
        assert "ProvisionedPollerConfig" not in mapping


def test_an_environment_may_have_provisioned_pollers_and_gather_larger_batches(
    build: Path, tmp_path: Path
) -> None:
    """Lambda refuses a mapping with pollers and a bound of its consumers, and batches above ten without a window."""
    functions = dict(DEV.functions)
    functions["run_tasks"] = replace(functions["run_tasks"], consumers=40, pollers=3)
    functions["settle"] = replace(functions["settle"], batch=50, window_seconds=1)
    changed = synthesise(replace(DEV, functions=functions), build=build, assembly=tmp_path)
    of = {changed.text(each["EventSourceArn"]): each for each in of_queues(changed).values()}
    assert of["queue:tasks"]["ProvisionedPollerConfig"] == {"MinimumPollers": 3, "MaximumPollers": 4}
    assert "ScalingConfig" not in of["queue:tasks"]
    assert (of["queue:payments"]["BatchSize"], of["queue:payments"]["MaximumBatchingWindowInSeconds"]) == (
        50,
        1,
    )
    assert of["queue:payments"]["ScalingConfig"] == {"MaximumConcurrency": 2}


def test_calls_are_moved_to_the_slow_lane_where_it_has_workers_and_all_workers_are_known(
    stacks: Stacks,
) -> None:
    size = stacks.environment.functions["run_tasks"]
    assert stacks.environment.settings.slow_lane == bool(size.slow_consumers)
    assert stacks.environment.settings.task_workers == size.consumers + size.slow_consumers
    if size.reserved is not None:
        assert size.consumers + size.slow_consumers <= size.reserved, "throttled batches become dead letters"


def test_a_message_stays_hidden_for_as_long_as_its_function_may_run(stacks: Stacks) -> None:
    queues, functions = stacks.properties(QUEUES), stacks.properties("AWS::Lambda::Function")
    for mapping in of_queues(stacks).values():
        queue = queues[stacks.text(mapping["EventSourceArn"]).removeprefix("queue:")]
        function = functions[stacks.text(mapping["FunctionName"]).removeprefix("function:")]
        assert queue["VisibilityTimeout"] >= function["Timeout"]


def test_the_clock_ticks_every_minute_and_a_lost_tick_can_be_found(stacks: Stacks) -> None:
    schedule = next(
        each
        for each in stacks.properties("AWS::Scheduler::Schedule").values()
        if each["Name"].endswith("-tick")
    )
    target = schedule["Target"]
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert schedule["State"] == "ENABLED"
    assert target["Input"] == '{"kind":"tick"}'
    assert stacks.text(target["Arn"]) == "queue:ticks"
    assert stacks.text(target["DeadLetterConfig"]["Arn"]) == "queue:ticks-dlq"
