"""Loaded by Lambda: the function is wired while it starts, and not in its first event."""

from functions.reconcile.handler import handler
from functions.reconcile.wiring import wired

__all__ = ["handler"]

wired()
