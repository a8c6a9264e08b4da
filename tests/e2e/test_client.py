"""The Python client against the running stack, from a process that dies between its request and the answer."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from cli.local.listening import Answering, listening
from cli.local.once import ROOT
from tests.e2e.conftest import RunningStack

PATIENCE_SECONDS: Final = 60
PAYS: Final = """
import sys
from postdate_client import Client
url, key, payer, payee, order = sys.argv[1:]
with Client(url, key) as postdate:
    payment = postdate.schedule_payment(
        from_account_id=payer, to_account_id=payee, amount=100, delay_seconds=1, idempotency_key=order
    )
    print(postdate.wait_for_payment(payment["payment_id"])["payment_id"])
"""


@dataclass
class Between:
    """Forwards each request to the API. The first registrations are carried out and not answered: `carried_out` says
    when one was."""

    api: str
    keep_back: int
    url: str = ""
    carried_out: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    go_on: threading.Event = field(default_factory=threading.Event)
    answers: list[int] = field(default_factory=list)


@contextmanager
def between(api: str, *, keep_back: int) -> Iterator[Between]:
    proxy = Between(api=api, keep_back=keep_back)

    class Handler(Answering):
        def called(self) -> None:
            body = self.body()
            told = {"Content-Length", "Host", "Connection"}
            headers = {name: value for name, value in self.headers.items() if name not in told}
            sent = Request(proxy.api + self.path, body or None, headers, method=self.command)  # noqa: S310
            try:
                with urlopen(sent, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310
                    status, content = answer.status, answer.read()
            except HTTPError as refused:
                status, content = refused.code, refused.read()
            if self.path.endswith("/schedule"):
                proxy.answers.append(status)
                if len(proxy.answers) <= proxy.keep_back:
                    proxy.carried_out.release()
                    proxy.go_on.wait(PATIENCE_SECONDS)
                    self.close_connection = True
                    return
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with listening(Handler) as url:
        proxy.url = url
        try:
            yield proxy
        finally:
            proxy.go_on.set()


@pytest.fixture
def accounts(stack: RunningStack) -> tuple[str, str]:
    admin = stack.client(stack.admin_key)
    names = (f"client-{os.urandom(4).hex()}-a", f"client-{os.urandom(4).hex()}-b")
    for name in names:
        admin.post("/api/v1/accounts", {"account_id": name}).expect(201)
    path = f"/api/v1/accounts/{names[0]}/deposits"
    admin.post(path, {"amount": 1_000}, idempotency_key=f"{names[0]}-first").expect(201)
    return names


def paying(stack: RunningStack, url: str, accounts: tuple[str, str], order: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PAYS, url, stack.api_key, *accounts, order],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": "client"}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("deaths", [1, 3])
def test_a_process_killed_between_request_and_answer_pays_once(
    stack: RunningStack, accounts: tuple[str, str], deaths: int
) -> None:
    """Each process gives the same key, as one that derives it from its order does after a restart."""
    with between(stack.api_url, keep_back=deaths) as proxy:
        for _ in range(deaths):
            process = paying(stack, proxy.url, accounts, f"{accounts[0]}-order")
            assert proxy.carried_out.acquire(timeout=PATIENCE_SECONDS)
            process.send_signal(signal.SIGKILL)
            assert process.communicate()[0] == ""
        survivor = paying(stack, proxy.url, accounts, f"{accounts[0]}-order")
        told, _ = survivor.communicate(timeout=PATIENCE_SECONDS)
    assert (survivor.returncode, proxy.answers) == (0, [201] * (deaths + 1))
    client = stack.client()
    payments = client.get(f"/api/v1/payments?account_id={accounts[0]}").expect(200)["payments"]
    assert [each["payment_id"] for each in payments] == [told.strip()]
    balances = [client.get(f"/api/v1/accounts/{name}").expect(200)["balance"] for name in accounts]
    assert balances == [900, 100]
