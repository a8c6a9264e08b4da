"""cdk-nag's AwsSolutions pack over every environment, and each waiver with its reason."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack, Validations, aws_sqs
from cdk_nag import AwsSolutionsChecks

from infra.app import postdate
from infra.environments import ENVIRONMENTS
from tests.infra.permissions import EXECUTIONS
from tests.infra.synthesis import app

UNSCOPED = "The local engine checks these calls on no resource at all."
XRAY = "X-Ray's two write actions know no resource to name."
DESTINATIONS = "Tenants' own destinations come and go without a release; their names are ours to give."
OPEN_PAGES = "Health, documentation and console are for those who have no key yet."
INTERNAL_ROUTE = "Its token stands in X-Internal-Auth, and the function checks it."
PLAIN_HTTP = "This stack listens on the loopback interface and speaks plain HTTP."
QUEUES = "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:{}]"
TOPICS = QUEUES.replace(":sqs:", ":sns:")
BUSES = QUEUES.replace(":sqs:", ":events:").replace("{}", "event-bus/{}")

METRICS = "CloudWatch knows no right to single metrics."
ALARMS = "CloudWatch tells composite alarms only to a right to all alarms."
READER = "Each session is held to one tenant's prefix by its own policy."
BUCKET = "postdate-{}-payload-objects-<AWS::AccountId>-<AWS::Region>"
OBJECTS = f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::{BUCKET}/*]"
LOGGED = "Its functions log each step; the execution's own history is kept for 90 days."
OF_OPERATIONS = "An execution is named after its operation."
OF_ITEMS = "Step Functions names the executions."
FOLLOWED = "An operation is followed by its row, and each of its functions by its log."
REPORT_BUCKET = "postdate-{}-reports-<AWS::AccountId>-<AWS::Region>"
REPORT_OBJECTS = f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::{REPORT_BUCKET}/*]"
OWN_ALARMS = "The names of an environment's alarms begin alike, and are many."
ALARMS_OF = QUEUES.replace(":sqs:", ":cloudwatch:").replace("{}", "alarm:postdate-{}-*")
ARCHIVE_BUCKET = "postdate-{}-archive-<AWS::AccountId>-<AWS::Region>"
ARCHIVE_OBJECTS = f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::{ARCHIVE_BUCKET}/*]"
ARCHIVED_PAYMENTS = ARCHIVE_OBJECTS.replace("/*", "/payments/*")
REPORTED = "Functions alone write these objects, and their names are not known before."
READS = "Who reads what is in CloudTrail, under the name of the tenant it was read for."

LETTERS = "These are dead letters themselves."

EVERYWHERE = {
    "AwsSolutions-IAM5[Resource::*]": XRAY,
    "AwsSolutions-APIG4": OPEN_PAGES,
    "AwsSolutions-S1": READS,
    "AwsSolutions-SQS3": LETTERS,
    "AwsSolutions-SF1": LOGGED,
    "AwsSolutions-SF2": FOLLOWED,
}
ON_AWS = EVERYWHERE | {
    name.format("postdate-destination-*"): DESTINATIONS for name in (QUEUES, TOPICS, BUSES)
}
LOCALLY = EVERYWHERE | {
    **{name.format("postdate-local-destination*"): DESTINATIONS for name in (QUEUES, TOPICS, BUSES)},
    "AwsSolutions-SQS4": PLAIN_HTTP,
    "AwsSolutions-S10": PLAIN_HTTP,
}


def violations(checked: App, outdir: Path) -> list[tuple[str, str]]:
    Validations.of(checked).add_plugins(AwsSolutionsChecks(checked))
    with suppress(RuntimeError):  # raised when there are any; the report has them in a form to read
        checked.synth()
    report = json.loads((outdir / "validation-report.json").read_text())
    return [
        (violation["ruleName"], construct["constructPath"])
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    ]


def waivers(outdir: Path) -> set[tuple[str, str]]:
    """A rule may be waived in two places for two reasons."""
    entries: list[Any] = [
        entry
        for file in outdir.glob("*.metadata.json")
        for construct in json.loads(file.read_text()).values()
        for entry in construct
        if entry["type"] == Validations.ACKNOWLEDGED_RULES_METADATA_KEY
    ]
    return {
        (rule.removeprefix("Annotation::"), why) for entry in entries for rule, why in entry["data"].items()
    }


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_rule_is_broken_and_each_waiver_has_its_reason(name: str, build: Path, tmp_path: Path) -> None:
    checked = app(tmp_path)
    postdate(checked, ENVIRONMENTS[name], build=build)
    assert violations(checked, tmp_path) == []
    waived = LOCALLY if name == "local" else ON_AWS
    reasons = {
        (OBJECTS.format(name), READER),
        (REPORT_OBJECTS.format(name), REPORTED),
        (ARCHIVE_OBJECTS.format(name), REPORTED),
        (ARCHIVED_PAYMENTS.format(name), REPORTED),
        (f"AwsSolutions-IAM5[Resource::{EXECUTIONS.format(name)}]", OF_OPERATIONS),
        ("AwsSolutions-APIG4", INTERNAL_ROUTE),
    }
    # Items of their Maps are executions of their own.
    for machine in ("reconcile", "recover"):
        own = EXECUTIONS.format(name).replace(f"postdate-{name}-operation", f"postdate-{name}-{machine}")
        reasons.add((f"AwsSolutions-IAM5[Resource::{own}]", OF_ITEMS))
    reasons |= {("AwsSolutions-IAM5[Resource::*]", why) for why in (ALARMS, METRICS)}
    if ENVIRONMENTS[name].watched:
        reasons.add((ALARMS_OF.format(name), OWN_ALARMS))
    if name == "local":
        reasons.add(("AwsSolutions-IAM5[Resource::*]", UNSCOPED))
    assert waivers(tmp_path) == {*waived.items()} | reasons


def test_the_rules_are_really_asked(tmp_path: Path) -> None:
    checked = app(tmp_path)
    aws_sqs.Queue(Stack(checked, "bare"), "queue")
    assert {rule for rule, _ in violations(checked, tmp_path)} == {"AwsSolutions-SQS3", "AwsSolutions-SQS4"}
