"""The destinations of tasks: a target of every temper, in this process. It remembers each attempt that reached it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from postdate.domain.task import Ack
from postdate.targets.base import Delivered, Delivery, Failed, Receipt, Report, Untried
from tests.simulation import quotas
from tests.simulation.hub import SECOND, Hub
from tests.simulation.mix import Mix
from tests.simulation.seen import Broken, Heard, Seen, Taken

QUEUE: Final = "https://sqs.us-east-1.amazonaws.com/000000000000/postdate-destination"
SIGNING_SECRET: Final = "whsec_c2ltdWxhdGVk"
# The one that is down for a while in some runs.
OTHER_QUEUE: Final = f"{QUEUE}-2"


def i26_each_delivery_is_signed(seen: Seen, delivery: Delivery) -> None:
    """Each delivery carries a signature of its tenant. In runs that rotate secrets any readable one signs."""
    found = delivery.signing_secrets
    if seen.began.owners:
        signs = bool(found) and all(each.startswith("whsec_") for each in found)
    else:
        signs = found == (SIGNING_SECRET,)
    if not signs:
        raise Broken(f"I26: a delivery of {delivery.run_id} has no signature of its tenant")


@dataclass(kw_only=True, slots=True)
class Destination:
    """`living` gives a question to ask later: whether the worker that works now still does. `acknowledge` is told of
    each delivery that its receiver has to end by a word of its own, `registers` of all."""

    hub: Hub
    seen: Seen
    mix: Callable[[], Mix]
    living: Callable[[], Callable[[], bool]]
    worker: str
    acknowledge: Callable[[Delivery], None]
    registers: Callable[[Delivery], None]
    # The tenant of each delivery in flight, its end, and whether its worker lives.
    _out: list[tuple[str, int, Callable[[], bool]]] = field(default_factory=list)

    def start(self, deliveries: Sequence[Delivery], report: Report) -> None:
        lives = self.living()
        for delivery in deliveries:
            self._start(delivery, report, lives)

    def _start(self, delivery: Delivery, report: Report, lives: Callable[[], bool]) -> None:
        draws, mix = self.hub.draws, self.mix()
        if mix.untried and draws.random() < mix.untried:
            self._give_back(delivery, report, lives)
            return
        temper = "is down" if self._is_down(delivery) else draws.choice(mix.tempers)
        self.seen.reach[f"target {temper}"] += 1
        out = int(draws.uniform(0, 0.02) * SECOND)
        answered = out + int(draws.uniform(0, 0.05) * SECOND)
        receipt: Receipt = Delivered(http_status=200)
        match temper:
            case "refuses":
                receipt = Failed(reason="http 500", http_status=500, down=True)
            case "is down":
                receipt = Failed(reason="cannot be reached", down=True)
            case "refuses for good":
                receipt = Failed(reason="http 410", http_status=410, retry=False)
            case "asks for time":
                receipt = Failed(
                    reason="http 429",
                    http_status=429,
                    retry_after_seconds=draws.uniform(1, min(400, mix.waits_max)),
                )
            case "is slow":
                answered = out + int(min(draws.uniform(1, 90), delivery.timeout_seconds - 1) * SECOND)
            case "takes and resets":
                receipt = Failed(reason="connection reset", down=True)
            case "never answers":
                answered = int(delivery.timeout_seconds * SECOND)
                receipt = Failed(reason="timed out", down=True)
        way = delivery.tenant, delivery.destination.address
        self.seen.waits[way].append((self.hub.now, self.hub.now + max(out, answered)))
        self._count(delivery.tenant, self.hub.now + max(out, answered), lives)
        sent_anyway = draws.random() < 0.5
        arrives = temper != "is down"

        def arrive() -> None:
            if arrives and (lives() or sent_anyway):
                self._take(delivery, temper)

        def tell() -> None:
            if lives():
                is_down = isinstance(receipt, Failed) and receipt.down
                address = delivery.destination.address
                self.seen.heard.append(
                    Heard(tenant=delivery.tenant, address=address, down=is_down, at=self.hub.now)
                )
                report(delivery, receipt)

        self.hub.after(out, arrive)
        self.hub.after(max(out, answered), tell)

    def _count(self, tenant: str, until: int, lives: Callable[[], bool]) -> None:
        """Deliveries that are in flight now: what a dead worker began is no more."""
        now = self.hub.now
        self._out = [each for each in self._out if each[1] > now and each[2]()] + [(tenant, until, lives)]
        count = sum(other == tenant for other, _, _ in self._out)
        quotas.i17_deliveries_keep_to_the_share(self.seen, self.worker, tenant, count)

    def _give_back(self, delivery: Delivery, report: Report, lives: Callable[[], bool]) -> None:
        self.seen.reach["not tried"] += 1
        self.seen.untried.add((delivery.run_id, delivery.token))
        takes = int(self.hub.draws.uniform(0, 3) * SECOND)
        way = delivery.tenant, delivery.destination.address
        self.seen.waits[way].append((self.hub.now, self.hub.now + takes))

        def tell() -> None:
            if lives():
                report(delivery, Untried(reason="not tried"))

        self.hub.after(takes, tell)

    def _is_down(self, delivery: Delivery) -> bool:
        down = self.mix().down
        if down is None or delivery.destination.address != OTHER_QUEUE:
            return False
        start, duration = down
        return start <= self.hub.now - self.hub.began < start + duration

    def _take(self, delivery: Delivery, temper: str) -> None:
        i26_each_delivery_is_signed(self.seen, delivery)
        self.hub.lines.append(
            f"{(self.hub.now - self.hub.began) / SECOND:12.6f} {'target':<12} {temper}: {delivery.run_id} "
            f"attempt {delivery.attempt} token {delivery.token} from {self.worker}"
        )
        self.seen.taken.append(
            Taken(
                task=delivery.task_id,
                tenant=delivery.tenant,
                run=delivery.run_id,
                attempt=delivery.attempt,
                token=delivery.token,
                at=self.hub.now,
                worker=self.worker,
            )
        )
        self.registers(delivery)
        if delivery.ack is Ack.EXPLICIT:
            self.acknowledge(delivery)
