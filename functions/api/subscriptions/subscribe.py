"""Makes, changes, pauses, resumes and ends subscriptions. Each is one conditional write."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from functions.api.caller import Caller
from functions.api.subscriptions.forms import ReplayForm, SubscriptionChangeForm, SubscriptionForm
from functions.api.subscriptions.sending import EventSender
from functions.api.tenants.secret import new_secret
from postdate.domain import instants
from postdate.domain import subscription as rules
from postdate.domain.base32 import encode
from postdate.domain.errors import (
    Conflict,
    InvalidState,
    LimitExceeded,
    NotFound,
    PostdateError,
    VersionMismatch,
)
from postdate.domain.replay import Step
from postdate.domain.subscription import State, Subscription
from postdate.domain.task import Destination, Task
from postdate.runtime.clock import Clock
from postdate.stores.subscriptions import Subscriptions
from postdate.stores.vault import Vault

# Each of them is a delivery of every event that it wants.
LIVE_MAX: Final = 20
READ: Final = "events:read"
_PREFIX: Final = "sub"
_CHARACTERS: Final = 16
_TRIES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Subscriber:
    """Makes, changes and ends subscriptions."""

    subscriptions: Subscriptions
    sender: EventSender
    clock: Clock
    unique: Callable[[], bytes]
    vault: Vault
    # The error for a destination that the tenant may not call; None for one that it may.
    refusal: Callable[[str, Destination], PostdateError | None]

    def make(self, caller: Caller, form: SubscriptionForm) -> tuple[Subscription, str]:
        """A crash after the write leaves a subscription whose secret nobody knows. It is listed and can be deleted.
        A key that may not read events has none sent either. Returns the secret too, which is told only now."""
        caller.needs(READ)
        live = [each for each in self.subscriptions.all(caller.tenant) if each.state is not State.ENDED]
        if len(live) >= LIVE_MAX:
            raise LimitExceeded([("body", f"a tenant has at most {LIVE_MAX} subscriptions")])
        destination = self._allowed(caller.tenant, form.target.destination())
        now = instants.whole(self.clock.now())
        made = Subscription(
            id=f"{_PREFIX}_{encode(int.from_bytes(self.unique()), _CHARACTERS)}",
            tenant=caller.tenant,
            destination=destination,
            types=tuple(dict.fromkeys(form.types)),
            filter=form.filter.filter(),
            ordered=form.ordered,
            description=form.description,
            created_at=now,
            changed_at=now,
            by=caller.actor,
        )
        secret = new_secret()
        made = replace(made, secrets=(self._sealed(made, secret),))
        if not self.subscriptions.add(made):
            raise Conflict
        return made, secret

    def find(self, caller: Caller, id: str) -> Subscription:
        found = self.subscriptions.get(caller.tenant, id) if _is_id(id) else None
        if found is None:
            raise NotFound(f"there is no subscription {id}")
        return found

    def edit(
        self, caller: Caller, id: str, form: SubscriptionChangeForm, *, version: int | None = None
    ) -> Subscription:
        caller.needs(READ)
        given: dict[str, Any] = {
            "destination": form.target and self._allowed(caller.tenant, form.target.destination()),
            "types": form.types and tuple(dict.fromkeys(form.types)),
            "filter": form.filter and form.filter.filter(),
            "ordered": form.ordered,
            "description": form.description,
        }
        fields = {name: value for name, value in given.items() if value is not None}
        if "description" in form.model_fields_set:
            fields["description"] = form.description
        return self._changed(caller, id, lambda known, now: fields, version=version)

    def pause(self, caller: Caller, id: str) -> Subscription:
        return self._changed(
            caller,
            id,
            lambda known, now: {"state": State.PAUSED, "paused_at": known.paused_at or now},
        )

    def resume(self, caller: Caller, id: str) -> Subscription:
        """The events of the pause follow by a replay, which begins after the subscription is told again. A crash in
        between leaves `missed_since`: the next resume begins the same replay."""
        resumed = self._changed(
            caller,
            id,
            lambda known, now: {
                "state": State.ACTIVE,
                "paused_at": None,
                "missed_since": known.missed_since or known.paused_at,
            },
        )
        if resumed.replayed_since is not None:
            self.sender.replay(resumed, since=resumed.replayed_since, why=f"resumed {resumed.version}")
        return resumed

    def replay(self, caller: Caller, id: str, form: ReplayForm) -> Step:
        known = self.find(caller, id)
        if known.state is State.ENDED:
            raise InvalidState(State.ENDED, "the subscription has ended")
        asked = self.unique().hex()
        return self.sender.replay(
            known,
            since=form.since,
            why=asked,
            until=form.until,
            types=tuple(form.types or ()),
            only_failed=form.only_failed,
        )

    def end(self, caller: Caller, id: str, *, version: int | None = None) -> Subscription:
        """Ends a subscription for good. To delete it twice is no error."""
        known = self.find(caller, id)
        if known.state is State.ENDED:
            return known
        return self._changed(
            caller,
            id,
            lambda known, now: {"state": State.ENDED, "reason": "deleted", "paused_at": None},
            version=version,
        )

    def rotate(self, caller: Caller, id: str, *, overlap: timedelta) -> tuple[Subscription, str]:
        secret = new_secret()

        def fields(known: Subscription, now: datetime) -> dict[str, Any]:
            kept = known.secrets[:1] if overlap else ()
            sealed = self._sealed(known, secret)
            return {"secrets": (sealed, *kept), "secrets_until": now + overlap if kept else None}

        return self._changed(caller, id, fields), secret

    def test(self, caller: Caller, id: str) -> Task:
        """Sends an event that stands for no change, past the filter, on the way of every delivery."""
        known = self.find(caller, id)
        if known.state is not State.ACTIVE:
            raise InvalidState(known.state, f"the subscription is {known.state}")
        return self.sender.test(known, self.unique())

    def _allowed(self, tenant: str, destination: Destination) -> Destination:
        """The destination as rows keep it."""
        if refusal := self.refusal(tenant, destination):
            raise refusal
        return self.vault.sealed(tenant, destination)

    def _sealed(self, known: Subscription, secret: str) -> str:
        return self.vault.seal(known.tenant, known.secret_purpose, secret)

    def _changed(
        self,
        caller: Caller,
        id: str,
        fields: Callable[[Subscription, datetime], dict[str, Any]],
        *,
        version: int | None = None,
    ) -> Subscription:
        """A change that changes nothing writes nothing. Raises VersionMismatch if the change is for another
        version."""
        for _ in range(_TRIES):
            known, now = self.find(caller, id), instants.whole(self.clock.now())
            given = fields(known, now)
            if known.state is not State.ENDED and replace(known, **given) == known:
                return known
            if known.state is not State.ENDED and version not in (None, known.version):
                raise VersionMismatch(f"the subscription has version {known.version}")
            after = rules.changed(known, now=now, by=caller.actor, **given)
            if self.subscriptions.change(after):
                return after
        raise Conflict


def _is_id(text: str) -> bool:
    prefix, _, rest = text.partition("_")
    return prefix == _PREFIX and rest.isalnum() and rest.isascii() and len(rest) <= 64
