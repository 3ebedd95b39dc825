# SPDX-License-Identifier: Apache-2.0
"""Values of a plan as messages and generated plans show them. Pure."""

from appliance.units import printable

_LONGEST_SHOWN = 60
_HUGE_BITS = 64
_UNITS = (("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10))


def show_value(value: object) -> str:
    """A value from a plan, for a message: short and harmless."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            is_huge = isinstance(value, int) and value.bit_length() > _HUGE_BITS
            return "a huge number" if is_huge else str(value)
        case str():
            end = "…" if len(value) > _LONGEST_SHOWN else ""
            return f'"{printable(value[:_LONGEST_SHOWN])}{end}"'
        case list() | dict():
            return f"an array of {len(value)}" if isinstance(value, list) else "a table"
        case _:
            return f"the date or time {value}"


def show_size(size_bytes: int) -> str:
    """A size as a plan writes it, exactly: `100M`, or bytes where no unit divides it."""
    for unit, factor in _UNITS:
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)
