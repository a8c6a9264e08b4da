"""The overview on the command line is one look: what was due, what waits, what is held back, what fires."""

from typing import Any

from cli.commands import overview


def figures(due: int, **others: int | None) -> dict[str, Any]:
    late: dict[str, int | None] = {"lateness_p50_ms": None, "lateness_p99_ms": None}
    return {"due": due, "done": due, "failed": 0, "retried": 0, **late, **others}


def due(tasks: int = 0, payments: int = 0, amount: int = 0) -> dict[str, int]:
    return {"tasks": tasks, "payments": payments, "amount": amount}


ANSWER: dict[str, Any] = {
    "at": "2026-11-18T10:06:20.117Z",
    "minutes": [
        {"minute": "2026-11-18T10:03:00.000Z", "counted": True, "tasks": figures(0), "payments": None},
        {
            "minute": "2026-11-18T10:04:00.000Z",
            "counted": True,
            "tasks": figures(41, failed=1, lateness_p99_ms=17),
            "payments": figures(12),
        },
        {"minute": "2026-11-18T10:05:00.000Z", "counted": False, "tasks": figures(0), "payments": figures(0)},
    ],
    "queues": [
        {"queue": "tasks", "waiting": 2, "in_flight": 7, "delayed": 15, "oldest_seconds": 34},
        {"queue": "slow", "waiting": 0, "in_flight": 0, "delayed": 0, "oldest_seconds": None},
    ],
    "sweep": {"alive": False, "behind_minutes": 3, "swept_until": None, "heartbeat_at": None},
    "destinations": [
        {
            "tenant": "acme",
            "type": "webhook",
            "address": "https://down.example",
            "state": "OPEN",
            "waiting": 14,
            "last_error": "connection refused",
        }
    ],
    "reconciliation": {
        "reconciliation_id": "rec_1",
        "ok": False,
        "finished_at": "2026-11-18T02:18:41.112Z",
        "by_check": {"journal_gives_balances": 2},
        "to_approve": 1,
    },
    "paused_flow_keys": [{"tenant": "acme", "key": "mail"}],
    "calendar": {
        "next_hour": due(2, 1, 250),
        "next_day": due(3, 1, 250),
        "next_week": due(9, 5, 1_000),
        "tiers": [
            {"tier": "standard", "next_hour": due(), "next_day": due(), "next_week": due()},
            {
                "tier": "gold",
                "next_hour": due(2, 1, 250),
                "next_day": due(3, 1, 250),
                "next_week": due(9, 5, 900),
            },
        ],
    },
    "firing": [{"alarm": "destination_down", "severity": "ticket", "meaning": "It is down."}],
}


def test_each_part_has_its_line_and_an_idle_minute_has_none() -> None:
    lines = overview.show(ANSWER).splitlines()
    assert [line.split() for line in lines[2:5]] == [
        ["2026-11-18T10:04", "tasks", "41", "41", "1", "0", "-", "17"],
        ["2026-11-18T10:04", "payments", "12", "12", "0", "0", "-", "-"],
        ["2026-11-18T10:05", "not", "counted", "yet"],
    ]
    rest = "\n".join(lines[5:])
    for text in (
        "tasks                 2 waiting       7 in flight      15 delayed, the oldest for 34 s",
        "slow                  0 waiting       0 in flight       0 delayed\n",
        "NOT ALIVE, 3 minutes behind",
        "OPEN acme webhook https://down.example: 14 waiting, connection refused",
        "PAUSED acme flow key mail",
        "TICKET destination_down",
        "reconciliation rec_1 at 2026-11-18T02:18:41.112Z: journal_gives_balances 2, 1 repairs to approve",
    ):
        assert text in rest, text
    words = [" ".join(line.split()) for line in lines]
    for name, amount in (("all", 1000), ("gold", 900)):
        sums = f"2 tasks, 1 payments (250) 3 tasks, 1 payments (250) 9 tasks, 5 payments ({amount})"
        assert f"{name} {sums}" in words


def test_a_tier_without_items_has_no_line() -> None:
    assert "standard" not in overview.show(ANSWER)


def test_a_tenants_own_overview_has_neither_queues_nor_tiers() -> None:
    calendar = {name: value for name, value in ANSWER["calendar"].items() if name != "tiers"}
    own = {
        name: value for name, value in ANSWER.items() if name not in ("queues", "sweep", "reconciliation")
    } | {
        "firing": None,
        "calendar": calendar,
    }
    told = overview.show(own | {"destinations": []})
    assert "waiting" not in told
    assert "gold" not in told
    assert "2 tasks, 1 payments (250)" in told
