"""Links from an answer 201 to the operations on the new resource, so that a program finds their ids in the answer."""

import re
from collections.abc import Mapping
from typing import Any, Final

from functions.api.operation import Operation
from functions.api.reference.operations import OPERATIONS

# By the answer's schema: the parameters of a path, and the field of the answer that fills each.
_IDS: Final[Mapping[str, Mapping[str, str]]] = {
    "Task": {"task_id": "task_id"},
    "Payment": {"payment_id": "payment_id"},
    "Account": {"account_id": "account_id"},
    "Run": {"task_id": "task_id", "run_id": "run_id"},
    "Job": {"job_id": "jobId"},
    "NewKey": {"key_id": "key_id"},
    "NewTenant": {"tenant_id": "tenant_id"},
}
_PARAMETER: Final = re.compile(r"\{([a-z_]+)\}")


def of(operation: Operation) -> dict[str, Any]:
    """The links by the name of the operation they lead to. Empty unless the operation makes something."""
    ids = _IDS.get(next(iter(operation.answers), ""), {}) if operation.status == 201 else {}
    return {
        other.name: {
            "operationId": other.name,
            "parameters": {name: f"$response.body#/{ids[name]}" for name in names},
        }
        for other in OPERATIONS
        if (names := _PARAMETER.findall(other.path)) and ids.keys() >= set(names)
    }
