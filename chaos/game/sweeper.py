"""The sweep is stopped for some minutes, each of them five seconds long."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from chaos.game import work
from chaos.game.drill import Drill, Line, fault, put_right, seen, told
from chaos.game.ground import Ground, until
from infra.environments import LOCAL

# A minute of the alarm lasts so long here.
_MINUTE_SECONDS: Final = 5
_TIMES: Final = 60 / _MINUTE_SECONDS
# CloudWatch looks at five minutes before it says that three of them lack a wake-up.
_STOPPED_MINUTES: Final = (6, 8)
_FUNCTION: Final = LOCAL.named("sweep")
_DONE_WITHIN_SECONDS: Final = 90


def stopped(ground: Ground, draws: Random) -> Iterator[Line]:
    """Items that were registered before are not opened, and fall due when the sweep runs again."""
    functions, settings = ground.aws("lambda"), LOCAL.settings
    minutes = draws.randint(*_STOPPED_MINUTES)
    beyond = settings.open_lead_seconds + settings.open_margin_seconds + 2 * settings.tick_seconds
    with ground.client() as client:
        form = {"delay_seconds": beyond, "target": {"type": "webhook", "url": f"{ground.receiver.url}/"}}
        ids = [client.post(work.TASKS, form).expect(201)["task_id"] for _ in range(draws.randint(2, 5))]
    (mapping,) = functions.list_event_source_mappings(FunctionName=_FUNCTION)["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    since = datetime.now(UTC)
    yield fault("the sweep stopped, for so many minutes", minutes)
    work.sleep_until(since + timedelta(seconds=minutes * _MINUTE_SECONDS))
    fires = ground.fires("timer_down", since=since, times=_TIMES)
    with ground.operator() as operator:
        sweep = until(lambda: _dead(operator.get("/api/v1/ops/overview").expect(200)["sweep"]))
    yield seen(sweep, "the overview shows the sweep as not alive")
    yield told("timer_down", fires)
    ground.runbook.run(
        *("messages_wait", "aws lambda update-event-source-mapping"), variables={"MAPPING": mapping["UUID"]}
    )
    ground.runbook.run(
        *("timer_down", "aws sqs send-message"),
        variables={"TICKS_QUEUE_URL": ground.stack.queues["ticks"]},
    )
    with ground.client() as client:
        began = time.monotonic()
        well = until(lambda: work.all_are(client, ids, "SUCCEEDED"), within=_DONE_WITHIN_SECONDS)
    yield put_right(
        well and set(ground.receiver.count(ids).values()) == {1},
        f"{len(ids)} tasks called once each, the last within {time.monotonic() - began:.0f} s",
    )


def _dead(sweep: dict[str, str]) -> dict[str, str]:
    return {} if sweep["alive"] else sweep


DRILL: Final = Drill(name="stopped sweep", play=stopped, beside=True)
