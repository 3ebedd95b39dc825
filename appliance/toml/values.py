# SPDX-License-Identifier: Apache-2.0
"""Values of a plan as messages show them. Pure."""

from appliance.units import printable

_LONGEST_SHOWN = 60
_HUGE_BITS = 64


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
            kind = "array" if isinstance(value, list) else "table"
            if not value:
                return f"an empty {kind}"
            return f"an array of {len(value)}" if isinstance(value, list) else "a table"
        case _:
            return f"the date or time {value}"
