"""An alarm as data: CDK makes it, the evaluator runs it, the runbook and the dashboards name it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

RUNBOOK: Final = "docs/runbook.md"
PAGES_AFTER: Final = 4 * 3600
# What is known only after a deployment.
API_ID: Final = "${ApiId}"
PARTITION: Final = "${Partition}"
REGION: Final = "${Region}"
ACCOUNT: Final = "${Account}"


class Severity(Enum):
    """A PAGE wakes a person, a TICKET waits for the morning, a PART only feeds a composite alarm."""

    PAGE = "page"
    TICKET = "ticket"
    PART = "part"


class Missing(StrEnum):
    """CloudWatch's treatments of a period without data."""

    MISSING = "missing"
    IGNORE = "ignore"
    BREACHING = "breaching"
    NOT_BREACHING = "notBreaching"


class Comparison(StrEnum):
    ABOVE = "GreaterThanThreshold"
    BELOW = "LessThanThreshold"


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """A metric under one set of dimensions, and the statistic that makes one value of a period's samples."""

    namespace: str
    name: str
    statistic: str
    dimensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """Fires when `datapoints` of the last `periods` values are beyond `threshold`. With several series, `expression`
    computes the value from their names. `meaning` is the alarm's description on AWS. `entry` names an entry of the
    runbook that several alarms share. A ticket that stays open for `pages_after` seconds becomes a page."""

    name: str
    meaning: str
    severity: Severity
    series: Mapping[str, Series]
    threshold: float
    comparison: Comparison = Comparison.ABOVE
    expression: str = ""
    entry: str = ""
    period: int = 60
    datapoints: int = 1
    periods: int = 1
    missing: Missing = Missing.NOT_BREACHING
    pages_after: int = PAGES_AFTER

    @property
    def runbook(self) -> str:
        return self.entry or self.name

    @property
    def fires_within(self) -> int:
        """Seconds from the begin of a steady fault to the alarm, without CloudWatch's own delay."""
        return (self.datapoints + 1) * self.period


@dataclass(frozen=True, kw_only=True, slots=True)
class Composite:
    """Fires while `rule` holds. A rule is made of alarms' names, `AND`, `OR`, `NOT` and parentheses."""

    name: str
    meaning: str
    severity: Severity
    rule: str
    parts: tuple[str, ...]
    entry: str = ""

    @property
    def runbook(self) -> str:
        return self.entry or self.name


def described(row: Alarm | Composite) -> str:
    """The description of an alarm on AWS. The overview reads its meaning and its entry of the runbook from it."""
    return f"{row.meaning} Runbook: {RUNBOOK}#{row.runbook}"
