"""A table is throttled: requests are answered 503, what is due waits, and all of it goes on by itself."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from random import Random
from typing import Final

from chaos.game import work
from chaos.game.drill import Drill, Line, fault, put_right, seen, told
from chaos.game.ground import Ground, until
from cli.local.aws import ACCOUNT, REGION
from infra.environments import LOCAL

# A minute of the alarm lasts so long here; it looks at five of them.
_MINUTE_SECONDS: Final = 3
_TIMES: Final = 60 / _MINUTE_SECONDS
_THROTTLED_SECONDS: Final = 5 * _MINUTE_SECONDS
_TAG: Final = "throttled"
# A call whose claim was refused comes back after its lease.
_GOES_ON_WITHIN_SECONDS: Final = 90


def throttled(ground: Ground, draws: Random) -> Iterator[Line]:
    """Writes of the table `items` are refused for some minutes. Tasks that fall due meanwhile run late, and once."""
    form = {"delay_seconds": 0, "target": {"type": "webhook", "url": f"{ground.receiver.url}/"}}
    with ground.client() as client:
        ids = work.tasks(client, f"{ground.receiver.url}/", draws.randint(3, 8), delay_seconds=4)
        since = datetime.now(UTC)
        with _refused(ground, LOCAL.table("items")):
            yield fault("table items throttled while tasks fall due", len(ids))
            deadline = time.monotonic() + _THROTTLED_SECONDS
            answers = []
            while time.monotonic() < deadline:
                answers.append(client.post(work.TASKS, form))
                time.sleep(0.2)
            reads = {client.get(f"{work.TASKS}/{id}").status for id in ids}
            fires = ground.fires("throttled_items", since=since, times=_TIMES)
        codes = {str(answer.body.get("code")) for answer in answers}
        waits = all("retry-after" in answer.headers for answer in answers)
        yield seen(
            codes == {"unavailable"} and waits and reads == {200},
            f"{len(answers)} writes answered {', '.join(codes)} with Retry-After, reads {reads}",
        )
        yield told("throttled_items", fires)
        ground.runbook.run("throttled", "aws dynamodb describe-table")
        accepted = until(lambda: client.post(work.TASKS, form).status == 201, within=10)
        well = until(lambda: work.all_are(client, ids, "SUCCEEDED"), within=_GOES_ON_WITHIN_SECONDS)
        once = set(ground.receiver.count(ids).values()) == {1}
    yield put_right(
        accepted and well and once, f"writes accepted again, {len(ids)} late tasks called once each"
    )


@contextmanager
def _refused(ground: Ground, table: str) -> Iterator[None]:
    client, arn = ground.aws("dynamodb"), f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}"
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": _TAG, "Value": "writes"}])
    try:
        yield
    finally:
        client.untag_resource(ResourceArn=arn, TagKeys=[_TAG])


DRILL: Final = Drill(name="throttled table", play=throttled)
