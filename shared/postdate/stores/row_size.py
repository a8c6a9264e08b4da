"""The size of a row, as DynamoDB bills it."""

import json
from typing import Any

from postdate.stores.attributes import AttributeMap

# DynamoDB bills one write unit for each KB of a row that is begun.
ROW_BYTES_BILLED_ONCE = 1024
# Room for the lines that a usual life adds to a new row.
HISTORY_RESERVE_BYTES = 240


def size(attributes: AttributeMap) -> int:
    """The bytes that DynamoDB bills for these attributes, by the rules of its documentation."""
    return sum(len(name.encode()) + _value_size(value) for name, value in attributes.items())


def _value_size(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            # Two digits take a byte, and the number itself one more.
            return (len(content.strip("-").replace(".", "").strip("0")) + 1) // 2 + 1
        case "L":
            return 3 + sum(1 + _value_size(item) for item in content)
        case _:
            return len(json.dumps(content))
