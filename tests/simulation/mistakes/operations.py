"""Mistakes about operations, which act on many items in slices."""

from typing import Final

from tests.simulation.mistakes.bug import API, OPERATE, SWEEP, bug

_PLANS: Final = "tests/unit/operate/test_plans.py"

BUGS: Final = (
    bug(
        "a repeated slice of an operation acts on any version",
        f"{OPERATE}.actors:acted",
        "item.version != entry.version",
        "False",
        mix="operated",
    ),
    bug(
        "an operation records a slice before it acts",
        f"{OPERATE}.work:Work._act",
        "acted = actors.acted(",
        "sent = [Entry(id=each.id, version=each.version, outcome=Outcome.SENT, at=now) for each in entries]\n"
        "    self._record(page.changed(sent))\n"
        "    page = self._pages[page.number]\n"
        "    acted = actors.acted(",
        mix="operated",
    ),
    bug(
        "an operation tells an item as changed that its own crashed slice changed",
        f"{OPERATE}.actors:_before",
        "if not operation_items.was_acted_on(operation, entry, item):",
        "if True:",
        mix="operated",
    ),
    bug(
        "an operation never counts what a crash left uncounted",
        f"{OPERATE}.work:Work.work",
        "if operation_counts.counted(self._pages.values()) != self._operation.counts:",
        "if False:",
        mix="operated",
    ),
    bug(
        "an operation is over before the ends of its attempts",
        f"{OPERATE}.work:Work._finish_or_wait",
        "if open and self._clock.now() < max(open) + rules.WATCHED_FOR:",
        "if False:",
        mix="operated",
    ),
    bug(
        "the start of an operation is recorded before its execution begins",
        f"{API}.operations.plan:Planner._begun",
        "machines.begin(self.machine, operation.id, run)",
        "pass",
        (
            f"{API}.operations.plan:Planner._begun",
            "return after if self.operations.change(after) else",
            "changed = self.operations.change(after)\n"
            "    machines.begin(self.machine, operation.id, run)\n"
            "    return after if changed else",
        ),
        test="tests/unit/operate/test_carried_out.py"
        "::test_an_execution_whose_start_was_not_recorded_says_so_itself",
    ),
    bug(
        "an overtaken run of an operation ends although it is the newest",
        f"{OPERATE}.carry_out:Conductor._after_overtaking",
        "return _AGAIN_SECONDS",
        "return None",
        test="tests/unit/operate/test_overtaken.py"
        "::test_an_execution_goes_on_when_the_api_notes_its_start_first",
    ),
    bug(
        "an operation whose execution died is taken for one that lives",
        f"{SWEEP}.stalled:StalledOperations._is_stalled",
        "not self.machine.is_running",
        "self.machine.is_running",
        mix="operated",
    ),
    bug(
        "an operation that stopped by itself is continued",
        f"{SWEEP}.stalled:StalledOperations._continue",
        "return tried > 0",
        "pass",
        test="tests/unit/sweep/test_stalled.py::test_an_operation_that_stopped_by_itself_is_not_continued",
    ),
    bug(
        "the row of an operation that runs is left out of the index",
        "postdate.stores.operation_rows:head_row",
        "ACTIVE_ROW if operation.state in ACTIVE else None",
        "ACTIVE_ROW if operation.state is State.PAUSED else None",
        mix="operated",
    ),
    bug(
        "an operation deletes letters that are needed",
        "postdate.domain.letters:_is_over",
        "return item.version != due.version if waits_for_redrive else True",
        "return True",
        mix="operated",
    ),
    bug(
        "an operation deletes a letter when one of its items went on",
        "postdate.domain.letters:used_up",
        "all(told)",
        "any(told)",
        mix="buried together",
    ),
    bug(
        "an operation changes a plan that changed since its slice read it",
        f"{OPERATE}.plans:PlanActor._changed",
        "operation.tenant, plan.version",
        "operation.tenant, None",
        test=f"{_PLANS}::test_a_plan_that_a_person_changes_while_a_slice_is_at_work_is_left_alone",
    ),
    bug(
        "an operation tells a plan that cannot be changed as done",
        f"{OPERATE}.plans:PlanActor._changed",
        "return Outcome.FAILED",
        "return Outcome.DONE",
        test=f"{_PLANS}::test_a_plan_without_a_run_left_cannot_be_resumed",
    ),
    bug(
        "a repeated slice takes its own change of a plan for that of a person",
        "postdate.domain.operation_items:was_acted_on",
        "return item.version == entry.version + 1 and item.state is left",
        "return False",
        test=f"{_PLANS}::test_a_slice_that_is_repeated_finds_its_changes_made",
    ),
    bug(
        "a slice takes a person's change of a plan for its own",
        "postdate.domain.operation_items:was_acted_on",
        " and item.state is left",
        "",
        test=f"{_PLANS}::test_a_plan_that_changed_after_the_plan_of_the_operation_is_left_alone",
    ),
    bug(
        "a retry brings the run to come of a plan forward",
        "postdate.domain.operation_items:why_not",
        "case Action.RETRY if _is_to_come(item):",
        "case Action.RETRY if False:",
        test="tests/unit/operate/test_actions.py::test_a_retry_leaves_the_run_to_come_of_a_plan_alone",
    ),
)
