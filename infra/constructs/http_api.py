import json
from typing import Final, cast

from aws_cdk import (
    CfnOutput,
    Duration,
    aws_apigatewayv2,
    aws_apigatewayv2_authorizers,
    aws_apigatewayv2_integrations,
)
from constructs import Construct

from infra.constructs.function import Function
from infra.constructs.log_group import LogGroup
from infra.constructs.waiver import waive
from infra.environment import Environment

OPEN: Final = ("/health", "/openapi.json", "/docs", "/console", "/console/{file}")
INTERNAL: Final = "/api/v1/internal/payments/{payment_id}/execute"
KEY_KNOWN_FOR: Final = Duration.seconds(55)

_LOGGED: Final = {
    "request_id": "$context.requestId",
    "route": "$context.routeKey",
    "path": "$context.path",
    "status": "$context.status",
    "tenant": "$context.authorizer.tenant",
    "latency_ms": "$context.responseLatency",
    "integration_latency_ms": "$context.integrationLatency",
    "error": "$context.error.message",
    "integration_error": "$context.integrationErrorMessage",
}


class HttpApi(Construct):
    """The gateway. Every request goes to one function; all but those of open pages and of the internal route pass the
    authorizer.

    The gateway refuses a request without a key by itself, and remembers for each key what the authorizer said of it.
    The authorizer refuses nobody: the function looks at the key again and refuses, so that a refusal looks like every
    other problem. The internal route shows its token in another header, which the function checks alone.
    """

    def __init__(
        self, scope: Construct, name: str, *, environment: Environment, api: Function, authorizer: Function
    ) -> None:
        super().__init__(scope, name)
        http = aws_apigatewayv2.HttpApi(
            self, "api", api_name=environment.named("api"), create_default_stage=False
        )
        integration = aws_apigatewayv2_integrations.HttpLambdaIntegration(
            "function", api, scope_permission_to_route=False
        )
        for path in OPEN:
            for route in http.add_routes(
                path=path,
                methods=[aws_apigatewayv2.HttpMethod.GET, aws_apigatewayv2.HttpMethod.HEAD],
                integration=integration,
            ):
                waive(route, "APIG4", "Health, documentation and console are for those who have no key yet.")
        for route in http.add_routes(
            path=INTERNAL, methods=[aws_apigatewayv2.HttpMethod.POST], integration=integration
        ):
            waive(route, "APIG4", "Its token stands in X-Internal-Auth, and the function checks it.")
        http.add_routes(
            path="/{proxy+}",
            methods=[aws_apigatewayv2.HttpMethod.ANY],
            integration=integration,
            authorizer=aws_apigatewayv2_authorizers.HttpLambdaAuthorizer(
                "keys",
                authorizer,
                authorizer_name=environment.named("keys"),
                response_types=[aws_apigatewayv2_authorizers.HttpLambdaResponseType.SIMPLE],
                identity_source=["$request.header.Authorization"],
                results_cache_ttl=KEY_KNOWN_FOR,
            ),
        )
        stage = self._stage(http, environment)
        CfnOutput(self, "url", value=stage.url).override_logical_id("ApiUrl")
        self.id = http.api_id
        CfnOutput(self, "id", value=self.id).override_logical_id("ApiId")

    def _stage(self, http: aws_apigatewayv2.HttpApi, environment: Environment) -> aws_apigatewayv2.HttpStage:
        throttle = environment.throttle
        stage = aws_apigatewayv2.HttpStage(
            self,
            "stage",
            http_api=http,
            stage_name="$default",
            auto_deploy=True,
            throttle=aws_apigatewayv2.ThrottleSettings(
                rate_limit=throttle.requests_per_second, burst_limit=throttle.burst
            )
            if throttle
            else None,
        )
        logs = LogGroup(
            self, "logs", environment=environment, log_group_name=f"/postdate/{environment.name}/access"
        )
        # The construct takes its settings as an interface, which from Python costs a call back on each read.
        template = cast(aws_apigatewayv2.CfnStage, stage.node.default_child)
        template.access_log_settings = aws_apigatewayv2.CfnStage.AccessLogSettingsProperty(
            destination_arn=logs.log_group_arn, format=json.dumps(_LOGGED)
        )
        return stage
