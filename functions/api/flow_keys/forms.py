"""The form about flow keys."""

from typing import Annotated

from pydantic import Field, model_validator

from functions.api.forms import Form
from postdate.domain.flow import PARALLELISM_MAX


class FlowKeyForm(Form):
    """Fields that are left out stay as they are; `null` takes a pinned value away."""

    rate: Annotated[int, Field(ge=1, le=10_000)] | None = None
    period_seconds: int = Field(1, ge=1, le=86_400)
    parallelism: Annotated[int, Field(ge=1, le=PARALLELISM_MAX)] | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "FlowKeyForm":
        if not self.model_fields_set:
            raise ValueError("one of rate and parallelism is needed")
        if "period_seconds" in self.model_fields_set and self.rate is None:
            raise ValueError("period_seconds needs a rate")
        return self
