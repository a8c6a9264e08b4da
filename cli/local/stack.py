"""`stack.json`: what a running local stack is to its users, its scripts and its tests."""

import json
import os
from dataclasses import asdict, dataclass

from cli.failure import Failure
from cli.local.place import Place


@dataclass(frozen=True, kw_only=True, slots=True)
class Keys:
    """`api_key` has every scope of the demo tenant but administration, `other_tenant_key` those of another tenant.

    `operator_key` belongs to no tenant and has every scope. `internal_token` opens the internal routes and nothing
    else.
    """

    api_key: str
    admin_key: str
    operator_key: str
    other_tenant_key: str
    internal_token: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack(Keys):
    """`signing_secret` is what the demo tenant's webhooks are signed with. `destinations` are what its tasks may go to,
    by kind; `destination_queue_url` is one of them."""

    api_url: str
    console_url: str
    docs_url: str
    endpoint_url: str
    region: str
    signing_secret: str
    destination_queue_url: str
    destinations: dict[str, str]
    payloads_bucket: str
    tables: dict[str, str]
    queues: dict[str, str]
    pid: int

    def save(self, place: Place) -> None:
        """Writes the file. It holds keys, so only its owner may read it. A reader sees the whole file or none."""
        unfinished = place.stack_file.with_suffix(".new")
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(asdict(self), file, indent=2)
        unfinished.replace(place.stack_file)


def saved(place: Place) -> Stack | None:
    if not place.stack_file.exists():
        return None
    try:
        return Stack(**json.loads(place.stack_file.read_text()))
    except (TypeError, ValueError):
        raise Failure(
            f"{place.stack_file} is of another version: `{place.stops_it}`, then `{place.starts_it}`."
        ) from None
