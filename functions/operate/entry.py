"""Loaded by Lambda: the function is wired while it starts, and not in its first event."""

from functions.operate.handler import handler
from functions.operate.wiring import wired

__all__ = ["handler"]

wired()
