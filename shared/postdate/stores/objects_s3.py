"""Objects in S3, read with no more rights than their tenant has: the role that reads them is assumed for each tenant
under a policy that leaves of its rights what lies under the tenant's prefix.

A client and its credentials are kept for most of the hour that they are good for. Without the right to list the bucket,
which would show all tenants' names, S3 does not tell what is missing from what may not be read.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import timedelta
from threading import Lock
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable
from postdate.domain.payload_ref import PAYLOAD_BYTES_MAX
from postdate.runtime.clock import Clock
from postdate.stores.objects import MISSING, TOO_LARGE, Found, UnreadableObject

_HOUR: Final = timedelta(hours=1)
# Credentials are good for an hour. A read that begins with them must end within it.
_KEPT: Final = timedelta(minutes=50)
_CLIENTS_MAX: Final = 200
_CODE: Final = re.compile(r"[A-Za-z]{1,60}")
_FORBIDDEN: Final = UnreadableObject(why="the payload is missing, or may not be read")
_SILENT: Final = UnreadableObject(why="S3 did not answer")


class S3Objects:
    """`sts` makes the client that assumes `role_arn`, `s3` one that has the credentials it is given: neither is made
    before it is needed. Used by several threads at once."""

    def __init__(
        self,
        *,
        bucket: str,
        role_arn: str,
        sts: Callable[[], Any],
        s3: Callable[[Mapping[str, str]], Any],
        clock: Clock,
    ) -> None:
        self._bucket = bucket
        self._role_arn = role_arn
        self._sts = sts
        self._s3 = s3
        self._clock = clock
        self._clients: OrderedDict[str, tuple[Any, Any]] = OrderedDict()
        self._turn = Lock()

    def read(self, tenant: str, name: str) -> Found:
        try:
            client = self._client(tenant)
        except (ClientError, BotoCoreError, Unavailable):
            return UnreadableObject(why="the tenant's prefix could not be opened")
        try:
            answer = client.get_object(Bucket=self._bucket, Key=name)
            with answer["Body"] as body:
                return TOO_LARGE if answer["ContentLength"] > PAYLOAD_BYTES_MAX else bytes(body.read())
        except ClientError as error:
            return _unreadable(error.response.get("Error", {}).get("Code", ""))
        except (BotoCoreError, Unavailable):
            return _SILENT

    def _client(self, tenant: str) -> Any:
        """Returns the client of a tenant. One thread makes it while the others wait."""
        with self._turn:
            now = self._clock.now()
            kept = self._clients.get(tenant)
            if kept is not None and now < kept[1]:
                return kept[0]
            client = self._s3(self._credentials(tenant))
            self._clients[tenant] = (client, now + _KEPT)
            self._clients.move_to_end(tenant)
            if len(self._clients) > _CLIENTS_MAX:
                self._clients.popitem(last=False)
            return client

    def _credentials(self, tenant: str) -> Mapping[str, str]:
        answer = self._sts().assume_role(
            RoleArn=self._role_arn,
            # STS takes 64 characters.
            RoleSessionName=f"tenant-{tenant}"[:64],
            DurationSeconds=int(_HOUR.total_seconds()),
            Policy=self._policy(tenant),
        )
        credentials: Mapping[str, str] = answer["Credentials"]
        return credentials

    def _policy(self, tenant: str) -> str:
        partition = self._role_arn.split(":")[1]
        statement = {
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": f"arn:{partition}:s3:::{self._bucket}/{tenant}/*",
        }
        return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, separators=(",", ":"))


def _unreadable(code: str) -> UnreadableObject:
    if code in ("NoSuchKey", "404"):
        return MISSING
    if code in ("AccessDenied", "403"):
        return _FORBIDDEN
    return UnreadableObject(why=f"S3 {code}" if _CODE.fullmatch(code) else "S3 did not return the payload")
