"""A run: a world made from a seed, with all faults of its mix first and without faults after that.

First the safety phase: callers call, faults happen, and each write is looked at. Then faults stop, and all that was
accepted has to end by itself within a bound; what waits for a person is brought back by its dead letter.
"""

import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, Final

from functions.api.tasks.checks import places
from functions.sweep import tick
from postdate.domain import following, task
from postdate.domain.sweeping import AUDITED_AFTER
from tests.simulation import (
    boundary,
    chains,
    checkers,
    items_at_rest,
    operations,
    poison,
    queues,
    quotas,
    switched,
    zoned,
)
from tests.simulation.bookkeeping import RESTING
from tests.simulation.bus import Bus
from tests.simulation.call import Call
from tests.simulation.clients import Clients
from tests.simulation.engine import Change
from tests.simulation.furnish import ACCOUNTS, START_US, TENANTS, clock_row, furnish
from tests.simulation.hub import SECOND, Actor, Hub, Stuck
from tests.simulation.inside import INSIDE
from tests.simulation.leaving import Leaving
from tests.simulation.machines import Machines
from tests.simulation.mix import HOUR, MINUTE, Fault, Mix
from tests.simulation.newer import in_newer_form
from tests.simulation.rest import ENDS_WITHIN, Rest
from tests.simulation.retaining import Retaining
from tests.simulation.rewinding import Rewinding
from tests.simulation.rows import ITEM_TABLES, is_item, number, text, waits_for_a_person
from tests.simulation.seen import Broken, Seen
from tests.simulation.streams import Streams
from tests.simulation.transitions import FINAL
from tests.simulation.wire import Wire
from tests.simulation.workers import Functions, Scheduler

SECONDS_MAX: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    seed: int
    broken: str | None
    lines: list[str] = field(repr=False)
    reach: Counter[str] = field(repr=False)
    calls: int
    seconds: float
    ended_after: float = 0.0


@dataclass(kw_only=True, slots=True, eq=False)
class Run:
    """With a script one caller does what it says and nobody else does anything; `planned` then says which call meets
    which fault."""

    seed: int
    mix: Mix
    script: Callable[[Clients, Actor], None] | None = None
    planned: Callable[[Actor, Call], Fault | None] | None = None
    hub: Hub = field(init=False)
    seen: Seen = field(init=False)
    wire: Wire = field(init=False)
    functions: Functions = field(init=False)
    clients: Clients = field(init=False)
    machines: Machines = field(init=False)
    streams: Streams | None = field(init=False, default=None)
    is_over: bool = False

    def __post_init__(self) -> None:
        draws = Random(self.seed)
        now = START_US + draws.randrange(MINUTE)
        engine = INSIDE.engine
        self.hub = Hub(draws=draws, now=now, began=now, sticky=draws.choice((0.0, 0.0, 0.8)))
        self.seen = Seen(hub=self.hub, engine=engine, began=self.mix)
        self.wire = Wire(
            hub=self.hub,
            engine=engine,
            mix=self.mix,
            changed=self._changed,
            counted=self._reached,
            asked=self._asked,
            found=self._found,
            planned=self.planned,
        )
        self.functions = Functions(
            hub=self.hub,
            engine=engine,
            seen=self.seen,
            mix=lambda: self.mix,
            shards=self.mix.shards,
            acknowledge=lambda delivery: self.clients.receivers.take(delivery),
            registers=lambda delivery: self.clients.loops.take(delivery),
        )
        self.machines = Machines(hub=self.hub, functions=self.functions, seen=self.seen, mix=lambda: self.mix)
        self.wire.started = self.machines.start
        self.wire.described = self.machines.describe
        INSIDE.begin(
            self.hub,
            counted=self._count,
            wire=self.wire,
            overdue=self.seen.audited.extend,
            zone=lambda name: zoned.found(name, self.seen.began, self.hub),
            operate=self.machines.operate,
            breakers=self.mix.breakers,
        )
        self.clients = Clients(
            hub=self.hub,
            functions=self.functions,
            seen=self.seen,
            mix=lambda: self.mix,
            accounts={tenant: list(ACCOUNTS[: self.mix.accounts]) for tenant in TENANTS},
        )
        # A row that newer code alone can read becomes a letter of the recorder, and no event.
        if self.mix.recorded and not self.mix.newer_forms:
            self.streams = Streams(
                hub=self.hub,
                functions=self.functions,
                clients=self.clients,
                seen=self.seen,
                mix=lambda: self.mix,
                bus=Bus(hub=self.hub, mix=lambda: self.mix) if self.mix.owners else None,
            )
        for module in (task, places):
            vars(module)["LIFETIME"] = timedelta(microseconds=self.mix.lifetime)
        # The sweep looks an hour back, for the sake of clocks that are far ahead; where none is, that is an hour of
        # empty minutes in each run.
        following.QUEUE_MAX = chains.QUEUE_MAX
        tick.AUDITED_AFTER = AUDITED_AFTER if self.mix.skew > MINUTE else timedelta(minutes=2)
        quotas.arrange(self.mix)
        if self.mix.skew > MINUTE:
            self._furnish_for_wrong_clocks()
        if self.mix.newer_forms:
            self._furnish_from_newer_code()
        self.hub.when_idle.append(self.functions.next_visible)

    def result(self) -> Result:
        broken = None
        signal.signal(signal.SIGVTALRM, _too_long)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_MAX)
        try:
            self._go()
        except (Broken, Stuck, AssertionError) as error:
            broken = f"{type(error).__name__}: {error}"
        except Exception as error:  # what our code raises is what it does wrong
            broken = f"{type(error).__name__}: {error}"
            self.hub.lines.append(_where(error))
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            self.hub.end()
        seconds = (self.hub.now - self.hub.began) / SECOND
        return Result(
            seed=self.seed,
            broken=broken,
            lines=self.hub.lines,
            reach=self.seen.reach,
            calls=self.wire.calls,
            seconds=seconds,
        )

    def _go(self) -> None:
        self._people()
        hub = self.hub
        hub.lines.append(f"seed {self.seed}: {self.mix}")
        hub.run(lambda: self.clients.busy == 0, deadline=hub.now + 3 * HOUR)
        hub.run(lambda: False, deadline=hub.now + int(hub.draws.uniform(0, 2) * self.mix.ends_within / 2))
        began = self.mix
        if self.script is None:
            self._calm()
        rest = Rest(
            hub=hub,
            seen=self.seen,
            engine=self.wire.engine,
            clients=self.clients,
            scripted=self.script is not None,
        )
        self._begin_to_rest()
        rest.drain()
        if began.leaves_calls_alone:
            items_at_rest.i11_nothing_is_left_to_the_audit(self.seen)
        if began.is_quiet and self.script is None:
            if began.killed:
                items_at_rest.i22_payments_outlive_their_worker(self.seen)
            items_at_rest.on_time(self.seen)
            queues.a_queue_moves_on(self.seen)
        rest.redrive()
        for check in checkers.AT_THE_END:
            check(self.seen)
        if self.streams is not None:
            self._record_the_rest(self.streams)

    def _begin_to_rest(self) -> None:
        """Nothing here; runs that are watched for longer go on."""

    def _record_the_rest(self, streams: Streams) -> None:
        if not self.hub.run(lambda: streams.is_over, deadline=self.hub.now + ENDS_WITHIN):
            self.hub.note("the streams are not over")
        for check in checkers.OF_EVENTS:
            check(self.seen, streams)
        if self.mix.retained:
            kept = Retaining(run=self).go()
            for look in checkers.OF_RETENTION:
                look(kept)
        if self.mix.erased:
            of, other = TENANTS
            left = Leaving(run=self, streams=streams, of=of, other=other).go()
            for see in checkers.OF_ERASURE:
                see(left)

    def _furnish_for_wrong_clocks(self) -> None:
        """A clock that is behind registers for minutes that have passed; the sweep is an hour from done with them."""
        minute = START_US // MINUTE - 2
        self.wire.engine.write("slots", clock_row(minute - 60))

    def _furnish_from_newer_code(self) -> None:
        """Rows that newer code wrote before it was rolled back."""
        engine = self.wire.engine
        for row in [row for row in engine.rows("journal") if text(row, "payee") == RESTING]:
            engine.write("journal", in_newer_form(row))

    def _people(self) -> None:
        mix, hub = self.mix, self.hub
        for _ in range(mix.sweepers):
            self._skewed(self.functions.poll("sweep", "ticks"))
        for _ in range(mix.executors):
            self._skewed(self.functions.poll("run_tasks", "tasks"))
            self._skewed(self.functions.poll("run_tasks", "slow"))
            self._skewed(self.functions.poll("settle", "payments"))
        Scheduler(
            hub=hub, engine=self.wire.engine, mix=lambda: self.mix, is_exact=mix.is_quiet and not self.script
        ).start()
        if mix.rewinds:
            Rewinding(
                hub=hub,
                engine=self.wire.engine,
                seen=self.seen,
                mix=lambda: self.mix,
                first=START_US // MINUTE - 1,
            ).start()
        if self.streams is not None:
            self.streams.start(TENANTS)
        poison.send(hub, self.wire.engine, self.seen.poison, count=mix.poison, within=mix.span)
        if self.script is not None:
            self.clients.follow(TENANTS[0], self.script)
            return
        for place in range(mix.clients):
            tenant = TENANTS[place % 2] if hub.draws.random() < 0.5 else TENANTS[0]
            self.clients.start(tenant, mix.requests, mix.span)

    def _skewed(self, actor: Actor) -> None:
        mix, draws = self.mix, self.hub.draws
        actor.skewed(draws.randint(-mix.skew, mix.skew))
        for _ in range(mix.jumps):
            self.hub.after(
                draws.randrange(mix.span + 1),
                lambda: actor.skewed(draws.randint(-self.mix.skew, self.mix.skew)),
            )

    def _calm(self) -> None:
        """From here on nothing goes wrong."""
        self.hub.note("faults stop")
        self.seen.calm_at = self.hub.now
        self.mix = self.wire.mix = self.mix.calm()
        for actor in self.hub.actors:
            actor.sticky = None
            actor.skewed(max(-self.mix.skew, min(self.mix.skew, actor.skew)))

    def _found(self, actor: Actor, call: Call, rows: list[Any]) -> None:
        if not self.is_over:
            boundary.i19_is_told_only_of_the_tenants_own(self.seen, actor, call, rows)

    def _asked(self, actor: Actor, call: Call) -> None:
        if self.is_over:
            return
        touched = list(boundary.touched_by(call))
        for check in (*boundary.BEFORE_EACH, switched.i25_nothing_settles_while_it_is_off):
            check(self.seen, actor, call, touched)
        operations.i24_an_operation_calls_what_it_planned(self.seen, actor, call)
        operations.i24_notes_what_a_report_can_know(self.seen, actor, call)

    def _changed(self, actor: Actor | None, changes: list[Change]) -> None:
        if self.is_over:
            if self.streams is not None:
                self.streams.changed(changes)
            return
        for change in changes:
            if change.table in ITEM_TABLES and change.after and "tenant" in change.after:
                self.seen.owners.setdefault(change.key[1], str(text(change.after, "tenant")))
                if home := text(change.after, "points_to"):
                    self.seen.pointers[home].add(change.key[0])
                self.seen.written.setdefault(change.key[1], self.hub.now)
        for check in checkers.STEP:
            check(self.seen, actor, changes)
        if self.streams is not None:
            self.streams.changed(changes)
        for change in changes:
            if is_item(change) and change.after is not None:
                after, id = change.after, change.key[1]
                ended = text(after, "status") in FINAL
                if ended or waits_for_a_person(after):
                    self.seen.open.discard(id)
                else:
                    self.seen.open.add(id)
                before = "" if change.before is None else text(change.before, "status")
                self.hub.note(f"   {id} {before} -> {text(after, 'status')} v{number(after, 'version')}")

    def _reached(self, name: str) -> None:
        self.seen.reach[name] += 1

    def _count(self, name: str, value: float) -> None:
        self.seen.reach[name if name.startswith("log") else f"metric {name}"] += int(value)


def run(seed: int, mix: Mix) -> Result:
    return Run(seed=seed, mix=mix).result()


def _where(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error))


def _too_long(*_: object) -> None:
    raise Stuck("an endless loop")


furnish()
