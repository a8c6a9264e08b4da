"""Routes of /api/v1/operations: work that goes on by itself after it was asked for."""

from typing import Any

from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import requests
from functions.api.operations.view import view
from functions.api.tasks.routes import READ
from functions.api.wiring import wired

router = Router()


@router.get("/api/v1/operations/<operation_id>")
def get(operation_id: str) -> dict[str, Any]:
    tenant = requests.caller(router.current_event, READ).tenant
    return view(wired().backfills.load(tenant, operation_id))
