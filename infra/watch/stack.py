"""The stack that watches an environment: two topics, the alarms of the table, dashboards, and saved queries."""

from typing import Final

from aws_cdk import (
    Aws,
    CfnOutput,
    Duration,
    Stack,
    aws_cloudwatch,
    aws_cloudwatch_actions,
    aws_iam,
    aws_logs,
    aws_sns,
)
from constructs import Construct

from infra.environment import Environment
from infra.watch.alarm import (
    ACCOUNT,
    API_ID,
    PARTITION,
    REGION,
    Alarm,
    Comparison,
    Composite,
    Missing,
    Series,
    Severity,
    described,
)
from infra.watch.dashboards import add_dashboards
from infra.watch.escalation import add_escalation
from infra.watch.queries import QUERIES, Query
from infra.watch.signal import add_signal
from infra.watch.table import alarms, composites

_MISSING: Final = {
    Missing.MISSING: aws_cloudwatch.TreatMissingData.MISSING,
    Missing.IGNORE: aws_cloudwatch.TreatMissingData.IGNORE,
    Missing.BREACHING: aws_cloudwatch.TreatMissingData.BREACHING,
    Missing.NOT_BREACHING: aws_cloudwatch.TreatMissingData.NOT_BREACHING,
}
_COMPARISON: Final = {
    Comparison.ABOVE: aws_cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
    Comparison.BELOW: aws_cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
}


class Watch(Stack):
    """Subscribe the person on call to the topic `page` and the team's inbox to the topic `ticket`."""

    def __init__(self, scope: Construct, *, environment: Environment, api_id: str) -> None:
        super().__init__(scope, environment.named("watch"))
        self._environment = environment
        self._known = {
            API_ID: api_id,
            PARTITION: Aws.PARTITION,
            REGION: Aws.REGION,
            ACCOUNT: Aws.ACCOUNT_ID,
        }
        self._topics = {
            severity: aws_sns.Topic(
                self,
                severity.value,
                topic_name=environment.named(severity.value),
                enforce_ssl=True,
            )
            for severity in (Severity.PAGE, Severity.TICKET)
        }
        for topic in self._topics.values():
            _let_alarms_tell(topic)
        made: dict[str, aws_cloudwatch.AlarmBase] = {}
        for alarm in alarms(environment):
            made[alarm.name] = self._alarm(alarm)
        # Composite alarms name single alarms, so the single ones come first.
        for composite in composites(environment):
            made[composite.name] = self._composite(composite, made)
        add_dashboards(self, environment=environment, metric=self.metric, alarms=made)
        add_escalation(
            self,
            environment=environment,
            alarms=alarms(environment),
            page=self._topics[Severity.PAGE],
            ticket=self._topics[Severity.TICKET],
        )
        add_signal(self, environment=environment)
        for query in QUERIES:
            self._query(query)
        for severity, topic in self._topics.items():
            CfnOutput(self, f"{severity.value}-topic", value=topic.topic_arn).override_logical_id(
                f"{severity.value.title()}TopicArn"
            )

    def metric(self, series: Series, *, period: int) -> aws_cloudwatch.Metric:
        return aws_cloudwatch.Metric(
            namespace=series.namespace,
            metric_name=series.name,
            statistic=series.statistic,
            dimensions_map={name: self._filled(value) for name, value in series.dimensions},
            period=Duration.seconds(period),
        )

    def _filled(self, text: str) -> str:
        for name, value in self._known.items():
            text = text.replace(name, value)
        return text

    def _alarm(self, alarm: Alarm) -> aws_cloudwatch.Alarm:
        metrics = {name: self.metric(series, period=alarm.period) for name, series in alarm.series.items()}
        measured: aws_cloudwatch.IMetric = next(iter(metrics.values()))
        if alarm.expression:
            measured = aws_cloudwatch.MathExpression(
                expression=alarm.expression,
                using_metrics=metrics,
                label=alarm.name,
                period=Duration.seconds(alarm.period),
            )
        made = aws_cloudwatch.Alarm(
            self,
            alarm.name,
            alarm_name=self._environment.named(alarm.name),
            alarm_description=described(alarm),
            metric=measured,
            threshold=alarm.threshold,
            comparison_operator=_COMPARISON[alarm.comparison],
            datapoints_to_alarm=alarm.datapoints,
            evaluation_periods=alarm.periods,
            treat_missing_data=_MISSING[alarm.missing],
        )
        self._tell(alarm.severity, made)
        return made

    def _composite(
        self, composite: Composite, made: dict[str, aws_cloudwatch.AlarmBase]
    ) -> aws_cloudwatch.CompositeAlarm:
        """The rule with each name replaced by a question for the alarm of that name."""
        words = composite.rule.replace("(", "( ").replace(")", " )").split()
        rule = " ".join(f'ALARM("{made[word].alarm_name}")' if word in made else word for word in words)
        alarm = aws_cloudwatch.CompositeAlarm(
            self,
            composite.name,
            composite_alarm_name=self._environment.named(composite.name),
            alarm_description=described(composite),
            alarm_rule=aws_cloudwatch.AlarmRule.from_string(rule),
        )
        alarm.node.add_dependency(*(made[part] for part in composite.parts))
        self._tell(composite.severity, alarm)
        return alarm

    def _query(self, query: Query) -> None:
        aws_logs.CfnQueryDefinition(
            self,
            f"query-{query.name}",
            name=f"postdate/{self._environment.name}/{query.name}",
            query_string=query.text,
            log_group_names=[
                f"/aws/lambda/{self._environment.named(function)}" for function in query.functions
            ],
        )

    def _tell(self, severity: Severity, alarm: aws_cloudwatch.AlarmBase) -> None:
        if severity is not Severity.PART:
            action = aws_cloudwatch_actions.SnsAction(self._topics[severity])
            alarm.add_alarm_action(action)
            alarm.add_ok_action(action)


def _let_alarms_tell(topic: aws_sns.Topic) -> None:
    """Allows the account's alarms to publish. SNS's own policy allows that too, but the policy that demands TLS
    replaces it."""
    topic.add_to_resource_policy(
        aws_iam.PolicyStatement(
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            principals=[aws_iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
        )
    )
