"""Operations for threads.

`python client/generate.py` writes this file from `async_operations.py`.
"""

from collections.abc import Iterator
from typing import Final, Unpack

from postdate_client.answers import Operation, OperationItem
from postdate_client.forms import OperationForm
from postdate_client.queries import PageQuery
from postdate_client.requests import Requests
from postdate_client.values import given, path_of

_ENDS: Final = frozenset({"PLANNED", "DONE", "STOPPED", "ABORTED"})
_LIST: Final = "/api/v1/operations"


class Operations(Requests):
    """One action on many items: planned first, then started, and followed to its end."""

    def plan_operation(self, **form: Unpack[OperationForm]) -> Operation:
        """Plans an action on the items of `ids` or of a `filter`; with `dry_run=False` it begins at once. It is sent
        once."""
        answer: Operation = self.request("POST", _LIST, given(form))
        return answer

    def operation(self, operation_id: str) -> Operation:
        answer: Operation = self.request("GET", path_of("operations", operation_id))
        return answer

    def operations(self, **query: Unpack[PageQuery]) -> Iterator[Operation]:
        """All operations of the tenant, the newest first."""
        return self.pages(_LIST, "operations", query=query)

    def operation_items(self, operation_id: str, **query: Unpack[PageQuery]) -> Iterator[OperationItem]:
        """The items of an operation, with what became of each."""
        return self.pages(f"{path_of('operations', operation_id)}/items", "items", query=query)

    def start_operation(self, operation_id: str) -> Operation:
        """Starts a plan. Starting it again while it runs is no error."""
        path = f"{path_of('operations', operation_id)}/start"
        answer: Operation = self.request("POST", path, repeatable=True)
        return answer

    def stop_operation(self, operation_id: str) -> Operation:
        """Stops an operation before its next items. It is sent once."""
        answer: Operation = self.request("POST", f"{path_of('operations', operation_id)}/stop")
        return answer

    def resume_operation(self, operation_id: str) -> Operation:
        """Resumes an operation that was stopped or killed. It is sent once."""
        answer: Operation = self.request("POST", f"{path_of('operations', operation_id)}/resume")
        return answer

    def wait_for_operation(
        self, operation_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> Operation:
        """The operation once it runs no longer: DONE, STOPPED, ABORTED, or never started. Raises DeadlineExceeded."""
        return self._ended(self.operation, operation_id, _ENDS, seconds, every_seconds, name="state")
