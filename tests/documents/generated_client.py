"""Registers a payment, a task and a cron with the client that openapi-python-client generates, and prints their ids."""

import json
import sys

from generated import AuthenticatedClient
from generated.api.jobs import get_job, register_job
from generated.api.payments import schedule_payment
from generated.api.tasks import change_task, register_task
from generated.models import (
    ChangeForm,
    Job,
    JobDetailsWithPayload,
    JobForm,
    JobSqsForm,
    JobSqsTarget,
    Payment,
    PaymentForm,
    RecurringTask,
    SqsForm,
    Task,
    TaskForm,
)


def main(url: str, key: str, payer: str, payee: str, queue_url: str) -> None:
    client = AuthenticatedClient(base_url=url, token=key, httpx_args={"trust_env": False})
    asked = PaymentForm(from_account_id=payer, to_account_id=payee, amount=7, delay_seconds=3600)
    payment = schedule_payment.sync(client=client, body=asked, idempotency_key=f"generated-{payer}")
    assert isinstance(payment, Payment), payment
    target = SqsForm(type_="sqs", queue_url=queue_url)
    task = register_task.sync(
        client=client, body=TaskForm(target=target, delay_seconds=3600, payload={"n": 1})
    )
    assert isinstance(task, Task), task
    plan = register_task.sync(
        client=client, body=TaskForm(target=target, cron="0 5 * * *", timezone="Europe/Rome")
    )
    assert isinstance(plan, RecurringTask), plan
    changed = change_task.sync(plan.task_id, client=client, body=ChangeForm(cron="0 6 * * *"))
    assert isinstance(changed, RecurringTask), changed
    job_target = JobSqsForm(type_="sqs", queue_url=queue_url)
    job = register_job.sync(client=client, body=JobForm(target=job_target, delay_seconds=3600))
    assert isinstance(job, Job), job
    details = get_job.sync(job.job_id, client=client)
    assert isinstance(details, JobDetailsWithPayload), details
    assert isinstance(details.target, JobSqsTarget), details
    assert details.target.queue_url == queue_url
    print(json.dumps([payment.payment_id, task.task_id, changed.task_id, job.job_id]))


if __name__ == "__main__":
    main(*sys.argv[1:])
