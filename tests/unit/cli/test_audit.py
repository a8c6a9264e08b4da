import json

import pytest

from cli import audit
from cli.failure import Failure

CLEAN = {"name": "idna", "version": "3.20", "vulns": []}
BAD = {"name": "six", "version": "1.0", "vulns": [{"id": "PYSEC-1"}, {"id": "CVE-2"}]}
UNKNOWN = {"name": "boto3", "skip_reason": "Dependency not found"}


def found(*dependencies):
    return audit.audit(lambda: json.dumps({"dependencies": list(dependencies), "fixes": []}))


def test_clean_dependencies_are_counted():
    assert audit.show(found(CLEAN).told()) == "1 dependencies have no known vulnerability."


def test_a_vulnerable_dependency_fails_the_command_with_its_ids():
    with pytest.raises(Failure, match=r"six 1\.0: PYSEC-1, CVE-2"):
        found(CLEAN, BAD, UNKNOWN).told()


def test_a_dependency_that_no_index_knows_is_not_clean():
    told = found(CLEAN, UNKNOWN).told()
    assert (told["clean"], told["not_checked"]) == (["idna 3.20"], ["boto3"])
    assert "NOT CHECKED: 1 (no index told about them): boto3" in audit.show(told)


@pytest.mark.parametrize("output", ["", "connection refused", "[]", "{}"])
def test_without_a_report_nothing_counts_as_checked(output):
    told = audit.audit(lambda: output).told()
    assert told["clean"] == []
    assert "pyjwt" in told["not_checked"] or len(told["not_checked"]) > 10
    assert "NOT CHECKED" in audit.show(told)
