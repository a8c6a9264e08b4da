"""Mistakes about events of owners and switches, the bus, the archive of payments, and the erasure of a tenant."""

from typing import Final

from tests.simulation.mistakes.bug import API, RECORD, bug

_RETAIN: Final = "functions.archive.retain:Retainer"
_ERASE: Final = "functions.erase.erase:Eraser"
_ERASURE: Final = "postdate.domain.erasing:Erasure"

BUGS: Final = (
    bug(
        "the rotation of a secret is no event",
        "functions.record.tenants:event_of",
        "return own + rotated",
        "return own",
        mix="owned",
    ),
    bug(
        "an event of an owner has the number of the one before",
        "functions.record.noted:events_of",
        "start=number - len(notes) + 1",
        "start=max(1, number - len(notes))",
        mix="owned",
    ),
    bug(
        "a turned switch has the number of the turn before",
        "functions.record.switches:event_of",
        'sequence=int(row["version"]["N"])',
        'sequence=max(1, int(row["version"]["N"]) - 1)',
        mix="owned",
    ),
    bug(
        "the switch of a tenant is told to the service",
        "functions.record.switches:_owner",
        "return name.removeprefix(TENANT) if name.startswith(TENANT) else SERVICE",
        "return SERVICE",
        mix="owned",
    ),
    bug(
        "events that the bus refused count as published",
        "functions.record.bus:Bus.publish",
        "if refused:",
        "if False:",
        mix="owned",
    ),
    bug(
        "the bus is told the instant of a repeated recording",
        f"{RECORD}:Recorder._as_recorded",
        "if event.id in there]",
        "if False]",
        mix="owned",
    ),
    bug(
        "a payment leaves the table without a line in the archive",
        f"{_RETAIN}._archived",
        "objects = self._stored(slot, lines)",
        "objects = 0",
        mix="retained",
    ),
    bug(
        "an archived payment leaves the table at once",
        "postdate.domain.retention:leaves_at",
        "+ kept",
        "+ COPIED_AFTER",
        mix="retained",
    ),
    bug(
        "the key of an archived payment counts as free",
        f"{API}.payments.register:PaymentRegistrar._stored",
        "archived = {id: self.archived.find(tenant, id) for id in ids if id not in found}",
        "archived = {}",
        mix="retained",
    ),
    bug(
        "a renamed payment keeps its text",
        f"{_ERASURE}.payment",
        "description=None",
        "description=given.description",
        mix="erased",
    ),
    bug(
        "an erasure does not wait for the streams",
        f"{_ERASE}._waited",
        "erasure.until or now + getattr(self.waits, erasure.name)",
        "now",
        mix="erased",
    ),
    bug(
        "a payment that waits is renamed with its hold",
        f"{_ERASE}._cancelled",
        "self._post([posting for posting in found if posting is not None])",
        "self._post([])",
        mix="erased",
    ),
    bug(
        "a movement keeps the name of its payer",
        f"{_ERASURE}.movement",
        "payer=self._side(given.payer)",
        "payer=given.payer",
        mix="erased",
    ),
    bug(
        "the row of an erased tenant keeps a name",
        "postdate.stores.erasures:DynamoErasures.finish",
        '"suspended_because": _BECAUSE',
        '"suspended_because": erasure.of',
        mix="erased",
    ),
)
