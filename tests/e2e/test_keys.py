"""API keys on the local stack, through the command line and the gateway."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from cli.client import Client
from cli.local.once import ROOT
from tests.e2e.conftest import RunningStack

# No matter how slow the machine is: a request that is accepted was admitted within this time, and began before.
REVOKED_WITHIN_SECONDS: Final = 2
USERS: Final = 4


def keys(stack: RunningStack, *arguments: str) -> dict[str, Any]:
    """Answer of `postdate keys` about the one key."""
    environment = os.environ | {"POSTDATE_LOCAL_DIR": str(stack.place.directory)}
    ran = subprocess.run(
        [sys.executable, "-m", "cli.main", "keys", *arguments, "--json", "--port", str(stack.place.port)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    (key,) = json.loads(ran.stdout)["keys"]
    answer: dict[str, Any] = key
    return answer


def test_a_revoked_key_is_refused_everywhere_within_the_bound_under_load(stack: RunningStack) -> None:
    key = keys(stack, "make", "shop", "--scope", "tasks:read")
    stop_at = time.monotonic() + 60

    def use() -> list[tuple[float, float, int]]:
        """The start, the end and the status of each request, until the key has been refused for three seconds."""
        seen, refused_since = list[tuple[float, float, int]](), 0.0
        with Client(stack.api_url, key["key"]) as client:
            while time.monotonic() < stop_at:
                began = time.monotonic()
                status = client.get("/api/v1/limits").status
                seen.append((began, time.monotonic(), status))
                refused_since = 0.0 if status == 200 else refused_since or began
                if refused_since and began > refused_since + 3:
                    break
        return seen

    with ThreadPoolExecutor(USERS) as pool:
        using = [pool.submit(use) for _ in range(USERS)]
        time.sleep(2)
        asked_at = time.monotonic()
        stack.client(stack.admin_key).delete(f"/api/v1/keys/{key['key_id']}").expect(200)
        revoked_at = time.monotonic()
        answers = [each for user in using for each in user.result()]
    assert {status for *_, status in answers} == {200, 401}
    assert all(status == 200 for _, ended, status in answers if ended < asked_at)
    bound = max(began for began, _, status in answers if status == 200) - revoked_at
    print(f"a revoked key was accepted for {bound:.2f} s, in {len(answers)} requests")
    assert bound <= REVOKED_WITHIN_SECONDS


def test_a_key_is_rotated_and_listed_with_its_last_use(stack: RunningStack) -> None:
    first = keys(stack, "make", "rotating", "--scope", "tasks:read", "--scope", "keys:read")
    stack.client(first["key"]).get("/api/v1/limits").expect(200)
    second = keys(stack, "rotate", first["key_id"], "--overlap", "600")
    time.sleep(2.5)
    assert (
        keys(stack, "revoke", keys(stack, "make", "x", "--scope", "tasks:read")["key_id"])["status"]
        == "REVOKED"
    )
    for text in (first["key"], second["key"]):
        stack.client(text).get("/api/v1/limits").expect(200)
    mine = stack.client(second["key"]).get(f"/api/v1/keys/{first['key_id']}").expect(200)
    assert mine["previous_until"] is not None
