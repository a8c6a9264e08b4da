"""The templates of prod as CloudFormation handles them when a deployment fails or a stack goes."""

import json
import time
from collections.abc import Iterator
from typing import Final

import boto3
import pytest
from botocore.exceptions import ClientError

from cli.aws.account import Account as AwsAccount
from cli.aws.protection import protect
from cli.local import aws
from infra.environments import PROD
from tests.e2e.conftest import RunningStack
from tests.infra.synthesis import Template, synthesise

NAME: Final = "postdate-prod-state"
OURS: Final = "postdate-prod-"
PATIENCE_SECONDS: Final = 60


class Account:
    """Resources of prod in the engine's account."""

    def __init__(self, stack: RunningStack) -> None:
        self._formation = stack.aws("cloudformation")
        self._dynamodb, self._sqs, self._s3 = (stack.aws(name) for name in ("dynamodb", "sqs", "s3"))

    def create(self, template: Template) -> str:
        self._formation.create_stack(
            StackName=NAME, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"]
        )
        return self._ended()

    def update(self, template: Template) -> str:
        self._formation.update_stack(
            StackName=NAME, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"]
        )
        return self._ended()

    def delete(self) -> str:
        (stack,) = self._formation.describe_stacks(StackName=NAME)["Stacks"]
        self._formation.delete_stack(StackName=NAME)
        return self._ended(stack["StackId"])

    def tables(self) -> list[str]:
        return [name for name in self._dynamodb.list_tables()["TableNames"] if name.startswith(OURS)]

    def queues(self) -> list[str]:
        return list(self._sqs.list_queues(QueueNamePrefix=OURS).get("QueueUrls", ()))

    def buckets(self) -> list[str]:
        names = [bucket["Name"] for bucket in self._s3.list_buckets()["Buckets"]]
        return [name for name in names if name.startswith(OURS)]

    def unprotected(self) -> list[str]:
        described = (self._dynamodb.describe_table(TableName=name)["Table"] for name in self.tables())
        return [table["TableName"] for table in described if not table["DeletionProtectionEnabled"]]

    def clear(self) -> None:
        if any(each["StackName"] == NAME for each in self._formation.describe_stacks()["Stacks"]):
            self._formation.update_termination_protection(StackName=NAME, EnableTerminationProtection=False)
            self.delete()
        for name in self.tables():
            self._dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
            self._dynamodb.delete_table(TableName=name)
        for url in self.queues():
            self._sqs.delete_queue(QueueUrl=url)
        for name in self.buckets():
            self._s3.delete_bucket(Bucket=name)

    def _ended(self, stack: str = NAME) -> str:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            (described,) = self._formation.describe_stacks(StackName=stack)["Stacks"]
            if not described["StackStatus"].endswith("_IN_PROGRESS"):
                return str(described["StackStatus"])
            time.sleep(0.1)
        raise AssertionError("the deployment does not end")


@pytest.fixture
def account(stack: RunningStack) -> Iterator[Account]:
    account = Account(stack)
    yield account
    account.clear()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """Without the policies that refuse plain HTTP: the engine obeys them and speaks nothing else."""
    made = tmp_path_factory.mktemp("prod")
    template = synthesise(PROD, build=made / "build", assembly=made / "assembly").state
    resources = {
        name: each for name, each in template["Resources"].items() if not each["Type"].endswith("Policy")
    }
    return template | {"Resources": resources}


def broken(template: Template) -> Template:
    """The same and, after all the rest, a queue that is named by a stack that does not exist."""
    nobody = {"Fn::GetStackOutput": {"StackName": "postdate-nowhere", "OutputName": "Name"}}
    last = {
        "Type": "AWS::SQS::Queue",
        "Properties": {"QueueName": nobody},
        "DependsOn": list(template["Resources"]),
    }
    return template | {"Resources": template["Resources"] | {"Broken": last}}


def test_a_first_deployment_that_fails_leaves_nothing_that_the_second_trips_over(
    account: Account, state: Template
) -> None:
    assert account.create(broken(state)) == "ROLLBACK_COMPLETE"
    assert (account.tables(), account.queues(), account.buckets()) == ([], [], [])
    assert account.delete() == "DELETE_COMPLETE"
    assert account.create(state) == "CREATE_COMPLETE"
    assert account.delete() == "DELETE_COMPLETE"


def test_what_holds_data_outlives_an_update_that_fails_and_its_stack(
    account: Account, state: Template
) -> None:
    assert account.create(state) == "CREATE_COMPLETE"
    there = account.tables(), account.queues(), account.buckets()
    assert all(there)
    assert account.update(broken(state)) == "UPDATE_ROLLBACK_COMPLETE"
    assert (account.tables(), account.queues(), account.buckets()) == there
    assert account.delete() == "DELETE_COMPLETE"
    assert (account.tables(), account.queues(), account.buckets()) == there


def test_what_stands_is_protected_and_what_failed_is_not(
    account: Account, state: Template, stack: RunningStack
) -> None:
    with aws.speaking_to(stack.place):
        here = AwsAccount(id="000000000000", region=stack.region, session=boto3.Session())
        assert protect(here, PROD) == []
        assert account.create(broken(state)) == "ROLLBACK_COMPLETE"
        assert protect(here, PROD) == []
        assert account.delete() == "DELETE_COMPLETE"
        assert account.create(state) == "CREATE_COMPLETE"
        assert sorted(protect(here, PROD)) == sorted([NAME, *account.tables()])
        assert protect(here, PROD) == []
        assert account.unprotected() == []
        with pytest.raises(ClientError, match="TerminationProtection"):
            account.delete()
