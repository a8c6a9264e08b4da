"""Pages for those who have no key yet: the API's description and its documentation."""

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

router = Router()


@router.get("/openapi.json")
def description() -> Response[Any]:
    return _page("application/json", _description(), {})


@router.get("/docs")
def documentation() -> Response[Any]:
    html, policy = _documentation()
    return _page("text/html; charset=utf-8", html, {"Content-Security-Policy": policy})


@cache
def _description() -> str:
    """Made on the first request for it: no other one waits for it, nor for the modules it needs."""
    from functions.api import openapi

    return json.dumps(openapi.document(), ensure_ascii=False, separators=(",", ":"))


@cache
def _documentation() -> tuple[str, str]:
    """The page, and what a browser may do with it: run this very script, fetch the description, nothing else."""
    html = Path(__file__).with_name("docs.html").read_text(encoding="utf-8")
    allowed = {
        "default-src": "'none'",
        "connect-src": "'self'",
        "script-src": _hash(html, "script"),
        "style-src": _hash(html, "style"),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return html, "; ".join(f"{name} {source}" for name, source in allowed.items())


def _hash(html: str, tag: str) -> str:
    (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _page(content_type: str, text: str, headers: dict[str, str]) -> Response[Any]:
    return Response(
        status_code=200,
        content_type=content_type,
        body=text,
        headers={"Cache-Control": "public, max-age=300", "X-Content-Type-Options": "nosniff", **headers},
    )
