"""Starts the worker. What the environment does not say is read from the running local stack."""

import json
import os
from pathlib import Path

from examples.worker.api import Api
from examples.worker.store import Store
from examples.worker.worker import Worker, server


def main() -> None:
    stack = Path(os.environ.get("POSTDATE_LOCAL_DIR", ".local")) / "stack.json"
    local = json.loads(stack.read_text()) if stack.exists() else {}
    worker = Worker(
        secrets=os.environ.get("POSTDATE_SIGNING_SECRETS", local.get("signing_secret", "")).split(),
        store=Store(Path(os.environ.get("WORKER_DATABASE", "worker.sqlite"))),
        api=Api(
            url=os.environ.get("POSTDATE_API_URL", local.get("api_url", "")),
            key=os.environ.get("POSTDATE_KEY", local.get("api_key", "")),
        ),
        heartbeat_seconds=float(os.environ.get("WORKER_HEARTBEAT_SECONDS", "10")),
        long_seconds=float(os.environ.get("WORKER_LONG_SECONDS", "15")),
    )
    if not (worker.secrets and worker.api.url and worker.api.key):
        raise SystemExit(
            "Start the local stack with `make up`, or set POSTDATE_SIGNING_SECRETS, POSTDATE_API_URL and POSTDATE_KEY."
        )
    with server(worker, int(os.environ.get("WORKER_PORT", "8000"))) as listening:
        print(f"The worker listens on http://127.0.0.1:{listening.server_address[1]}", flush=True)
        listening.serve_forever()


if __name__ == "__main__":
    main()
