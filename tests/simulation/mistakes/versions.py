"""Mistakes about rows and messages of newer code, and about unreadable messages."""

from typing import Final

from tests.simulation.mistakes.bug import ACTIONS, API, CHAIN, ROWS, STATEMENTS, bug

BUGS: Final = (
    bug(
        "a field that newer code has added makes another request",
        f"{API}.forms:_counting",
        "exclude_defaults=True",
        "exclude_defaults=False",
        mix="deployed",
    ),
    bug(
        "a message with an unknown field is refused",
        "postdate.runtime.queue:received",
        'if body["form"] != _FORM or',
        'if body["form"] != _FORM or body.keys() - {"form", "tenant", "via", "dues", "seen"} or',
    ),
    bug(
        "a row that only newer code can read stops other rows",
        f"{ROWS}:readable",
        "except Exception as error:",
        "except KeyError as error:",
        mix="deployed",
    ),
    bug(
        "a task that only newer code can read counts as gone",
        f"{CHAIN}:RunChain._planned",
        "if run.task_id not in found.unreadable",
        "if True",
        mix="rolled back",
    ),
    bug(
        "a change of a payment writes the row anew",
        f"{ACTIONS}:_update",
        "    changed = [",
        """    return {
        "Put": {
            "TableName": table,
            "Item": after,
            "ConditionExpression": "version = :before",
            "ExpressionAttributeValues": {":before": before["version"]},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }
    changed = [""",
    ),
    bug(
        "a field of newer code hides the writer's own change",
        f"{STATEMENTS}:_is_made",
        "and all(",
        "and 'later' not in stored and all(",
        mix="deployed",
    ),
    bug(
        "an unreadable message is dropped",
        "postdate.runtime.records:read",
        'unreadable.append(record["messageId"])',
        "pass",
    ),
    bug(
        "an unreadable message stops the others of its batch",
        "postdate.runtime.records:read",
        "except ValueError:",
        "except KeyError:",
    ),
)
