"""The body of a request to register a job: a task in camel case."""

from typing import Final

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from functions.api.tasks.fields import FlowControlForm, RetryForm
from functions.api.tasks.forms import BatchTaskForm
from functions.api.tasks.targets import CamelTargetForm
from postdate.domain.errors import ValidationFailed
from postdate.domain.task import Destination

_CAMEL: Final = ConfigDict(alias_generator=to_camel)


class JobRetryForm(RetryForm):
    model_config = _CAMEL


class JobFlowControlForm(FlowControlForm):
    """`rate`, `parallelism` or both are needed. Only with a `rate` may `periodSeconds` differ from its default."""

    model_config = _CAMEL


class JobForm(BatchTaskForm):
    """Exactly one of `runAt`, `delaySeconds` and `cron` is needed; further rules as for a task. Without a `target` the
    job goes to the tenant's default target.
    """

    model_config = _CAMEL

    tells_key = True

    target: CamelTargetForm | None = None  # type: ignore[assignment]
    retry: JobRetryForm = JobRetryForm()
    flow_control: JobFlowControlForm | None = None

    def destination(self, usual: Destination | None) -> Destination:
        given = usual if self.target is None else self.target.destination()
        if given is None:
            raise ValidationFailed([("target", "is needed: the tenant has no default target")])
        return given
