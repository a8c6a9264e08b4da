"""Registers a payment, a task and a cron with the models that datamodel-code-generator makes, and prints their ids.

The models are sent whole, with every default, as `model_dump` gives them.
"""

import json
import sys
from typing import Any

from models import Job, JobForm, Payment, PaymentForm, RecurringTask, SqsForm, Task, TaskForm

from cli.client import Client


def main(url: str, key: str, payer: str, payee: str, queue_url: str) -> None:
    with Client(url, key) as client:

        def send(path: str, form: Any, **headers: str) -> Any:
            return client.post(path, form.model_dump(mode="json", by_alias=True), **headers).expect(201)

        asked = PaymentForm(from_account_id=payer, to_account_id=payee, amount=7, delay_seconds=3600)
        payment = Payment(**send("/api/v1/payments/schedule", asked, idempotency_key=f"models-{payer}"))
        target = SqsForm(type="sqs", queue_url=queue_url)
        task = Task(**send("/api/v1/tasks", TaskForm(target=target, delay_seconds=3600, payload={"n": 1})))
        cron = TaskForm(target=target, cron="0 6 * * *", timezone="Europe/Rome")
        plan = RecurringTask(**send("/api/v1/tasks", cron))
        job = Job(**send("/v1/jobs", JobForm(delaySeconds=3600)))
        print(json.dumps([payment.payment_id, task.task_id, plan.task_id, job.jobId]))


if __name__ == "__main__":
    main(*sys.argv[1:])
