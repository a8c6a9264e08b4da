"""A function whose client has no model in the layer does not start."""

import re
from pathlib import Path

from cli.local.layer import AWS_SERVICES_USED

_MADE = re.compile(r'aws\.client(?:_with)?(?:\(|, )"([a-z0-9-]+)"')


def test_the_layer_has_the_model_of_each_client_that_a_function_makes() -> None:
    files = [*Path("functions").rglob("*.py"), *Path("shared").rglob("*.py")]
    made = {name for file in files for name in _MADE.findall(file.read_text(encoding="utf-8"))}
    assert {"cloudwatch", "dynamodb", "sqs"} < made
    assert made <= AWS_SERVICES_USED
