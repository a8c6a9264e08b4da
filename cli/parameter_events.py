"""Deployments of parameters, told to the recorder as events of the service.

A command that dies before it tells leaves that to the next one: the recorder knows a deployment that it was told.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from cli.failure import Failure
from cli.parameter_store import Deployment, ParameterStore
from cli.parameters import described

# The newest deployments that each command tells.
TOLD: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Teller:
    """`function` is the name of the recorder, `lambdas` the client of Lambda."""

    store: ParameterStore
    lambdas: Any
    function: str

    def tell(self, *, taken_back_because: str | None = None) -> None:
        """Tells the newest deployments, oldest first. `taken_back_because` is the reason of a deployment that this
        command stopped; AppConfig keeps none. Raises Failure: the deployments are made, and no event may tell them."""
        found = self.store.history(TOLD + 1)
        for place in range(len(found) - 1, -1, -1):
            deployment, earlier = found[place], found[place + 1 :]
            if earlier or deployment.number == 1:
                reason = taken_back_because if place == 0 else None
                self._call(self._told(deployment, earlier, reason))

    def _told(
        self, deployment: Deployment, earlier: list[Deployment], taken_back_because: str | None
    ) -> dict[str, Any]:
        before = next((each.version for each in earlier if each.taken_back_at is None), None)
        author, _, reason = deployment.why.partition(": ")
        began = {"at": deployment.began_at, "by": f"aws:{author}", "reason": reason}
        taken_back = deployment.taken_back_at and {
            "at": deployment.taken_back_at,
            "by": f"aws:{self.store.author if taken_back_because else deployment.taken_back_by}",
            "reason": taken_back_because or deployment.taken_back_by,
        }
        return {
            "action": "config_changed",
            "number": deployment.number,
            "began": began,
            "taken_back": taken_back,
            "before": values({} if before is None else self.store.document(before)),
            "after": values(self.store.document(deployment.version)),
        }

    def _call(self, given: Mapping[str, Any]) -> None:
        try:
            answer = self.lambdas.invoke(FunctionName=self.function, Payload=json.dumps(given).encode())
        except (BotoCoreError, ClientError) as error:
            raise Failure(_UNTOLD.format(error)) from error
        if "FunctionError" in answer:
            raise Failure(_UNTOLD.format(answer["Payload"].read().decode()))


_UNTOLD: Final = (
    "Changes of parameters could not be recorded as events: {}. The next `postdate config show` tries again."
)


def values(document: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters by their names, those that the document leaves out at their defaults."""
    return {name: at(document, name, rules["usual"]) for name, rules in described()}


def at(document: Mapping[str, Any], name: str, usual: Any) -> Any:
    found: Any = document
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            return usual
        found = found[part]
    return found
