"""Bodies of requests about reconciliations."""

from typing import Annotated

from pydantic import Field

from functions.api.forms import Form
from functions.api.texts import Seen


class ApprovalForm(Form):
    """Without `subject_ids` all proposals are approved, or all of the `tenant`."""

    reason: Seen = Field(min_length=1, max_length=500)
    tenant: Annotated[str, Field(max_length=100)] | None = None
    subject_ids: (
        Annotated[list[Annotated[str, Field(max_length=100)]], Field(min_length=1, max_length=100)] | None
    ) = None
