"""Sends requests to a receiver without a network: `frameworks_asked.py <framework> <requests as JSON>`.

Runs in the environment of the frameworks, where the product's own libraries are not.
"""

import asyncio
import base64
import json
import sys
from typing import Any

import receiver  # type: ignore[import-not-found]


def of_flask(headers: dict[str, str], body: bytes) -> int:
    status: int = receiver.app.test_client().post("/", data=body, headers=headers).status_code
    return status


def of_fastapi(headers: dict[str, str], body: bytes) -> int:
    """One request as a server makes it of ASGI."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": "/",
        "root_path": "", "query_string": b"", "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 9),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(receiver.app(scope, receive, send))
    return int(sent[0]["status"])


def of_lambda(headers: dict[str, str], body: bytes) -> int:
    """A body of another encoding than text arrives in Base64."""
    event = {"headers": headers, "body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    status: int = receiver.handler(event, None)["statusCode"]
    return status


if __name__ == "__main__":
    framework, requests = sys.argv[1:]
    ask = {"flask": of_flask, "fastapi": of_fastapi, "lambda": of_lambda}[framework]
    statuses = {name: ask(headers, body.encode()) for name, (headers, body) in json.loads(requests).items()}
    print(json.dumps(statuses))
