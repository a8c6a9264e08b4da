"""Rows by their keys with BatchGetItem, which may leave some of them unread.

DynamoDB does that when it throttles, above 16 MB an answer and above 1 MB a partition. The keys that are left are
asked for again after a pause. A deadline and a limit of requests that read nothing end that: the caller may be a
worker's one thread, which must renew its messages.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pynamodb.models import Model

from postdate.domain.errors import Unavailable
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated

if TYPE_CHECKING:
    from botocore.client import BaseClient

ModelT = TypeVar("ModelT", bound=Model)
# BatchGetItem takes 100 keys.
_KEYS_AT_ONCE: Final = 100
_PAUSE_SECONDS: Final = 0.05
_PAUSE_SECONDS_MAX: Final = 0.5
# The requests in a row that may read nothing. They take about a second.
_FRUITLESS_MAX: Final = 6
# An eighth of a lease. A worker makes several such reads between two renewals, which are half a lease apart.
_DEADLINE_SECONDS: Final = 5.0


def models(
    model: type[ModelT],
    keys: Iterable[AttributeMap],
    *,
    attributes: Sequence[str] = (),
    consistent: bool = True,
) -> Iterator[ModelT]:
    """The rows with these keys as models, through the model's own client."""
    # pynamodb's own loop over UnprocessedKeys has neither a pause nor an end.
    connection = model._get_connection()
    found = rows(
        connection.connection.client,
        connection.table_name,
        keys,
        attributes=attributes,
        consistent=consistent,
    )
    return map(model.from_raw_data, found)


def rows(
    client: "BaseClient",
    table: str,
    keys: Iterable[AttributeMap],
    *,
    attributes: Sequence[str] = (),
    consistent: bool = True,
) -> list[AttributeMap]:
    """The rows of these different keys that exist, whole or with these attributes, in any order. `consistent` reads see
    all writes before them, and cost twice the units of others.
    Raises Unavailable if DynamoDB cannot be asked, or leaves keys unread too often or until the deadline."""
    wanted: dict[str, Any] = {"ConsistentRead": consistent}
    if attributes:
        names = {f"#{index}": name for index, name in enumerate(attributes)}
        wanted |= {"ProjectionExpression": ",".join(names), "ExpressionAttributeNames": names}
    asked, found = list(keys), list[AttributeMap]()
    deadline = time.monotonic() + _DEADLINE_SECONDS
    for start in range(0, len(asked), _KEYS_AT_ONCE):
        chunk = {**wanted, "Keys": asked[start : start + _KEYS_AT_ONCE]}
        found += _read_until(deadline, client, table, chunk)
    return found


def _read_until(
    deadline: float, client: "BaseClient", table: str, wanted: dict[str, Any]
) -> list[AttributeMap]:
    """Asks again for the keys that DynamoDB left unread, with growing pauses."""
    found: list[AttributeMap] = []
    fruitless = 0
    while True:
        with translated():
            answer = client.batch_get_item(RequestItems={table: wanted})
        found += answer["Responses"].get(table, ())
        left = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys")
        if not left:
            return found
        fruitless = 0 if len(left) < len(wanted["Keys"]) else fruitless + 1
        pause = _pause(fruitless)
        if fruitless == _FRUITLESS_MAX or time.monotonic() + pause > deadline:
            raise Unavailable(f"{len(left)} keys were left unread")
        time.sleep(pause)
        wanted = {**wanted, "Keys": left}


def _pause(fruitless: int, draw: Callable[[], float] = random.random) -> float:
    """Doubles with each request in a row that read nothing."""
    return min(_PAUSE_SECONDS * 2.0**fruitless, _PAUSE_SECONDS_MAX) * (1 + draw()) / 2
