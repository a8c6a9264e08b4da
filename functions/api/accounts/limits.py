"""The greatest limits that an account may have: those of its environment."""

from postdate.domain.account import Limits
from postdate.domain.errors import LimitExceeded


def refuse_above(limits: Limits, amount_cap: int) -> None:
    if limits.amount_max > amount_cap:
        raise LimitExceeded([("limits.amount_max", f"is at most {amount_cap} in this environment")])
