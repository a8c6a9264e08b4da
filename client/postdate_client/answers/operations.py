"""Types of answers about operations. `python client/describe.py` writes this file from the API's description."""

from typing import Literal, TypedDict, final

from postdate_client.answers.instant import Instant


@final
class OperationItem(TypedDict):
    item_id: str
    version: int
    outcome: Literal["waiting", "sent", "done", "failed", "changed", "missing"]
    at: Instant | None
