"""What can be asked about runs, and told by those who carry them out; and the job API."""

from typing import Final

from functions.api.jobs.forms import JobForm
from functions.api.operation import Operation
from functions.api.runs.forms import CompleteForm, FailForm, HeartbeatForm

_RUN: Final = "/api/v1/runs/{run_id}"
_TOLD: Final = ("malformed", "validation_failed", "not_found", "invalid_state")

RUNS: Final = (
    Operation(
        method="get",
        path="/api/v1/tasks/{task_id}/runs",
        name="listRuns",
        summary="List the runs of a task",
        text="The newest first, the one to come included. Those that were skipped or missed are there as well, with "
        "the reason. The list is a moment behind.",
        answer="RunList",
        scope="tasks:read",
        parameters=("task_id", "run_status", "limit", "cursor"),
        codes=("validation_failed", "not_found"),
    ),
    Operation(
        method="get",
        path="/api/v1/tasks/{task_id}/runs/{run_id}",
        name="getRunOfTask",
        summary="Get a run of a task",
        text="As it is now.",
        answer="Run",
        scope="tasks:read",
        parameters=("task_id", "run_id"),
        headers=("ETag",),
        codes=("not_found",),
    ),
    Operation(
        method="get",
        path=_RUN,
        name="getRun",
        summary="Get a run",
        text="As it is now. A task that runs once is its own only run.",
        answer="Run",
        scope="tasks:read",
        parameters=("run_id",),
        headers=("ETag",),
        codes=("not_found",),
    ),
    Operation(
        method="post",
        path=f"{_RUN}/complete",
        name="completeRun",
        summary="Say that a run is done",
        text="For `ack: explicit`, by the token of the newest attempt. Said again, it is answered the same.",
        answer="Run",
        body=CompleteForm,
        scope="tasks:write",
        parameters=("run_id",),
        headers=("ETag",),
        codes=_TOLD,
    ),
    Operation(
        method="post",
        path=f"{_RUN}/fail",
        name="failRun",
        summary="Say that a run has failed",
        text="For `ack: explicit`, by the token of the newest attempt. Another attempt follows as the task's `retry` "
        "says, unless it is `final`. Said again, it is answered the same.",
        answer="Run",
        body=FailForm,
        scope="tasks:write",
        parameters=("run_id",),
        headers=("ETag",),
        codes=_TOLD,
    ),
    Operation(
        method="post",
        path=f"{_RUN}/heartbeat",
        name="extendRun",
        summary="Say that a run is still being worked on",
        text="For `ack: explicit`, by the token of the newest attempt. `lease_until` says until when the receiver may "
        "be silent now; a heartbeat never makes that earlier.",
        answer="Run",
        body=HeartbeatForm,
        scope="tasks:write",
        parameters=("run_id",),
        headers=("ETag",),
        codes=_TOLD,
    ),
    Operation(
        method="post",
        path=f"{_RUN}/retry",
        name="retryRun",
        summary="Try a dead run again",
        text="Sends the call that a redrive of its dead letter would send; it has all its attempts again. The answer "
        "shows the run as it is until that call arrives: DEAD. After its deadline no attempt begins.",
        answer="Run",
        status=202,
        scope="tasks:write",
        parameters=("run_id",),
        headers=("ETag",),
        codes=("not_found", "invalid_state"),
    ),
)

JOBS: Final = (
    Operation(
        method="post",
        path="/v1/jobs",
        name="registerJob",
        summary="Register a job",
        text="A task under other names: see there.",
        answer="Job",
        status=201,
        body=JobForm,
        scope="tasks:write",
        headers=("Location", "Idempotent-Replayed"),
        codes=(
            *("malformed", "validation_failed", "limit_exceeded"),
            *("destination_not_allowed", "payload_too_large"),
            *("idempotency_key_reused", "idempotency_in_progress"),
        ),
    ),
    Operation(
        method="get",
        path="/v1/jobs/{job_id}",
        name="getJob",
        summary="Get a job",
        text="As it is now. Of a recurring one: how its last run went.",
        answer="JobDetails",
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
