"""The bodies of requests about tenants and their signing secrets."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from functions.api import patterns
from functions.api.forms import Form
from functions.api.tasks.targets import TargetForm
from functions.api.texts import Seen
from postdate.domain.erasing import PREFIX, is_erased
from postdate.domain.spread import SPREAD_SECONDS_MAX
from postdate.runtime.metric import STANDARD

REGISTERED_PER_SECOND_MAX = 100_000
RUNS_IN_FLIGHT_MAX = 100_000
OVERLAP_SECONDS_MAX = 30 * 24 * 3600
# The forms' lists, by the kinds of destination whose addresses have to be on one.
LISTS = {"queues": "sqs", "topics": "sns", "buses": "eventbridge"}

Addresses = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=512, pattern=patterns.ADDRESS)]],
    Field(max_length=100),
]
TierName = Literal["standard", "gold"]


class QuotasForm(Form):
    registered_per_second: Annotated[int, Field(ge=1, le=REGISTERED_PER_SECOND_MAX)] | None = None
    runs_in_flight: Annotated[int, Field(ge=1, le=RUNS_IN_FLIGHT_MAX)] | None = None


class TenantForm(Form):
    tenant_id: Annotated[str, Field(pattern=patterns.TENANT_ID)]
    tier: TierName = STANDARD
    queues: Addresses = Field([])
    topics: Addresses = Field([])
    buses: Addresses = Field([])
    quotas: QuotasForm = QuotasForm()
    default_target: TargetForm | None = None
    spread_seconds: int = Field(0, ge=0, le=SPREAD_SECONDS_MAX)

    @field_validator("tenant_id")
    @classmethod
    def _is_free(cls, id: str) -> str:
        if is_erased(id):
            raise ValueError(f"begins with {PREFIX}, which only erased tenants do")
        return id


class TenantChangeForm(Form):
    """At least one field is needed. A list replaces the whole list. `null` for `default_target` removes it; for all
    other fields `null` means unchanged."""

    tier: TierName | None = None
    queues: Addresses | None = None
    topics: Addresses | None = None
    buses: Addresses | None = None
    quotas: QuotasForm | None = None
    default_target: TargetForm | None = None
    spread_seconds: int | None = Field(None, ge=0, le=SPREAD_SECONDS_MAX)

    @model_validator(mode="after")
    def _changes_something(self) -> "TenantChangeForm":
        if (
            not any(getattr(self, name) is not None for name in type(self).model_fields)
            and not self.removes_target
        ):
            raise ValueError("at least one field is needed")
        return self

    @property
    def removes_target(self) -> bool:
        return "default_target" in self.model_fields_set and self.default_target is None


class SuspendForm(Form):
    pending: Literal["wait", "run"]
    reason: Seen = Field("suspended by an operator", min_length=1, max_length=500)


class EraseForm(Form):
    confirm: Annotated[str, Field(pattern=patterns.TENANT_ID)]
    reason: Seen = Field(min_length=1, max_length=500)


class SecretRotationForm(Form):
    overlap_seconds: int = Field(24 * 3600, ge=0, le=OVERLAP_SECONDS_MAX)
