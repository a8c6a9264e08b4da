"""Loaded by Lambda: the function is wired while it starts, and not in its first event."""

from functions.run_tasks.handler import handler
from functions.run_tasks.wiring import wired

__all__ = ["handler"]

wired()
