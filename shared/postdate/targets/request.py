"""A delivery as the bytes of an HTTP request."""

from datetime import datetime
from typing import Final

from postdate.domain.errors import DestinationNotAllowed
from postdate.targets.base import Delivery
from postdate.targets.facts import facts
from postdate.targets.guard import Endpoint
from postdate.targets.headers import check_headers

# A webhook is a payload with a signature over it, so its method is one that has a body.
METHODS: Final = frozenset({"POST", "PUT", "PATCH"})


def request(delivery: Delivery, endpoint: Endpoint, *, at: datetime) -> bytes:
    """Head and body in one piece, so that a small one leaves in one packet.

    Method and headers were checked at registration; they are again, for here a line break would be a second request.
    """
    destination, body = delivery.destination, delivery.body
    if destination.method not in METHODS:
        raise DestinationNotAllowed("the method is not POST, PUT or PATCH")
    if destination.headers:
        check_headers(destination.headers)
    head = [
        f"{destination.method} {endpoint.path} HTTP/1.1",
        f"Host: {endpoint.authority}",
        f"Content-Length: {len(body)}",
        "User-Agent: Postdate/1",
        "Accept-Encoding: identity",
    ]
    head += [f"{name}: {value}" for name, value in (*facts(delivery, body, at=at), *destination.headers)]
    return "\r\n".join((*head, "\r\n")).encode("ascii") + body
