"""Cases about DynamoDB: statements, refusals, unfinished reads and rights."""

import time
from typing import Any, Final

from smoke.bed import Bed, check, code_of

_ROWS: Final = 45
_KILOBYTES: Final = 390
_LOOKS: Final = 60
_IN_TRANSACTION: Final = {
    "ContextKeyName": "dynamodb:EnclosingOperation",
    "ContextKeyType": "string",
    "ContextKeyValues": ["TransactWriteItems"],
}


def mixed_statements(bed: Bed) -> str:
    """A batch takes inserts and updates together, and refuses reads beside writes as a whole."""
    bed.put(bed.row("known"))
    insert = _statement(bed, "INSERT INTO {} VALUE {{'slot': 'smoke', 'id': 'new'}}")
    update = _statement(bed, "UPDATE {} SET told='yes' WHERE slot='smoke' AND id='known'")
    read = _statement(bed, "SELECT id FROM {} WHERE slot='smoke' AND id='known'")
    dynamodb = bed.client("dynamodb")
    answers = dynamodb.batch_execute_statement(Statements=[insert, update])["Responses"]
    check(not any("Error" in each for each in answers), f"a batch of two writes was answered {answers}")
    code = code_of(lambda: dynamodb.batch_execute_statement(Statements=[update, read]))
    check(code == "ValidationException", f"a read beside a write was answered {code or 'with success'}")
    return "writes go together; a read beside a write is refused"


def refusal_and_its_row(bed: Bed) -> str:
    """A statement whose condition does not hold is refused alone. Whether the refusal has the row is recorded only."""
    bed.put(bed.row("refused", told="first"), bed.row("taken", told="first"))
    statements = [
        _statement(bed, text) | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        for text in (
            "UPDATE {} SET told='second' WHERE slot='smoke' AND id='refused' AND told='other'",
            "UPDATE {} SET told='second' WHERE slot='smoke' AND id='taken' AND told='first'",
        )
    ]
    first, second = bed.client("dynamodb").batch_execute_statement(Statements=statements)["Responses"]
    code = first.get("Error", {}).get("Code")
    check(code == "ConditionalCheckFailed", f"the refused statement was answered {first}")
    check("Error" not in second, f"the statement beside it was answered {second}")
    return f"refused {'with' if first['Error'].get('Item') else 'without'} its row"


def insert_of_a_row_that_exists(bed: Bed) -> str:
    """A transaction of statements cancels, with one of the two codes that Postdate takes for `row exists`."""
    bed.put(bed.row("twice"))
    insert = _statement(bed, "INSERT INTO {} VALUE {{'slot': 'smoke', 'id': 'twice'}}")
    dynamodb = bed.client("dynamodb")
    try:
        dynamodb.execute_transaction(TransactStatements=[insert])
    except dynamodb.exceptions.TransactionCanceledException as error:
        (reason,) = error.response["CancellationReasons"]
        duplicate = reason.get("Message", "").startswith("Duplicate primary key exists in table")
        code = reason["Code"].removesuffix("Exception")
        known = code == "DuplicateItem" or (code == "ValidationError" and duplicate)
        check(known, f"the reason was {reason}")
        return f"reason {reason['Code']}"
    check(False, "the second row was accepted")
    return ""


def unprocessed_keys(bed: Bed) -> str:
    """A read of more than 16 MB ends unfinished, and further reads get the rest."""
    ids = [f"large-{number:02d}" for number in range(_ROWS)]
    bed.put(*(bed.row(id, text="x" * 1024 * _KILOBYTES) for id in ids))
    keys: list[dict[str, Any]] = [bed.row(id) for id in ids]
    found, requests = 0, 0
    while keys:
        check(requests < _LOOKS, f"{len(keys)} of {_ROWS} rows are unread after {requests} requests")
        answer = bed.client("dynamodb").batch_get_item(RequestItems={bed.table: {"Keys": keys}})
        found, requests = found + len(answer["Responses"].get(bed.table, ())), requests + 1
        keys = answer["UnprocessedKeys"].get(bed.table, {}).get("Keys", [])
        time.sleep(0.05)
    check(found == _ROWS, f"{found} of {_ROWS} rows were read")
    check(requests > 1, f"{_ROWS * _KILOBYTES} kB came in one answer")
    return f"{_ROWS} rows in {requests} requests"


def money_outside_transactions(bed: Bed) -> str:
    """The roles that move money may write `payments` in transactions only, and `run_tasks` not at all."""
    iam, functions = bed.client("iam"), bed.client("lambda")
    table = bed.environment.table("payments")
    payments = bed.client("dynamodb").describe_table(TableName=table)["Table"]["TableArn"]
    for function in ("api", "settle", "run_tasks"):
        described = functions.get_function_configuration(FunctionName=bed.environment.named(function))
        for context, expected in (([], False), ([_IN_TRANSACTION], function != "run_tasks")):
            answer = iam.simulate_principal_policy(
                PolicySourceArn=described["Role"],
                ActionNames=["dynamodb:UpdateItem"],
                ResourceArns=[payments],
                ContextEntries=context,
            )
            (decided,) = answer["EvaluationResults"]
            allowed = decided["EvalDecision"] == "allowed"
            where = "in a transaction" if context else "alone"
            check(allowed == expected, f"{function} may {'' if allowed else 'not '}update a payment {where}")
    return "denied alone, allowed in transactions"


def _statement(bed: Bed, text: str) -> dict[str, Any]:
    """`text` with the scratch table's name in its braces."""
    return {"Statement": text.format(f'"{bed.table}"')}
