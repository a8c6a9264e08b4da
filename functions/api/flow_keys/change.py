"""Changes what a tenant has set of a flow key: one conditional write, decided again if another change came first."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from functions.api.flow_keys.forms import FlowKeyForm
from postdate.domain import flow_key as rules
from postdate.domain.errors import Conflict, NotFound, VersionMismatch
from postdate.domain.flow_key import FlowKey, Used
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow

_TRIES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowKeyChanger:
    flow: Flow
    clock: Clock

    def used(self, tenant: str, key: str) -> Used:
        """Raises NotFound for a key that was never set and not used in the last days."""
        found = self.flow.used(tenant, [key])[key]
        if not found.exists:
            raise NotFound("there is no such flow key")
        return found

    def pin(self, tenant: str, key: str, form: FlowKeyForm, *, version: int | None) -> FlowKey:
        """A key may be set before its first task."""
        given = form.model_fields_set

        def decided(before: FlowKey) -> FlowKey:
            named = "rate" in given
            return rules.pinned(
                before,
                rate=form.rate if named else before.rate,
                period_seconds=form.period_seconds if named else before.period_seconds,
                parallelism=form.parallelism if "parallelism" in given else before.parallelism,
            )

        return self._changed(tenant, key, decided, version=version)

    def pause(self, tenant: str, key: str) -> FlowKey:
        """Workers know of it within two seconds. Runs that have begun go on."""
        return self._changed(tenant, key, partial(rules.paused, now=self.clock.now()))

    def resume(self, tenant: str, key: str) -> FlowKey:
        return self._changed(tenant, key, rules.resumed)

    def _changed(
        self, tenant: str, key: str, decided: Callable[[FlowKey], FlowKey], *, version: int | None = None
    ) -> FlowKey:
        """Writes the decided setting, decided again if another change came first. A setting that is the same writes
        nothing."""
        for _ in range(_TRIES):
            before = self.flow.key((tenant, key))
            after = decided(before)
            if after == before:
                return before
            if version is not None and version != before.version:
                raise VersionMismatch(f"the flow key has version {before.version}")
            if self.flow.change_key((tenant, key), before, after):
                return after
        raise Conflict
