"""Operations on many items for asyncio. `python client/generate.py` writes `operations.py` from this file."""

from collections.abc import AsyncIterator
from typing import Final, Unpack

from postdate_client.answers import Operation, OperationItem
from postdate_client.async_requests import AsyncRequests
from postdate_client.forms import OperationForm
from postdate_client.queries import PageQuery
from postdate_client.values import given, path_of

_ENDS: Final = frozenset({"PLANNED", "DONE", "STOPPED", "ABORTED"})
_LIST: Final = "/api/v1/operations"


class AsyncOperations(AsyncRequests):
    """One action on many items: planned first, then started, and followed to its end."""

    async def plan_operation(self, **form: Unpack[OperationForm]) -> Operation:
        """Plans an action on the items of `ids` or of a `filter`; with `dry_run=False` it begins at once. It is sent
        once."""
        answer: Operation = await self.request("POST", _LIST, given(form))
        return answer

    async def operation(self, operation_id: str) -> Operation:
        answer: Operation = await self.request("GET", path_of("operations", operation_id))
        return answer

    def operations(self, **query: Unpack[PageQuery]) -> AsyncIterator[Operation]:
        """All operations of the tenant, the newest first."""
        return self.pages(_LIST, "operations", query=query)

    def operation_items(self, operation_id: str, **query: Unpack[PageQuery]) -> AsyncIterator[OperationItem]:
        """The items of an operation, with what became of each."""
        return self.pages(f"{path_of('operations', operation_id)}/items", "items", query=query)

    async def start_operation(self, operation_id: str) -> Operation:
        """Starts a plan. Starting it again while it runs is no error."""
        path = f"{path_of('operations', operation_id)}/start"
        answer: Operation = await self.request("POST", path, repeatable=True)
        return answer

    async def stop_operation(self, operation_id: str) -> Operation:
        """Stops an operation before its next items. It is sent once."""
        answer: Operation = await self.request("POST", f"{path_of('operations', operation_id)}/stop")
        return answer

    async def resume_operation(self, operation_id: str) -> Operation:
        """Resumes an operation that was stopped or killed. It is sent once."""
        answer: Operation = await self.request("POST", f"{path_of('operations', operation_id)}/resume")
        return answer

    async def wait_for_operation(
        self, operation_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> Operation:
        """The operation once it runs no longer: DONE, STOPPED, ABORTED, or never started. Raises DeadlineExceeded."""
        return await self._ended(self.operation, operation_id, _ENDS, seconds, every_seconds, name="state")
