"""The live view of `make up DETACH=0`: what is in each queue, whenever that changes."""

import sys
import time
from datetime import UTC, datetime
from typing import Any, Final

from cli.local import aws, ministack
from cli.local.place import Place
from cli.local.stack import Stack

COUNTED: Final = {
    "ApproximateNumberOfMessages": "ready",
    "ApproximateNumberOfMessagesDelayed": "later",
    "ApproximateNumberOfMessagesNotVisible": "taken",
}


def until_interrupted(place: Place, stack: Stack) -> None:
    """Ends by Ctrl-C, or because the engine is gone; the stack ends with it."""
    shown = ""
    try:
        with aws.speaking_to(place):
            sqs = aws.client("sqs")
            while ministack.running(place):
                counts = "; ".join(f"{name} {_counts(sqs, url)}" for name, url in stack.queues.items())
                if counts != shown:
                    print(f"{datetime.now(UTC).astimezone():%H:%M:%S}  {counts}", file=sys.stderr, flush=True)
                    shown = counts
                time.sleep(1)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        ministack.stop(place)


def _counts(sqs: Any, queue_url: str) -> str:
    counts = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=list(COUNTED))["Attributes"]
    return ", ".join(f"{counts[name]} {word}" for name, word in COUNTED.items() if counts[name] != "0") or "-"
