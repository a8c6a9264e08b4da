"""Settings and headers of a call to AWS."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from cli.local.listening import Answering, listening
from postdate.runtime import aws, deadline

TRACE: dict[str, str] = {
    "AWS_LAMBDA_FUNCTION_NAME": "postdate-test",
    "_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1",
}


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | None]]:
    """The trace that each call carries, as AWS sees it."""
    found: list[str | None] = []

    class Aws(Answering):
        def called(self) -> None:
            found.append(self.headers.get("X-Amzn-Trace-Id"))
            self.body()
            self.answer(204)

    with listening(Aws) as url:
        for name, value in TRACE.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield found


def test_a_message_carries_no_trace_and_so_samples_no_worker(traces: list[str | None]) -> None:
    aws.client.__wrapped__("sqs").send_message_batch(QueueUrl="http://127.0.0.1/queue", Entries=[])
    assert traces == [None]


def test_any_other_call_carries_the_trace_of_its_request(traces: list[str | None]) -> None:
    aws.client.__wrapped__("dynamodb").list_tables()
    assert traces == [TRACE["_X_AMZN_TRACE_ID"]]


def test_an_act_may_precede_each_call_of_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """The act may call AWS itself. No act precedes a call after the end of the event."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    made = aws.client.__wrapped__("sqs")
    answer = SimpleNamespace(status_code=200), {"ResponseMetadata": {}}
    made.meta.events.register("before-call", lambda **_: answer)
    seen: list[str] = []

    def act() -> None:
        seen.append("act")
        if len(seen) == 1:
            made.list_queues()

    with deadline.of_this_process().preceding(act):
        made.list_queues()
    made.list_queues()
    assert seen == ["act", "act"]
