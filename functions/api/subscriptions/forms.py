"""The bodies of requests about subscriptions."""

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from functions.api.forms import AccountId, Form, Instant
from functions.api.tasks.targets import TargetForm
from functions.api.texts import METADATA_PAIRS_MAX, Description, Metadata, Seen, pairs
from postdate.domain.event_types import is_wanted
from postdate.domain.subscription import TYPES_MAX, Filter

OVERLAP_SECONDS_MAX = 30 * 24 * 3600


def _valid_type(text: str) -> str:
    if not is_wanted(text):
        raise ValueError(
            "must be a type of events such as payment.completed, all types of a kind such as payment.*, or *"
        )
    return text


Type = Annotated[str, Field(max_length=60), AfterValidator(_valid_type)]
Types = Annotated[list[Type], Field(min_length=1, max_length=TYPES_MAX)]


class EventFilterForm(Form):
    """An event has to fit every field that is given."""

    account_id: AccountId | None = None
    tag: Annotated[Seen, Field(min_length=1, max_length=200)] | None = None
    metadata: Metadata = Field({}, max_length=METADATA_PAIRS_MAX)

    def filter(self) -> Filter:
        return Filter(account_id=self.account_id, tag=self.tag, metadata=pairs(self.metadata))


class SubscriptionForm(Form):
    target: TargetForm
    types: Types
    filter: EventFilterForm = EventFilterForm()
    ordered: bool = True
    description: Description | None = None


class SubscriptionChangeForm(Form):
    """At least one field is needed. A filter replaces the whole filter. `null` for `description` removes it; for all
    other fields `null` means unchanged."""

    target: TargetForm | None = None
    types: Types | None = None
    filter: EventFilterForm | None = None
    ordered: bool | None = None
    description: Description | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "SubscriptionChangeForm":
        if not any(getattr(self, name) is not None for name in self.model_fields_set) and (
            "description" not in self.model_fields_set
        ):
            raise ValueError("at least one field is needed")
        return self


class ReplayForm(Form):
    """Events that were recorded from `since` on, before `until`."""

    since: Instant
    until: Instant | None = None
    types: Types | None = None
    only_failed: bool = False


class SubscriptionRotationForm(Form):
    overlap_seconds: int = Field(24 * 3600, ge=0, le=OVERLAP_SECONDS_MAX)
