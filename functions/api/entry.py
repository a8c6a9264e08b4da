"""Loaded by Lambda: the function is wired while it starts, and not in its first event."""

from functions.api.handler import handler
from functions.api.wiring import wired

__all__ = ["handler"]

wired()
