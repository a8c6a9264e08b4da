"""A foreign program changes a balance: the payment waits, the audit contradicts, a person sets the account right."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from chaos.game import work
from chaos.game.drill import Drill, Line, fault, put_right, seen, told
from chaos.game.ground import TENANT, Ground, until

_AMOUNT: Final = 100
# An account is set to its journal when it has not changed for ten minutes: nobody waits for them here.
_QUIET: Final = timedelta(minutes=15)


def damaged(ground: Ground, draws: Random) -> Iterator[Line]:
    """A payment is on its way when the hold of its payer disappears."""
    since = datetime.now(UTC)
    payer, payee = (f"{name}-{draws.randrange(1_000_000)}" for name in ("damaged", "waits"))
    with ground.client() as client:
        work.accounts(client, payer, payee, _AMOUNT)
        (id,) = work.payments(client, payer, payee, [work.later(4)])
        ground.aws("dynamodb").update_item(
            TableName=ground.stack.tables["accounts"],
            Key={"account": {"S": f"{TENANT}#{payer}"}},
            UpdateExpression="SET #reserved = :nothing, #updated = :before",
            ExpressionAttributeNames={"#reserved": "reserved", "#updated": "updated"},
            ExpressionAttributeValues={":nothing": {"N": "0"}, ":before": {"N": _milliseconds(_QUIET)}},
        )
        yield fault("what an account holds for a payment taken by a foreign program", 1)
        fires = ground.fires("balance_inconsistency", since=since)
        audit = client.get("/api/v1/audit").expect(200)
        wrong = [check["name"] for check in audit["checks"] if not check["ok"]]
        yield seen(not audit["ok"] and wrong, f"the audit contradicts: {', '.join(wrong)}")
        yield told("balance_inconsistency", fires)
        ground.runbook.run(
            *("balance_inconsistency", ".venv/bin/postdate call adjust"),
            key=ground.on_call,
            variables={"ACCOUNT_ID": payer},
        )
        path = f"{work.PAYMENTS}/{id}"
        well = until(lambda: client.get(path).expect(200)["status"] == "COMPLETED")
        sound = client.get("/api/v1/audit").expect(200)["ok"]
    yield put_right(
        well and sound,
        f"the payment is {'COMPLETED' if well else 'open'}, the audit {'green' if sound else 'red'}",
    )


def _milliseconds(ago: timedelta) -> str:
    return str(int((datetime.now(UTC) - ago).timestamp() * 1000))


DRILL: Final = Drill(name="damaged balance", play=damaged)
