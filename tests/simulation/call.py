"""One call to AWS, and the faults that it can meet."""

from dataclasses import dataclass
from typing import Any, Final

from tests.simulation.engine import TABLES
from tests.simulation.mix import Fault

TRANSACTIONS: Final = frozenset({"TransactWriteItems", "ExecuteTransaction"})
# AWS answers a refusal of these with the row in the way, and may leave it out.
WITH_ROWS: Final = TRANSACTIONS | {"BatchExecuteStatement"}
_PARTS: Final = frozenset(
    {"BatchExecuteStatement", "SendMessageBatch", "ChangeMessageVisibilityBatch", "DeleteMessageBatch"}
)
# So often in a row keys are left unread.
UNREAD: Final = (1, 3, 10, 60)
_WRITES: Final = frozenset({"PutItem", "UpdateItem"})
BEFORE: Final = frozenset({Fault.ERROR, Fault.THROTTLED, Fault.CONFLICT, Fault.IN_PROGRESS})


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    service: str
    operation: str
    asked: dict[str, Any]

    def can_meet(self, fault: Fault) -> bool:
        match fault:
            case Fault.CONFLICT:
                return self.operation in TRANSACTIONS | _WRITES
            case Fault.IN_PROGRESS | Fault.MIXED:
                return self.operation in TRANSACTIONS
            case Fault.PARTIAL:
                return self.operation in _PARTS
            case Fault.UNREAD:
                return self.operation == "BatchGetItem"
            case Fault.ROWLESS:
                return self.operation in WITH_ROWS
            case _:
                return True

    @property
    def moves_money(self) -> bool:
        return any(
            action.get("Update", {}).get("TableName") == "sim-accounts"
            for action in self.asked.get("TransactItems", ())
        )

    @property
    def about(self) -> str:
        match self.operation:
            case "GetItem" | "UpdateItem":
                key = " ".join(str(value) for each in self.asked["Key"].values() for value in each.values())
                return f"{TABLES[self.asked['TableName']]} {key}"
            case "PutItem" | "Query":
                return TABLES[self.asked["TableName"]]
            case _:
                return ""
