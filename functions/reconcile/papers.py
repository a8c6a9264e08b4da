"""The working papers of a run, by their names. A step that is repeated writes the same papers again."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from postdate.domain.reconciled_sums import Accounts
from postdate.domain.reconciling import Finding
from postdate.stores.reports import Reports

# The papers' folder. Its objects expire after a few days.
WORK: Final = "work/"
REPORTS: Final = "reports/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Papers:
    reports: Reports
    run: str

    def put_sums(self, accounts: Accounts, *, parts: int, source: str) -> None:
        for number, sums in enumerate(accounts.in_parts(parts)):
            if sums:
                self.reports.put(f"{self._folder}sums/{number:03d}/{source}.json", sums)

    def sums(self, part: int) -> Accounts:
        """The sums of this part's accounts, from all scans together."""
        accounts = Accounts()
        for name in self.reports.names(f"{self._folder}sums/{part:03d}/"):
            accounts.merge(self.reports.get(name) or {})
        return accounts

    def put_found(self, source: str, findings: Iterable[Finding], **told: Any) -> None:
        """`told` are counts, and lists of what could not be judged."""
        found = {"findings": [each.values() for each in findings], **told}
        self.reports.put(f"{self._folder}found/{source}.json", found)

    def found(self) -> Iterator[dict[str, Any]]:
        for name in self.reports.names(f"{self._folder}found/"):
            yield self.reports.get(name) or {}

    def put_letters(self, letters: Any) -> None:
        self.reports.put(f"{self._folder}letters.json", letters)

    def letters(self) -> Any:
        return self.reports.get(f"{self._folder}letters.json")

    def put_report(self, report: Any) -> str:
        name = f"{REPORTS}{self.run}.json"
        self.reports.put(name, report)
        return name

    @property
    def _folder(self) -> str:
        return f"{WORK}{self.run}/"
