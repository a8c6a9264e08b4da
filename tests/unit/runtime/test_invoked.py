"""A call of another function tells its answer, or that there is none."""

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError

from postdate.domain.errors import Unavailable
from postdate.runtime.invoked import LambdaFunction


class Answering:
    """A client of Lambda."""

    def __init__(self, answer: Any, **also: str) -> None:
        self.answer, self.also, self.asked = answer, also, list[dict[str, Any]]()

    def invoke(self, **asked: Any) -> dict[str, Any]:
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"Payload": io.BytesIO(json.dumps(self.answer).encode()), **self.also}


def test_the_answer_is_the_functions() -> None:
    client = Answering({"rows": 1})
    assert LambdaFunction(name="f", client=lambda: client).call({"a": 1}) == {"rows": 1}
    assert client.asked == [{"FunctionName": "f", "Payload": b'{"a": 1}'}]


@pytest.mark.parametrize(
    "client",
    [
        Answering({"errorMessage": "no"}, FunctionError="Unhandled"),
        Answering(ConnectTimeoutError(endpoint_url="x")),
    ],
    ids=["its error", "no answer"],
)
def test_a_function_that_fails_is_unavailable(client: Answering) -> None:
    with pytest.raises(Unavailable):
        LambdaFunction(name="f", client=lambda: client).call({})
