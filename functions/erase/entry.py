"""Loaded by Lambda: the function is wired while it starts, and not in its first event."""

from functions.erase.handler import handler, wired

__all__ = ["handler"]

wired()
