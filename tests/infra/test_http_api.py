import json

from tests.infra.synthesis import Stacks

ROUTES = "AWS::ApiGatewayV2::Route"


def test_everything_but_the_open_pages_and_the_internal_route_passes_the_authorizer(stacks: Stacks) -> None:
    routes = {each["RouteKey"]: each["AuthorizationType"] for each in stacks.properties(ROUTES).values()}
    assert routes == {
        "GET /health": "NONE",
        "GET /openapi.json": "NONE",
        "GET /docs": "NONE",
        "GET /console": "NONE",
        "GET /console/{file}": "NONE",
        "HEAD /health": "NONE",
        "HEAD /openapi.json": "NONE",
        "HEAD /docs": "NONE",
        "HEAD /console": "NONE",
        "HEAD /console/{file}": "NONE",
        "POST /api/v1/internal/payments/{payment_id}/execute": "NONE",
        "ANY /{proxy+}": "CUSTOM",
    }


def test_the_authorizer_is_asked_once_a_minute_for_a_key_and_never_without_one(stacks: Stacks) -> None:
    (authorizer,) = stacks.properties("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["AuthorizerType"] == "REQUEST"
    assert authorizer["EnableSimpleResponses"] is True
    assert authorizer["AuthorizerPayloadFormatVersion"] == "2.0"
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["AuthorizerResultTtlInSeconds"] == 55
    assert "function:authorize/" in stacks.text(authorizer["AuthorizerUri"])


def test_every_route_leads_to_the_api_function(stacks: Stacks) -> None:
    (integration,) = stacks.properties("AWS::ApiGatewayV2::Integration").values()
    assert stacks.text(integration["IntegrationUri"]) == "function:api"
    assert integration["PayloadFormatVersion"] == "2.0"


def test_every_request_leaves_a_line_in_the_access_log(stacks: Stacks) -> None:
    (stage,) = stacks.properties("AWS::ApiGatewayV2::Stage").values()
    settings = stage["AccessLogSettings"]
    assert stacks.text(settings["DestinationArn"]) == f"logs:/postdate/{stacks.environment.name}/access"
    assert json.loads(settings["Format"])["request_id"] == "$context.requestId"


def test_aws_is_throttled(stacks: Stacks) -> None:
    (stage,) = stacks.properties("AWS::ApiGatewayV2::Stage").values()
    if stacks.environment.name != "local":
        limits = stage["DefaultRouteSettings"]
        assert 0 < limits["ThrottlingRateLimit"] <= limits["ThrottlingBurstLimit"]
