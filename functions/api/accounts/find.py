"""An account by the name that a caller gives it."""

from pydantic import TypeAdapter, ValidationError

from functions.api.forms import AccountId
from functions.api.refusals import unknown
from postdate.domain.account import Account
from postdate.stores.ledger import Ledger

_NAME = TypeAdapter[str](AccountId)


def find(ledger: Ledger, tenant: str, id: str) -> Account:
    """Returns the account, or raises NotFound. A text that cannot be a name causes no request to a table."""
    try:
        account = ledger.account(tenant, _NAME.validate_python(id))
    except ValidationError:
        account = None
    if account is None:
        raise unknown(id[:64])
    return account
