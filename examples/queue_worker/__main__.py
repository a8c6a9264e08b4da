"""A worker on an SQS queue, for work that takes longer than its lease: heartbeats hold the run, a token guards its end.

PYTHONPATH=client .venv/bin/python -m examples.queue_worker
"""

import time
from threading import Event, Thread
from typing import Any, Final

import boto3

from examples.local import client, expect, stack
from postdate_client import Client, InvalidState

LEASE_SECONDS: Final = 5
WORK_SECONDS: Final = 9
_SECONDS_MAX: Final = 60


def work(postdate: Client, run_id: str, token: int) -> None:
    """Tells that it lives, in a second thread, as long as the work takes. Completes the run at its end."""
    done = Event()

    def beat() -> None:
        while not done.wait(LEASE_SECONDS / 3):
            postdate.extend_run(run_id, token=token)

    beats = Thread(target=beat, daemon=True)
    beats.start()
    time.sleep(WORK_SECONDS)  # the place for your own work
    done.set()
    beats.join()
    postdate.complete_run(run_id, token=token)


def received(sqs: Any, queue: str, run_id: str) -> dict[str, str]:
    """The attributes of the run's message. Other messages of the demo queue stay."""
    ends_at = time.monotonic() + _SECONDS_MAX
    while time.monotonic() < ends_at:
        answer = sqs.receive_message(
            QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1, VisibilityTimeout=1,
            MessageAttributeNames=["All"],
        )  # fmt: skip
        for message in answer.get("Messages", ()):
            told = {name: each["StringValue"] for name, each in message["MessageAttributes"].items()}
            if told["Postdate-Run-Id"] == run_id:
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
                return told
    raise TimeoutError(run_id)


def main() -> None:
    local = stack()
    sqs = boto3.client(
        "sqs", endpoint_url=local["endpoint_url"], region_name=local["region"],
        aws_access_key_id="test", aws_secret_access_key="test",  # noqa: S106 - the local engine's
    )  # fmt: skip
    queue = local["destination_queue_url"]
    with client() as postdate:
        task = postdate.register_task(
            target={"type": "sqs", "queue_url": queue},
            delay_seconds=0,
            ack="explicit",
            timeout_seconds=LEASE_SECONDS,
        )
        told = received(sqs, queue, task["task_id"])
        token = int(told["Postdate-Token"])
        work(postdate, told["Postdate-Run-Id"], token)
        ended = postdate.wait_for_task(task["task_id"])
        expect((ended["status"], ended.get("attempts")), ("SUCCEEDED", 1))
        try:
            postdate.extend_run(task["task_id"], token=token)
        except InvalidState:  # the run has ended, or a newer attempt has it
            print(f"Worked for {WORK_SECONDS} s under a lease of {LEASE_SECONDS} s, in one attempt.")


if __name__ == "__main__":
    main()
