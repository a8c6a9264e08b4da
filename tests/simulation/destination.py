"""Where tasks go: a target of every temper, in this process. It remembers each attempt that reached it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from postdate.targets.base import Delivered, Delivery, Failed, Receipt, Report
from tests.simulation.checkers import Seen, Taken
from tests.simulation.hub import SECOND, Hub
from tests.simulation.mix import Mix


@dataclass(kw_only=True, slots=True)
class Destination:
    """`living` gives a question to ask later: whether the worker that works now still does."""

    hub: Hub
    seen: Seen
    mix: Callable[[], Mix]
    living: Callable[[], Callable[[], bool]]
    worker: str

    def start(self, deliveries: Sequence[Delivery], report: Report) -> None:
        lives = self.living()
        for delivery in deliveries:
            self._start(delivery, report, lives)

    def _start(self, delivery: Delivery, report: Report, lives: Callable[[], bool]) -> None:
        draws, mix = self.hub.draws, self.mix()
        temper = draws.choice(mix.tempers)
        self.seen.reach[f"target {temper}"] += 1
        out = int(draws.uniform(0, 0.02) * SECOND)
        answered = out + int(draws.uniform(0, 0.05) * SECOND)
        receipt: Receipt = Delivered(http_status=200)
        match temper:
            case "refuses":
                receipt = Failed(reason="http 500", http_status=500)
            case "refuses for good":
                receipt = Failed(reason="http 410", http_status=410, retry=False)
            case "asks for time":
                receipt = Failed(
                    reason="http 429", http_status=429, retry_after_seconds=draws.uniform(1, 400)
                )
            case "is slow":
                answered = out + int(min(draws.uniform(1, 90), delivery.timeout_seconds - 1) * SECOND)
            case "takes and resets":
                receipt = Failed(reason="connection reset")
            case "never answers":
                answered = int(delivery.timeout_seconds * SECOND)
                receipt = Failed(reason="timed out")
        sent_anyway = draws.random() < 0.5

        def arrive() -> None:
            if lives() or sent_anyway:
                self._take(delivery, temper)

        def tell() -> None:
            if lives():
                report(delivery, receipt)

        self.hub.after(out, arrive)
        self.hub.after(max(out, answered), tell)

    def _take(self, delivery: Delivery, temper: str) -> None:
        self.hub.lines.append(
            f"{(self.hub.now - self.hub.began) / SECOND:12.6f} {'target':<12} {temper}: {delivery.task_id} "
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
