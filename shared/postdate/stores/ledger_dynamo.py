"""Money in DynamoDB. Everything that changes it is a TransactWriteItems; reads go through pynamodb."""

from typing import Final

from postdate.stores.accounts_dynamo import DynamoAccounts
from postdate.stores.journal_dynamo import DynamoJournal
from postdate.stores.payments_dynamo import DynamoPayments
from postdate.stores.posting_dynamo import DynamoPostings

# Of the client itself: what hangs must not take longer than a function lives, and we try again ourselves.
LEDGER_TRIES: Final = 2


class DynamoLedger(DynamoAccounts, DynamoPayments, DynamoJournal, DynamoPostings):
    """The books, as all functions that read or change money use them."""
