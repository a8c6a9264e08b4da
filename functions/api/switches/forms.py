"""The form about switches."""

from typing import Annotated

from pydantic import Field

from functions.api.forms import Form
from functions.api.texts import SEEN


class SwitchForm(Form):
    on: Annotated[bool, Field(description="True if it is to work normally.")]
    reason: Annotated[str, Field(min_length=1, max_length=500, description="Kept in the history."), SEEN]
