"""What can be asked of the job API."""

from typing import Final

from functions.api.jobs.forms import JobForm
from functions.api.operation import Operation

JOBS: Final = (
    Operation(
        method="post",
        path="/v1/jobs",
        name="registerJob",
        summary="Register a job",
        text="A task under other names, which are in camel case down to `target.queueUrl`: see there. Without a "
        "`target` the job goes to the tenant's default target.",
        answer="Job",
        status=201,
        body=JobForm,
        scope="tasks:write",
        headers=("Location", "Idempotent-Replayed"),
        codes=(
            *("malformed", "validation_failed", "limit_exceeded"),
            *("destination_not_allowed", "payload_too_large"),
            *("idempotency_key_reused", "idempotency_in_progress", "loop_refused"),
        ),
    ),
    Operation(
        method="get",
        path="/v1/jobs",
        name="listJobs",
        summary="List jobs",
        text="All tasks are jobs: see there. The list is a moment behind.",
        answer="JobList",
        scope="tasks:read",
        parameters=("status", "name", "tag", "limit", "cursor"),
        codes=("validation_failed",),
    ),
    Operation(
        method="get",
        path="/v1/jobs/{job_id}",
        name="getJob",
        summary="Get a job",
        text="As it is now, with what was asked for. Of a recurring one: how its last run went.",
        answer="JobDetailsWithPayload",
        scope="tasks:read",
        parameters=("job_id",),
        codes=("not_found",),
    ),
    Operation(
        method="post",
        path="/v1/jobs/{job_id}/cancel",
        name="cancelJob",
        summary="Cancel a job",
        text="As a task is cancelled.",
        answer="CancelledJob",
        scope="tasks:write",
        parameters=("job_id",),
        codes=("not_found", "invalid_state"),
    ),
)
