"""Hooks that `schemathesis` loads: they put existing accounts and queues where the fuzzer invents names."""

import json
import os
from typing import Any, Final

import schemathesis

# Accounts with money, and a queue that the tenant may call. No description can name them.
PAYER, PAYEE = json.loads(os.environ["FUZZED_ACCOUNTS"])
QUEUE_URL: Final = os.environ["FUZZED_QUEUE_URL"]
# The keys that the fuzzer asks with: without them it would be answered 401 from then on.
KEPT: Final = frozenset(json.loads(os.environ["FUZZED_KEYS_KEPT"]))
# An operator suspends no tenant of the stack and stops nothing: others use it too.
NOBODY: Final = "fuzzed-nobody"


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Replaces invented accounts and queues by existing ones if they are of the right form.

    Also removes line breaks from paths: the local engine finds no route for them and answers 404 in its own words.
    """
    for name, value in (case.path_parameters or {}).items():
        case.path_parameters[name] = str(value).replace("\n", " ").replace("%0A", "%20")
    if case.method.upper() != "GET" and (case.path_parameters or {}).get("key_id") in KEPT:
        case.path_parameters["key_id"] = "0" * 16
    if case.method.upper() != "GET" and "tenant_id" in (case.path_parameters or {}):
        case.path_parameters["tenant_id"] = NOBODY
    if not isinstance(case.body, dict):
        return
    if "switch_name" in (case.path_parameters or {}) and case.body.get("on") is False:
        case.body["on"] = True
    if all(isinstance(case.body.get(name), str) for name in ("from_account_id", "to_account_id")):
        case.body |= {"from_account_id": PAYER, "to_account_id": PAYEE}
    target = case.body.get("target")
    if isinstance(target, dict) and target.get("type") == "sqs":
        name = "queueUrl" if "queueUrl" in target else "queue_url"
        case.body["target"] = {**target, name: QUEUE_URL}
