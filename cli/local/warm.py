"""Workers that wait for messages before there are any: the engine would start each when it first needs one more.

Half a second of processor time each, so the first packets of a new stack would come seconds late.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import boto3
from botocore.config import Config

from cli.failure import Failure
from cli.local import aws
from cli.local.place import Place

EXECUTORS: Final = ("postdate-local-run-tasks", "postdate-local-settle", "postdate-local-record")
PATIENCE_SECONDS: Final = 60


def warm(place: Place) -> None:
    """Calls without messages, as many at once as the queues may keep workers busy: none finds one that is free."""
    with aws.speaking_to(place):
        functions = boto3.Session().client(
            "lambda",
            config=Config(
                read_timeout=PATIENCE_SECONDS, retries={"total_max_attempts": 1}, max_pool_connections=100
            ),
        )
    calls = [name for name in EXECUTORS for _ in range(consumers(functions, name))]
    with ThreadPoolExecutor(len(calls)) as callers:
        for name, answer in zip(
            calls, callers.map(lambda name: _called(functions, name), calls), strict=True
        ):
            if "FunctionError" in answer:
                raise Failure(f"{name} does not start: {answer['Payload'].read().decode()}")


def consumers(functions: Any, name: str) -> int:
    """The greatest concurrency of a queue's mapping to the function: all its queues share the same workers. A stream
    keeps one busy."""
    mappings = functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    return max(int(mapping.get("ScalingConfig", {}).get("MaximumConcurrency", 1)) for mapping in mappings)


def _called(functions: Any, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = functions.invoke(FunctionName=name, Payload=json.dumps({"Records": []}))
    return answer
