"""The part of AWS that the command line asks before it deploys, answered on this machine."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs

from cli.local.listening import Answering, listening

ACCOUNT: Final = "123456789012"
REGION: Final = "eu-central-1"
CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret"}
_IDENTITY: Final = f"""<GetCallerIdentityResponse><GetCallerIdentityResult><Account>{ACCOUNT}</Account>
<Arn>arn:aws:iam::{ACCOUNT}:user/test</Arn><UserId>U</UserId></GetCallerIdentityResult></GetCallerIdentityResponse>"""
_REFUSED: Final = """<ErrorResponse><Error><Type>Sender</Type><Code>{}</Code><Message>{}</Message></Error>
</ErrorResponse>"""

_STACK: Final = """<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>{}</StackName>
<StackStatus>{}</StackStatus><CreationTime>2026-11-01T00:00:00Z</CreationTime></member></Stacks></DescribeStacksResult>
</DescribeStacksResponse>"""
_RESOURCES: Final = """<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>{}
</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>"""
_TABLE: Final = """<member><PhysicalResourceId>{}</PhysicalResourceId><ResourceType>AWS::DynamoDB::Table</ResourceType>
<ResourceStatus>CREATE_COMPLETE</ResourceStatus></member>"""
_PROTECTED: Final = """<UpdateTerminationProtectionResponse><UpdateTerminationProtectionResult>
</UpdateTerminationProtectionResult></UpdateTerminationProtectionResponse>"""


@dataclass(kw_only=True)
class Aws:
    """An account as it is now.

    `shard_plan` is that of the deployed functions. `denied` are operations that its credentials may not use. `stack` is
    the status of the one stack, if there is one, and `tables` are that stack's, none of them protected. `muted` are the
    rules that mute `alarms` now.
    """

    refused: str | None = None
    bootstrap: int | None = 21
    concurrency: int = 1000
    table_writes: int = 100_000
    reserved: Mapping[str, int] = field(default_factory=dict)
    shard_plan: str | None = None
    denied: frozenset[str] = frozenset()
    stack: str | None = None
    tables: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    muted: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def environment(self, url: str) -> dict[str, str]:
        return {**CREDENTIALS, "AWS_REGION": REGION, "AWS_ENDPOINT_URL": url}


@contextmanager
def answering(aws: Aws) -> Iterator[str]:
    class Handler(Answering):
        def called(self) -> None:
            operation, names = _operation(self)
            aws.asked.append(operation)
            status, body, kind = _answer(aws, operation, names)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with listening(Handler) as url:
        yield url


def _operation(request: Answering) -> tuple[str, Mapping[str, Any]]:
    """The operation's name and what it names: by its target header, its form, or its path."""
    body = request.body()
    if target := request.headers.get("X-Amz-Target"):
        return target.rpartition(".")[2], json.loads(body)
    if body.startswith(b"Action="):
        form = parse_qs(body.decode())
        return form["Action"][0], form
    parts = request.path.strip("/").split("/")
    if parts[1] == "account-settings":
        return "GetAccountSettings", {}
    operations = {"concurrency": "GetFunctionConcurrency", "configuration": "GetFunctionConfiguration"}
    return operations[parts[3]], {"FunctionName": parts[2]}


def _answer(aws: Aws, operation: str, names: Mapping[str, Any]) -> tuple[int, bytes, str]:
    if operation in aws.denied:
        return _json(400, {"__type": "AccessDeniedException", "message": "not you"})
    match operation:
        case "GetCallerIdentity" if aws.refused:
            return 403, _REFUSED.format(aws.refused, "it is not good").encode(), "text/xml"
        case "GetCallerIdentity":
            return 200, _IDENTITY.encode(), "text/xml"
        case "DescribeStacks" if aws.stack:
            return 200, _STACK.format(names["StackName"][0], aws.stack).encode(), "text/xml"
        case "ListStackResources":
            return 200, _RESOURCES.format("".join(map(_TABLE.format, aws.tables))).encode(), "text/xml"
        case "UpdateTerminationProtection":
            return 200, _PROTECTED.encode(), "text/xml"
        case "DescribeTable" | "UpdateTable":
            return _json(200, {"Table": {"TableName": names["TableName"]}, "TableDescription": {}})
        case "DescribeStacks":
            return 400, _REFUSED.format("ValidationError", "Stack does not exist").encode(), "text/xml"
        case "GetParameter" if aws.bootstrap is None:
            return _json(400, {"__type": "ParameterNotFound", "message": "no"})
        case "GetParameter":
            return _json(200, {"Parameter": {"Name": names["Name"], "Value": str(aws.bootstrap)}})
        case "GetAccountSettings":
            free = aws.concurrency - sum(aws.reserved.values())
            limits = {"ConcurrentExecutions": aws.concurrency, "UnreservedConcurrentExecutions": free}
            return _json(200, {"AccountLimit": limits})
        case "GetServiceQuota":
            assert (names["ServiceCode"], names["QuotaCode"]) == ("dynamodb", "L-AB614373")
            return _json(200, {"Quota": {"Value": float(aws.table_writes)}})
        case "GetFunctionConcurrency":
            reserved = aws.reserved.get(names["FunctionName"])
            return _json(200, {} if reserved is None else {"ReservedConcurrentExecutions": reserved})
        case "GetFunctionConfiguration" if aws.shard_plan is None:
            return _json(404, {"__type": "ResourceNotFoundException", "message": "no"})
        case "GetFunctionConfiguration":
            return _json(200, {"Environment": {"Variables": {"SHARD_PLAN": aws.shard_plan}}})
        case "DescribeAlarms":
            made = [{"AlarmName": name} for name in aws.alarms]
            return _json(200, {"MetricAlarms": made, "CompositeAlarms": []})
        case "PutAlarmMuteRule":
            aws.muted[names["Name"]] = names
            return _json(200, {})
        case "DeleteAlarmMuteRule":
            del aws.muted[names["AlarmMuteRuleName"]]
            return _json(200, {})
        case "GetItem" | "PutItem":
            return _json(400, {"__type": "com.amazonaws#ResourceNotFoundException", "message": "no table"})
    raise AssertionError(f"{operation} is not answered here")


def _json(status: int, body: object) -> tuple[int, bytes, str]:
    return status, json.dumps(body).encode(), "application/x-amz-json-1.0"
