from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def waive(construct: IConstruct, rule: str, reason: str) -> None:
    """Answers a finding of cdk-nag's AwsSolutions pack, there where it is found."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"AwsSolutions-{rule}", reason=reason))
