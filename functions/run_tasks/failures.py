"""Classes of failed attempts, for the counts in the logs."""

from typing import Final

from postdate.targets.base import Failed, Untried

_TOO_MANY: Final = 429
_SERVER: Final = 500


def class_of(receipt: Failed | Untried) -> str:
    """One of the names of `metric.ATTEMPTS_FAILED`."""
    match receipt:
        case Untried():
            return "untried"
        case Failed(http_status=int() as status):
            if status >= _SERVER:
                return "server_error"
            return "throttled" if status == _TOO_MANY else "refused"
        case Failed(down=True):
            return "unreachable"
        case Failed(retry=False):
            return "not_allowed"
    return "no_answer"
