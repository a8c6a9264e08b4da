"""Bodies of requests about operations."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from functions.api.caller import Caller
from functions.api.forms import AccountId, Form, Instant
from functions.api.operations.find import ItemFilter
from functions.api.texts import METADATA_PAIRS_MAX, Metadata, Seen
from postdate.domain import definition, payment, task
from postdate.domain.operation import (
    ACTIONS,
    RATE_DEFAULT,
    RATE_MAX,
    Action,
    Kind,
    OperationRequest,
    StopRule,
)

Id = Annotated[str, Field(min_length=1, max_length=64)]
CANARY_MAX = 100
WITHIN_SECONDS_MAX = 3_600
_OF_TASKS = frozenset({"name", "tag", "destination"})
_OF_PAYMENTS = frozenset({"account", "metadata"})
_FOREIGN = {
    Kind.TASKS: _OF_PAYMENTS,
    Kind.PAYMENTS: _OF_TASKS,
    # A plan has no instant and no error.
    Kind.PLANS: _OF_PAYMENTS | {"failure", "since", "until"},
}
_STATES: dict[Kind, type[StrEnum]] = {
    Kind.TASKS: task.State,
    Kind.PAYMENTS: payment.State,
    Kind.PLANS: definition.State,
}


class StopWhenForm(Form):
    """Both fields are needed."""

    failed_share: float = Field(ge=0.01, le=1)
    within: int = Field(ge=1, le=WITHIN_SECONDS_MAX)


class FilterForm(Form):
    """At least one field is needed."""

    status: Annotated[str, Field(max_length=20)] | None = None
    name: Annotated[str, Field(max_length=200)] | None = None
    tag: Annotated[str, Field(max_length=200)] | None = None
    destination: Annotated[str, Field(min_length=1, max_length=2_048)] | None = None
    failure: Annotated[str, Field(max_length=500)] | None = None
    account_id: AccountId | None = None
    from_: Instant | None = Field(None, alias="from")
    until: Instant | None = None
    metadata: Metadata = Field({}, max_length=METADATA_PAIRS_MAX)

    @model_validator(mode="after")
    def _narrows(self) -> "FilterForm":
        if not self.filter().given:
            raise ValueError("an empty filter would fit every item")
        return self

    def filter(self) -> ItemFilter:
        return ItemFilter(
            status=self.status,
            name=self.name,
            tag=self.tag,
            destination=self.destination,
            failure=self.failure,
            account=self.account_id,
            since=self.from_,
            until=self.until,
            metadata=self.metadata,
        )


class RedriveForm(Form):
    """Exactly one of `ids` and `filter` is needed."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=100)] | None = None
    filter: FilterForm | None = None
    max_per_second: int = Field(RATE_DEFAULT, ge=1, le=RATE_MAX)
    reason: Seen = Field("redrive of dead letters", min_length=1, max_length=500)

    @model_validator(mode="after")
    def _names_items_once(self) -> Self:
        if (self.ids is None) == (self.filter is None):
            raise ValueError("one of ids and filter is needed")
        return self

    def check_filter(self, kind: Kind) -> None:
        """Raises ValueError for a filter that has no meaning for items of this kind."""
        if self.filter is None:
            return
        states = _STATES[kind]
        if self.filter.status is not None and self.filter.status not in states.__members__:
            raise ValueError(f"the status of the filter is one of {', '.join(states)}")
        if wrong := sorted(_FOREIGN[kind] & {name for name, value in self.filter.filter().given}):
            raise ValueError(f"a filter of {kind} has no {', '.join(wrong)}")

    @property
    def items(self) -> list[str] | ItemFilter:
        return self.filter.filter() if self.filter is not None else self.ids or []

    def redrive(self, kind: Kind, caller: Caller) -> OperationRequest:
        return OperationRequest(
            action=Action.REDRIVE,
            kind=kind,
            actor=caller.key_id,
            operates=caller.operates,
            reason=self.reason,
            max_per_second=self.max_per_second,
        )


class OperationForm(RedriveForm):
    """Exactly one of `ids` and `filter` is needed."""

    action: Annotated[Action, Field(strict=False)]
    kind: Annotated[Kind, Field(strict=False)]
    dry_run: bool = True
    reason: Seen = Field(min_length=1, max_length=500)
    canary: int | None = Field(None, ge=1, le=CANARY_MAX)
    stop_when: StopWhenForm | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.action not in ACTIONS[self.kind]:
            actions = ", ".join(sorted(ACTIONS[self.kind]))
            raise ValueError(f"the actions of {self.kind} are {actions}")
        self.check_filter(self.kind)
        return self

    def plan(self, caller: Caller) -> OperationRequest:
        rule = self.stop_when
        return OperationRequest(
            action=self.action,
            kind=self.kind,
            actor=caller.key_id,
            operates=caller.operates,
            reason=self.reason,
            max_per_second=self.max_per_second,
            canary=self.canary,
            stop_when=None
            if rule is None
            else StopRule(failed_share=rule.failed_share, within=timedelta(seconds=rule.within)),
        )
