"""Mistakes about operations, which act on many items in slices."""

from typing import Final

from tests.simulation.mistakes.bug import API, OPERATE, bug

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
        f"{OPERATE}.carry_out:_Work._act",
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
        "if not rules.was_acted_on(operation, entry, item):",
        "if True:",
        mix="operated",
    ),
    bug(
        "an operation never counts what a crash left uncounted",
        f"{OPERATE}.carry_out:_Work.work",
        "if rules.counted(self._pages.values()) != self._operation.counts:",
        "if False:",
        mix="operated",
    ),
    bug(
        "an operation is over before the ends of its attempts",
        f"{OPERATE}.carry_out:_Work._wait_for_ends",
        "if open and now < max(open) + rules.WATCHED_FOR:",
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
        mix="operated",
    ),
    bug(
        "an overtaken run of an operation ends although it is the newest",
        f"{OPERATE}.carry_out:Conductor._after_overtaking",
        "return _AGAIN_SECONDS",
        "return None",
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
)
