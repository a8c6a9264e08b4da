"""Runs for threads.

`python client/generate.py` writes this file from `async_runs.py`.
"""

from collections.abc import Iterator
from typing import Unpack

from postdate_client.answers import Run
from postdate_client.forms import CompleteForm, FailForm, HeartbeatForm
from postdate_client.queries import AllRunsQuery, RunsQuery
from postdate_client.requests import Requests
from postdate_client.values import given, named, path_of


class Runs(Requests):
    """Runs of tasks, and what a worker says about its run. `token` is that of the delivery: after a newer attempt has
    begun, InvalidState tells the worker to stop. A worker may say the same again."""

    def run(self, run_id: str) -> Run:
        """A run by its id. A one-time task is its own only run."""
        answer: Run = self.request("GET", path_of("runs", run_id))
        return answer

    def runs(self, task_id: str, **query: Unpack[RunsQuery]) -> Iterator[Run]:
        """The runs of a task, the newest first."""
        return self.pages(f"{path_of('tasks', task_id)}/runs", "runs", query=query)

    def all_runs(self, **query: Unpack[AllRunsQuery]) -> Iterator[Run]:
        """The runs of all recurring tasks, the latest first."""
        return self.pages("/api/v1/runs", "runs", query=named(query))

    def complete_run(self, run_id: str, **form: Unpack[CompleteForm]) -> Run:
        """Says that the work is done."""
        answer: Run = self.request("POST", f"{path_of('runs', run_id)}/complete", form, repeatable=True)
        return answer

    def fail_run(self, run_id: str, **form: Unpack[FailForm]) -> Run:
        """Says that the work failed. Another attempt follows by the task's `retry`, unless the failure is `final`."""
        path = f"{path_of('runs', run_id)}/fail"
        answer: Run = self.request("POST", path, given(form), repeatable=True)
        return answer

    def extend_run(self, run_id: str, **form: Unpack[HeartbeatForm]) -> Run:
        """Says that the worker lives, and needs more time."""
        path = f"{path_of('runs', run_id)}/heartbeat"
        answer: Run = self.request("POST", path, given(form), repeatable=True)
        return answer

    def retry_run(self, run_id: str) -> Run:
        """Begins the attempts of a DEAD run anew. It is sent once."""
        answer: Run = self.request("POST", f"{path_of('runs', run_id)}/retry")
        return answer
