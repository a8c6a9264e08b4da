"""The receiver's word about a run, told to Postdate."""

import http.client
import json
from contextlib import closing
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

_TIMEOUT_SECONDS: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Api:
    """`key` is a bearer key with the scope `tasks:write`."""

    url: str
    key: str

    def tell(self, word: str, *, run_id: str, token: int) -> int:
        """The status of the answer to `complete`, `fail` or `heartbeat`; 0 when there was none."""
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with closing(kind(parts.netloc, timeout=_TIMEOUT_SECONDS)) as connection:
            try:
                path = f"{parts.path}/api/v1/runs/{run_id}/{word}"
                connection.request("POST", path, json.dumps({"token": token}), headers)
                return connection.getresponse().status
            except (OSError, http.client.HTTPException):
                return 0
