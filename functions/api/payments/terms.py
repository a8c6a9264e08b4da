"""The terms of a payment: the fields that the owner gives, in requests and in answers.

A new term is written here, in `postdate.domain.payment.Terms` and in `postdate.stores.payment_row`.
"""

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator
from typing_extensions import TypedDict

from functions.api.answers import words
from functions.api.forms import AccountId, Form
from functions.api.texts import METADATA_PAIRS_MAX, Description, Metadata, pairs
from postdate.domain.account import AMOUNT_CAP
from postdate.domain.payment import Funding, Terms

# An amount above the maximum has the error limit_exceeded, so the field has no `le`.
Amount = Annotated[int, Field(ge=1, json_schema_extra={"maximum": AMOUNT_CAP})]


class TermsForm(Form):
    """The terms of a new payment."""

    from_account_id: AccountId
    to_account_id: AccountId
    amount: Amount
    description: Description | None = None
    funding: Funding = Funding.RESERVE
    metadata: Metadata = Field({}, max_length=METADATA_PAIRS_MAX)

    @field_validator("to_account_id")
    @classmethod
    def _is_somebody_else(cls, payee: str, info: ValidationInfo) -> str:
        if payee == info.data.get("from_account_id"):
            raise ValueError("is the account that pays")
        return payee


class TermsChangeForm(Form):
    """The terms that a change may set. For `description`, null is a value of its own: no text."""

    amount: Amount | None = None
    description: Description | None = None
    metadata: Metadata | None = Field(None, max_length=METADATA_PAIRS_MAX)


class TermsAnswer(TypedDict):
    from_account_id: str
    to_account_id: str
    amount: int
    funding: Annotated[str, words(Funding)]
    description: str | None
    metadata: dict[str, str]


def terms_of(form: TermsForm) -> Terms:
    return Terms(
        payer=form.from_account_id,
        payee=form.to_account_id,
        amount=form.amount,
        funding=form.funding,
        description=form.description,
        metadata=pairs(form.metadata),
    )


def changes_of(form: TermsChangeForm) -> dict[str, Any]:
    """The terms that change and touch no money, by their names."""
    described = {"description": form.description} if "description" in form.model_fields_set else {}
    return described if form.metadata is None else {**described, "metadata": pairs(form.metadata)}


def answer_of(terms: Terms) -> TermsAnswer:
    return {
        "from_account_id": terms.payer,
        "to_account_id": terms.payee,
        "amount": terms.amount,
        "funding": terms.funding.value,
        "description": terms.description,
        "metadata": dict(terms.metadata),
    }
