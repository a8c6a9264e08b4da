"""The synthesised stacks of one environment, read back from their templates under readable names."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol
from zipfile import ZipFile

from aws_cdk import App

from infra.app import postdate
from infra.environment import Environment

CONTEXT: Final = json.loads((Path(__file__).parents[2] / "cdk.json").read_text())["context"]

NAMED_BY: Final = {
    "AWS::DynamoDB::Table": ("table", "TableName"),
    "AWS::SQS::Queue": ("queue", "QueueName"),
    "AWS::Lambda::Function": ("function", "FunctionName"),
    "AWS::Lambda::LayerVersion": ("layer", "LayerName"),
    "AWS::Logs::LogGroup": ("logs", "LogGroupName"),
    "AWS::IAM::Role": ("role", "RoleName"),
    "AWS::S3::Bucket": ("bucket", "BucketName"),
    "AWS::KMS::Key": ("key", "Description"),
    "AWS::Events::EventBus": ("bus", "Name"),
    "AWS::StepFunctions::StateMachine": ("machine", "StateMachineName"),
    "AWS::AppConfig::Application": ("parameters of", "Name"),
    "AWS::AppConfig::Environment": ("stage", "Name"),
    "AWS::AppConfig::ConfigurationProfile": ("profile", "Name"),
}

Template = dict[str, Any]


def app(outdir: Path) -> App:
    return App(outdir=str(outdir), context=CONTEXT, analytics_reporting=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stacks:
    environment: Environment
    assembly: Path
    state: Template
    service: Template
    watch: Template | None

    def all(self, kind: str) -> dict[str, Template]:
        """The resources of this type by their names, without what every name of the environment begins with."""
        found = {}
        for template in (self.state, self.service):
            for logical_id, resource in template["Resources"].items():
                if resource["Type"] == kind:
                    found[self._named(logical_id).partition(":")[2] or logical_id] = resource
        return found

    def properties(self, kind: str) -> dict[str, Template]:
        return {name: resource["Properties"] for name, resource in self.all(kind).items()}

    def text(self, value: Any) -> str:
        """A template value in short form: `table:items` for a table's name or ARN, `<AWS::Region>` for a region."""
        match value:
            case str():
                return value
            case {"Ref": str(name)} if name.startswith("AWS::"):
                return f"<{name}>"
            case {"Ref": logical_id} | {"Fn::GetAtt": [logical_id, "Arn"]}:
                return self._named(logical_id)
            case {"Fn::GetAtt": [logical_id, "StreamArn"]}:
                return self._named(logical_id).replace("table:", "stream:")
            case {"Fn::GetStackOutput": {"StackName": stack, "OutputName": output}}:
                assert stack == f"postdate-{self.environment.name}-state"
                return self.text(self.state["Outputs"][output]["Value"])
            case {"Fn::Join": [separator, parts]}:
                return str(separator).join(self.text(part) for part in parts)
        raise ValueError(f"a value of a kind not met before: {value}")

    def asset(self, code: Template) -> list[str]:
        """Content of the zip of a function or a layer."""
        with ZipFile(self.assembly / f"asset.{code['S3Key']}") as archive:
            return archive.namelist()

    def _named(self, logical_id: str) -> str:
        resource = {**self.state["Resources"], **self.service["Resources"]}[logical_id]
        if resource["Type"] not in NAMED_BY:
            return logical_id
        kind, attribute = NAMED_BY[resource["Type"]]
        if attribute not in resource["Properties"]:
            return logical_id
        name = self.text(resource["Properties"][attribute]).replace(f"postdate-{self.environment.name}-", "")
        return f"{kind}:{name}"


class Synthesised(Protocol):
    """Gives the stacks of an environment, synthesised under this name once in a run of tests."""

    def __call__(self, name: str, environment: Environment, *, first: bool = False) -> Stacks: ...


def synthesise(environment: Environment, *, build: Path, assembly: Path, first: bool = False) -> Stacks:
    synthesised = app(assembly)
    postdate(synthesised, environment, build=build, first=first)
    synthesised.synth()
    return read(environment, assembly)


def read(environment: Environment, assembly: Path) -> Stacks:
    """Reads the stacks of an assembly."""

    def template(stack: str) -> Template:
        found: Template = json.loads((assembly / f"{environment.named(stack)}.template.json").read_text())
        return found

    return Stacks(
        environment=environment,
        assembly=assembly,
        state=template("state"),
        service=template("service"),
        watch=template("watch") if environment.watched else None,
    )
