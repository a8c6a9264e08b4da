"""Reconciles money: sums by scans, in segments and parts, and then a look at each account whose sums disagree."""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice
from typing import Any, Final

from functions.reconcile.papers import Papers
from postdate.domain.invariants import Books, checks
from postdate.domain.limits import SEGMENTS_MAX
from postdate.domain.reconciled_sums import Accounts, Sums
from postdate.domain.reconciling import ACCOUNT_EXISTS, SET_TO_JOURNAL, Finding
from postdate.stores.ledger import Ledger
from postdate.stores.scans import TABLES, Scans, added
from postdate.use_cases.auditing import Auditor

# Sums of so many accounts are held in memory. Then they are written down, and the step reads on.
ACCOUNTS_AT_ONCE: Final = 20_000
# Accounts whose sums disagree, in one step. They are those in use, and few of them are wrong.
SUSPECTS_AT_ONCE: Final = 5_000
PARTS_MAX: Final = 200
_SEGMENT_BYTES: Final = 256 * 1024 * 1024
_LOOKED_AT: Final = 20
# Said of all books together only.
_OF_ALL: Final = frozenset({"conservation"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Collector:
    """`segments_max` bounds the parts of a table that are scanned side by side."""

    scans: Scans
    accounts_max: int = ACCOUNTS_AT_ONCE
    segments_max: Callable[[], int] = lambda: SEGMENTS_MAX

    def plan(self, started_at: datetime) -> tuple[list[dict[str, Any]], list[int]]:
        """The segments of the tables, and the parts into which accounts are divided: both follow from the tables'
        sizes, so that no step needs more memory than another."""
        accounts, _ = self.scans.about("accounts")
        parts = min(PARTS_MAX, 1 + accounts // self.accounts_max)
        segments: list[dict[str, Any]] = []
        for table in TABLES:
            _, size = self.scans.about(table)
            count = min(self.segments_max(), 1 + size // _SEGMENT_BYTES)
            segments += [
                {
                    "table": table,
                    "segment": number,
                    "segments": count,
                    "started_at": started_at.isoformat(),
                    "parts": parts,
                    "after": None,
                    "step": 0,
                }
                for number in range(count)
            ]
        return segments, list(range(parts))

    def scan(
        self, scan: Mapping[str, Any], papers: Papers, *, has_time: Callable[[], bool]
    ) -> dict[str, Any]:
        """Reads on in one segment while there is time. Writes down the sums at the end, and each time they are those of
        many accounts. Returns where the next step goes on. Sums that a step wrote before it died may count twice:
        their accounts are suspects then, and no more."""
        accounts, spills = Accounts(), 0
        after, rows = scan["after"], 0
        table, segment = scan["table"], scan["segment"]
        at = datetime.fromisoformat(scan["started_at"])
        source = f"{table}-{segment:03d}-{scan['step']:05d}"
        pages = self.scans.pages(table, segment=segment, segments=scan["segments"], after=after)
        for page in pages:
            added(accounts, table, page.rows, at=at)
            rows += len(page.rows)
            after = page.after
            if after is None or not has_time():
                break
            if len(accounts) >= self.accounts_max:
                papers.put_sums(accounts, parts=scan["parts"], source=f"{source}-{spills:05d}")
                accounts, spills = Accounts(), spills + 1
        papers.put_sums(accounts, parts=scan["parts"], source=f"{source}-{spills:05d}")
        papers.put_found(source, (), rows={table: rows})
        return {**scan, "after": after, "step": scan["step"] + 1, "goes_on": after is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Judge:
    """Looks at accounts as a whole, as an audit does, until each stood still: what moves is no contradiction.
    `erasing` returns the tenants whose rows get new names at this time: their accounts are not judged."""

    ledger: Ledger
    auditor: Auditor
    erasing: Callable[[], Set[str]] = frozenset

    def compare(
        self, part: int, papers: Papers, *, after: str, has_time: Callable[[], bool]
    ) -> dict[str, Any]:
        """Looks at the suspects of one part behind the account `after`. Returns where the next step goes on."""
        accounts = papers.sums(part)
        suspects = list(islice(accounts.suspects(after=after), SUSPECTS_AT_ONCE))
        findings: list[Finding] = []
        moving: list[str] = []
        last = None
        renamed = self.erasing() if suspects else frozenset[str]()
        for some in _in_turn(suspects):
            if last is not None and not has_time():
                break
            # The rows of a tenant under erasure have old and new names, so their sums say nothing yet.
            if _tenant_of(some[0][0]) in renamed:
                moving += [name for name, _ in some]
                last = some[-1][0]
                continue
            tenant, names = _tenant_of(some[0][0]), [_account_of(name) for name, _ in some]
            books = self.auditor.judged_all(tenant, names)
            for name, sums in some:
                found = books[_account_of(name)]
                if found is None:
                    # The account never stood still, or does not exist although rows name it.
                    told = self._without(tenant, _account_of(name), sums)
                    findings += told
                    moving += [] if told else [name]
                else:
                    findings += _contradictions(tenant, found)
                last = name
        goes_on = last is not None and (last != suspects[-1][0] or len(suspects) == SUSPECTS_AT_ONCE)
        counts = {"accounts": len(accounts) if not after else 0}
        # The name follows from where the step began: a repeated step writes the same paper.
        source = f"part-{part:03d}-{after.replace('/', '_') or 'first'}"
        papers.put_found(source, findings, moving=moving, **counts)
        return {"after": last if goes_on else "", "goes_on": goes_on}

    def _without(self, tenant: str, name: str, sums: Sums) -> list[Finding]:
        """An account that cannot be judged: one that keeps changing, or one that is named and not there."""
        if sums.is_there or self.ledger.account(tenant, name) is not None:
            return []
        observed = {"moved": sums.moved, "held": sums.held}
        return [Finding(check=ACCOUNT_EXISTS, tenant=tenant, subject=name, observed=None, expected=observed)]


def _contradictions(tenant: str, books: Books) -> Iterable[Finding]:
    for check in checks([books], whole=False):
        if not check.ok and check.name not in _OF_ALL:
            yield Finding(
                check=check.name,
                tenant=tenant,
                subject=books.account.id,
                observed=check.observed,
                expected=check.expected,
                repair=_repair(books),
            )


def _repair(books: Books) -> str:
    """An account can be set to what its journal says, if what its journal says is sound itself."""
    sound = {each.name for each in checks([books], whole=False) if each.ok}
    trusted = {"legs_sum_to_zero", "one_movement_a_payment"} <= sound and books.moved >= books.held
    return SET_TO_JOURNAL if trusted else ""


def _in_turn(suspects: list[tuple[str, Sums]]) -> Iterable[list[tuple[str, Sums]]]:
    """Yields accounts in groups of one tenant."""
    for _, group in groupby(suspects, key=lambda each: _tenant_of(each[0])):
        while some := list(islice(group, _LOOKED_AT)):
            yield some


def _tenant_of(name: str) -> str:
    return name.partition("#")[0]


def _account_of(name: str) -> str:
    return name.partition("#")[2]
