import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from aws_cdk import Stack, aws_lambda

from infra.bundle import contents
from infra.constructs.function import RESOLVER, Function
from infra.environments import LOCAL
from postdate.runtime.settings import names
from tests.infra.permissions import READER
from tests.infra.synthesis import Stacks, app
from tests.infra.test_permissions import grants

FUNCTIONS = "AWS::Lambda::Function"


def test_there_is_a_function_for_every_folder(stacks: Stacks) -> None:
    folders = {path.parent.name for path in Path("functions").glob("*/settings.py")}
    assert {name.replace("-", "_") for name in stacks.properties(FUNCTIONS)} == folders


def test_every_function_is_given_exactly_the_settings_it_reads(stacks: Stacks) -> None:
    for name, function in stacks.properties(FUNCTIONS).items():
        settings = import_module(f"functions.{name.replace('-', '_')}.settings").Settings
        assert set(function["Environment"]["Variables"]) - set(RESOLVER) == names(settings)


def test_a_function_that_looks_names_up_bounds_its_resolver_and_no_other_does(stacks: Stacks) -> None:
    given = {
        name.replace("-", "_"): function["Environment"]["Variables"].get("RES_OPTIONS")
        for name, function in stacks.properties(FUNCTIONS).items()
    }
    resolving = {name for name in given if _imports("postdate.targets.guard", name)}
    assert resolving == {"api", "run_tasks"}
    assert given == {name: "timeout:1 attempts:2" if name in resolving else None for name in given}


def test_no_environment_waits_longer_than_a_minute_for_an_answer(stacks: Stacks) -> None:
    given = {
        name: function["Environment"]["Variables"].get("RESPONSE_TIMEOUT_SECONDS_MAX")
        for name, function in stacks.properties(FUNCTIONS).items()
    }
    assert {name: most for name, most in given.items() if most} == {"api": "60", "run-tasks": "60"}


@cache
def _imports(module: str, function: str) -> bool:
    """True if the function's code, started alone, imports this module."""
    code = f"import sys, functions.{function}.handler; print({module!r} in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.strip() == "True"


def test_the_settings_name_the_resources_they_are_called_after(stacks: Stacks) -> None:
    for function in stacks.properties(FUNCTIONS).values():
        for variable, value in function["Environment"]["Variables"].items():
            name, _, kind = variable.lower().partition("_")
            if kind == "table":
                assert stacks.text(value) == f"table:{name}"
            if kind == "bucket":
                bucket = {"payloads": "payload-objects"}.get(name, name)
                assert stacks.text(value) == f"bucket:{bucket}-<AWS::AccountId>-<AWS::Region>"
            if kind == "role_arn":
                assert stacks.text(value) == READER.format(stacks.environment.name)
            if kind in {"queue_url", "dlq_url"}:
                assert stacks.text(value) == f"queue:{name}{'-dlq' if kind == 'dlq_url' else ''}"


def test_a_setting_that_nobody_gives_stops_the_synthesis(tmp_path: Path) -> None:
    stack = Stack(app(tmp_path))
    layer = aws_lambda.LayerVersion.from_layer_version_arn(stack, "layer", "arn:aws:lambda:::layer:x:1")
    with pytest.raises(KeyError, match="KEYS_TABLE"):
        Function(stack, "authorize", environment=LOCAL, values={}, layer=layer, build=tmp_path)


def test_only_the_local_stack_may_call_the_loopback_interface(stacks: Stacks) -> None:
    local = stacks.environment.name == "local"
    for function in stacks.properties(FUNCTIONS).values():
        given = function["Environment"]["Variables"].get("LOOPBACK_DESTINATIONS")
        assert given in {None, "true" if local else "false"}


def test_every_function_runs_on_the_newest_python_and_the_environments_architecture(stacks: Stacks) -> None:
    for function in stacks.properties(FUNCTIONS).values():
        assert function["Runtime"] == "python3.14"
        assert function["Architectures"] == [stacks.environment.architecture]
    assert stacks.environment.name == "local" or stacks.environment.architecture == "arm64"


def test_a_request_is_traced_and_what_a_queue_brings_is_not(stacks: Stacks) -> None:
    traced = {name for name, each in stacks.properties(FUNCTIONS).items() if "TracingConfig" in each}
    assert traced == {"api"} == stacks.environment.traced
    assert stacks.properties(FUNCTIONS)["api"]["TracingConfig"] == {"Mode": "Active"}


def test_every_function_logs_to_its_own_group_and_no_log_is_kept_for_ever(stacks: Stacks) -> None:
    for name, function in stacks.properties(FUNCTIONS).items():
        assert stacks.text(function["LoggingConfig"]["LogGroup"]) == f"logs:/aws/lambda/{name}"
    for group in stacks.properties("AWS::Logs::LogGroup").values():
        assert group["RetentionInDays"] == stacks.environment.log_retention_days


def test_a_function_that_sends_to_the_queue_it_reads_is_no_runaway_loop(stacks: Stacks) -> None:
    reads = {
        stacks.text(each["FunctionName"]).removeprefix("function:"): stacks.text(each["EventSourceArn"])
        for each in stacks.properties("AWS::Lambda::EventSourceMapping").values()
    }
    for name, function in stacks.properties(FUNCTIONS).items():
        recurs = name in reads and "sqs:SendMessage" in grants(stacks, name)[reads[name]]
        assert function.get("RecursiveLoop", "Terminate") == ("Allow" if recurs else "Terminate")


def test_reservations_fit_an_account_and_cover_what_a_queue_may_use(stacks: Stacks) -> None:
    functions = stacks.properties(FUNCTIONS)
    reserved = {name: each.get("ReservedConcurrentExecutions") for name, each in functions.items()}
    assert sum(each or 0 for each in reserved.values()) <= 900
    for mapping in stacks.properties("AWS::Lambda::EventSourceMapping").values():
        own = reserved[stacks.text(mapping["FunctionName"]).removeprefix("function:")]
        assert own is None or own >= mapping["ScalingConfig"]["MaximumConcurrency"]


def test_every_function_has_the_layer_and_the_layer_holds_the_dependencies(stacks: Stacks) -> None:
    assert {
        tuple(stacks.text(layer) for layer in each["Layers"])
        for each in stacks.properties(FUNCTIONS).values()
    } == {("layer:dependencies",)}
    (layer,) = stacks.properties("AWS::Lambda::LayerVersion").values()
    assert stacks.asset(layer["Content"]) == ["python/dependency/__init__.py"]
    assert layer["CompatibleArchitectures"] == [stacks.environment.architecture]


def test_every_asset_holds_its_function_and_nothing_else(stacks: Stacks) -> None:
    for name, function in stacks.properties(FUNCTIONS).items():
        folder = name.replace("-", "_")
        inside = stacks.asset(function["Code"])
        assert inside == sorted(contents(folder))
        assert function["Handler"] == f"functions.{folder}.entry.handler"
        assert f"functions/{folder}/entry.py" in inside
        pages = {"console"} if folder == "api" else set()
        assert {path.partition("/")[0] for path in inside} == {"functions", "postdate"} | pages
        assert not [path for path in inside if "test" in path or "/." in path or path.endswith(".pyc")]
