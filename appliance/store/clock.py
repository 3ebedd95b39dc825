# SPDX-License-Identifier: Apache-2.0
"""The time as the database writes it."""

from datetime import UTC, datetime


def timestamp(seconds: float | None = None) -> str:
    """UTC in ISO 8601 with milliseconds, of `seconds` since the epoch or of now."""
    moment = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> float:
    """Seconds since the epoch of a stored time. Raises ValueError where it is damaged."""
    return datetime.fromisoformat(text).timestamp()
