# SPDX-License-Identifier: Apache-2.0
"""One `[[drive]]` table of DRIVES.toml being read. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from appliance.units import parse_size


class DrivesError(Exception):
    """DRIVES.toml is wrong; the message says where and what is allowed."""


@dataclass(frozen=True, slots=True)
class Table:
    """Its values, asked for by their keys; complains with the table's number."""

    values: dict[str, Any]
    number: int

    def problem(self, text: str) -> DrivesError:
        """What to raise."""
        return DrivesError(f"drive {self.number}: {text}")

    def text(self, key: str, default: str, allowed: Sequence[str] = ()) -> str:
        """A text, one of those `allowed` if there are any."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.problem(f"{key} must be a text")
        if allowed and value not in allowed:
            raise self.problem(f"{key} = {value!r} is none of {', '.join(allowed)}")
        return value

    def size(self, key: str, default: str) -> int:
        """Bytes."""
        value = self.values.get(key, default)
        try:
            if isinstance(value, str | int) and not isinstance(value, bool):
                return parse_size(value)
        except ValueError:
            pass
        raise self.problem(f"{key} must be a size such as 4G, or bytes")

    def rate(self, key: str, default: str) -> int:
        """Bytes per second; 0 only where that is the default."""
        value = self.size(key, default)
        if key in self.values and not value:
            raise self.problem(f"{key} must be bytes per second such as 20M, more than none")
        return value

    def seconds(self, key: str, default: float) -> float:
        """Seconds."""
        value = self.values.get(key, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value < math.inf:
            raise self.problem(f"{key} must be seconds, such as 0.01")
        return float(value)

    def truth(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.problem(f"{key} must be true or false")
        return value
