"""The overview on the command line is one look: what was due, what waits, what is held back, what fires."""

from typing import Any

from cli.commands import overview


def figures(due: int, **others: int | None) -> dict[str, Any]:
    late: dict[str, int | None] = {"lateness_p50_ms": None, "lateness_p99_ms": None}
    return {"due": due, "done": due, "failed": 0, "retried": 0, **late, **others}


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
    "queues": [{"queue": "tasks", "waiting": 2, "in_flight": 7, "delayed": 15}],
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
    "paused_flow_keys": [{"tenant": "acme", "key": "mail"}],
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
        "tasks                 2 waiting",
        "NOT ALIVE, 3 minutes behind",
        "OPEN acme webhook https://down.example: 14 waiting, connection refused",
        "PAUSED acme flow key mail",
        "TICKET destination_down",
    ):
        assert text in rest, text


def test_a_tenants_own_overview_has_no_queues() -> None:
    own = {name: value for name, value in ANSWER.items() if name not in ("queues", "sweep")} | {
        "firing": None
    }
    assert "waiting" not in overview.show(own | {"destinations": []})
