"""The route of /api/v1/limits: what a tenant may do."""

from typing import Any

from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import requests
from functions.api.tasks.routes import READ
from postdate.domain import limits

router = Router()


@router.get("/api/v1/limits")
def get() -> dict[str, Any]:
    requests.caller(router.current_event, READ)
    return limits.told()
