"""Pages of an account's journal, in the order in which it was written.

A page is shown only when nothing can be written before its end any more, so a reader who follows the journal misses
nothing: the account's row notes how far the journal was shown, and a commit that was decided before and comes later
goes behind that. While the note cannot be written, pages end where the journal was shown before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from functions.api import listing
from functions.api.accounts.find import find
from functions.api.forms import instant_of
from functions.api.listing import Span
from postdate.domain import instants
from postdate.domain.errors import Unavailable, ValidationFailed
from postdate.domain.movement import KIND, Movement, place_at
from postdate.stores.ledger import Ledger

_PLACE: Final = re.compile(rf"[0-9]{{13}}{KIND}_[0-9a-z]{{1,64}}")


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalPage:
    """A page of a journal."""

    # The movements, in the order of writing.
    movements: list[Movement]
    # The beginning of the next page; None on the last one.
    cursor: str | None
    # The place behind this page, for a reader who asks again later; None before the first movement.
    follow: str | None


def page(tenant: str, account: str, parameters: Mapping[str, str], ledger: Ledger) -> JournalPage:
    """Returns a page of an account's journal. Raises NotFound for an unknown account, and Unavailable if nothing of the
    page may be shown now."""
    listing.only_known(parameters, "since")
    since = instant_of("since", parameters["since"]) if "since" in parameters else None
    span = Span.of(parameters, "transactions", tenant, account, parameters.get("since"))
    if span.after and not _PLACE.fullmatch(span.after):
        raise ValidationFailed([("cursor", "is not a cursor of this API")])
    known = find(ledger, tenant, account)
    after = span.after or (place_at(instants.milliseconds(since)) if since else "")

    def read() -> list[Movement]:
        return ledger.movements(tenant, known.id, after=after, limit=span.limit + 1)

    found = read()
    if shown := found[: span.limit]:
        last = shown[-1].place
        # A movement that is written later must not get a place before those that this page shows.
        if known.journal_read_to < last:
            try:
                ledger.close_journal(tenant, known.id, last)
            except Unavailable:
                last = known.journal_read_to
                # Only movements up to a place that is closed already may be shown.
                if shown[0].place > last:
                    raise
            else:
                # Movements may have been written between the read and the close.
                found = read()
    else:
        last = ""
    shown = [movement for movement in found[: span.limit] if movement.place <= last]
    goes_on = len(found) > len(shown)
    follow = span.cursor(shown[-1].place) if shown else parameters.get("cursor")
    return JournalPage(movements=shown, cursor=follow if goes_on else None, follow=follow)
