"""Tenants as the archive knows them: a pseudonym each, and the instant up to which their events are archived."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from functions.archive.archive import newest
from postdate.domain import archiving, instants
from postdate.domain.errors import Unavailable
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.archive import Archive
from postdate.stores.events import Events
from postdate.stores.vault import Vault

# An event is in the feed soon after its row: its record is delivered again for a day.
LISTED_WITHIN: Final = timedelta(days=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """A tenant in the archive: its pseudonym, and the instant up to which recorded events are archived."""

    # The name of the tenant in the archive; empty if the tenant has no key there.
    pseudonym: str
    # Events that were recorded before this instant are archived.
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Owners:
    """Each tenant is looked up once in a run, at its first payment."""

    archive: Archive
    events: Events
    vault: Vault
    clock: Clock
    _known: dict[str, Owner] = field(default_factory=dict)

    def forget(self) -> None:
        self._known.clear()

    def of(self, tenant: str) -> Owner:
        known = self._known.get(tenant)
        if known is None:
            known = self._known[tenant] = self._looked_up(tenant)
        return known

    def seal(self, tenant: str, text: str) -> str:
        return self.vault.seal(archiving.owner_of_key(tenant), archiving.PURPOSE, text)

    def _looked_up(self, tenant: str) -> Owner:
        pseudonym = self._pseudonym(tenant)
        head = newest(self.archive, pseudonym) if pseudonym else None
        last = self.events.pages(tenant, limit=1, newest_first=True)
        # Nothing is archived yet.
        if head is None:
            until = instants.EPOCH
        # All pages are archived. Only events whose page is still to come are missing.
        elif not last or last[0].number <= head.last_page_of(last[0].log):
            until = self.clock.now() - LISTED_WITHIN
        else:
            until = head.manifest.recorded_until - LISTED_WITHIN
        return Owner(pseudonym=pseudonym, until=until)

    def _pseudonym(self, tenant: str) -> str:
        """Empty for a tenant without a key: nothing was archived of it, or it was erased. No key is made here. A key
        that does not open holds up no other tenant."""
        try:
            has_key = self.vault.has_key(archiving.owner_of_key(tenant))
            return archiving.pseudonym(self.seal(tenant, tenant)) if has_key else ""
        except Unavailable:
            logger.exception("a key of the archive does not open", extra={"action": "archive_failed"})
            return ""
