"""Client of Postdate: payments and tasks at a later instant. The standard library is all that it needs."""

from postdate_client import answers, forms, queries, webhooks
from postdate_client.async_client import AsyncClient
from postdate_client.client import Client
from postdate_client.errors import (
    ApiError,
    Conflict,
    ConnectionFailed,
    DeadlineExceeded,
    Forbidden,
    InsufficientFunds,
    InvalidState,
    NotFound,
    PostdateError,
    RateLimited,
    Unauthenticated,
    Unavailable,
    ValidationFailed,
)
from postdate_client.events import Followed
from postdate_client.retry import Retry

__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "DeadlineExceeded",
    "Followed",
    "Forbidden",
    "InsufficientFunds",
    "InvalidState",
    "NotFound",
    "PostdateError",
    "RateLimited",
    "Retry",
    "Unauthenticated",
    "Unavailable",
    "ValidationFailed",
    "answers",
    "forms",
    "queries",
    "webhooks",
]
