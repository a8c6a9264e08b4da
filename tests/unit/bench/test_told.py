import json

from bench.told import of_metric


def test_a_metric_is_told_with_each_of_its_values() -> None:
    line = json.dumps({"_aws": {}, "Packets": [1.0], "PaymentLateness": [7.0, 8.5]})
    assert list(of_metric(line)) == [7.0, 8.5]


def test_lines_without_the_metric_tell_nothing() -> None:
    for line in ("START RequestId: 1", json.dumps({"Packets": [1.0]}), ""):
        assert list(of_metric(line)) == []
