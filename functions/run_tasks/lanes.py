"""The two lanes of calls. The queue `tasks` has all calls at first; those to slow destinations are moved to the queue
`slow`, which has workers of its own.
"""

from datetime import timedelta
from typing import Any

from postdate.runtime.clock import Clock
from postdate.runtime.further import SqsFurther
from postdate.runtime.queue import SqsQueue
from postdate.runtime.visibility import Visibility


class Lane:
    """A queue of calls, and what its workers do with the messages in it."""

    def __init__(self, *, url: str, sqs: Any, clock: Clock, lease: timedelta) -> None:
        self.name = url.rpartition("/")[2]
        self.queue = SqsQueue(url=url, client=sqs, clock=clock)
        self.visibility = Visibility(url=url, client=sqs, lease=lease)
        self.further = SqsFurther(url=url, client=sqs)
