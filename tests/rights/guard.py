"""The guard of calls: AWS's answer to a call that no right of the function's role allows."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from tests.rights.golden import READER, Right, allowing
from tests.rights.needs import needs


class Guard:
    """The role whose call it is belongs to the thread, and threads inherit it. `taken` is the right that is missing."""

    def __init__(self) -> None:
        self._local = threading.local()
        self.taken: Right | None = None
        self.used: set[Right] = set()
        self.beyond: set[str] = set()

    @property
    def role(self) -> str:
        return getattr(self._local, "role", "")

    @contextmanager
    def acting(self, role: str) -> Iterator[None]:
        before, self._local.role = self.role, role
        try:
            yield
        finally:
            self._local.role = before

    def __call__(self, params: Mapping[str, Any], model: Any, **_: object) -> None:
        service, role = model.service_model.service_name, self.role
        if not role:
            return
        if role == "run-tasks" and service == "s3":
            role = READER
        for need in needs(service, model.name, params):
            right = allowing(role, need)
            if right is None:
                self.beyond.add(f"{role} {need}")
            else:
                self.used.add(right)
            if right is None or right == self.taken:
                told = {"Code": "AccessDeniedException", "Message": f"{role} may not {need.action}"}
                raise ClientError({"Error": told, "ResponseMetadata": {"HTTPStatusCode": 400}}, model.name)
