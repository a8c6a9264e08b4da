"""Measures the processor time of the sweep for a packet, without a network: `.venv/bin/python -m bench.sending`.

The queue's own code packs and sends; the transport answers at once. The figure is a part of the capacity model's
calibration.
"""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import boto3
from botocore.awsrequest import AWSResponse

from postdate.domain.due import Due, Via, pack
from postdate.runtime.clock import SystemClock
from postdate.runtime.queue import SqsQueue

_PACKETS: Final = 5_000
_ID: Final = "30z0v3a00000000000000000000"
_NOBODY: Final = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "none") | {
    "region_name": "us-east-1"
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Raw:
    """The body of an answer, as botocore reads it."""

    body: bytes

    def stream(self, **_: Any) -> list[bytes]:
        return [self.body]


def core_seconds(items: int) -> float:
    """The processor time of one packet with `items` items, read, packed and sent in tens."""
    session = boto3.Session(**_NOBODY)
    client = session.client("sqs")
    client.meta.events.register("before-send.sqs", _answered)
    queue = SqsQueue(url="https://sqs.us-east-1.amazonaws.com/1/tasks", client=client, clock=SystemClock())
    due_at = datetime.now(UTC) + timedelta(seconds=90)
    pairs = [
        (f"tenant-{number // items}", Due(id=f"{_ID}{number:06}", version=1, due_at=due_at))
        for number in range(_PACKETS * items)
    ]
    started = time.process_time()
    queue.send(pack(pairs, Via.SWEEP, ahead_max=250))
    return (time.process_time() - started) / _PACKETS


def _answered(request: Any, **_: Any) -> AWSResponse:
    entries = json.loads(request.body)["Entries"]
    done = [{"Id": each["Id"], "MessageId": each["Id"], "MD5OfMessageBody": ""} for each in entries]
    body = json.dumps({"Successful": done}).encode()
    return AWSResponse(request.url, 200, {"content-type": "application/x-amz-json-1.0"}, _Raw(body=body))


if __name__ == "__main__":
    for items in (1, 25):
        print(f"{items} items a packet: {core_seconds(items) * 1e6:.0f} µs of a core a packet")
