"""Moments as people read them."""

from datetime import UTC, datetime


def moment(ns: int) -> str:
    """Write a moment since 1970 [ns] to the minute, in UTC."""
    try:
        return f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return "?"
