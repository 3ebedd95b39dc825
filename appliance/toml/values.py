# SPDX-License-Identifier: Apache-2.0
"""Values of a plan as messages show them. Pure."""

from appliance.phrases import N_, Phrase
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
            return N_("a huge number") if is_huge else str(value)
        case str():
            end = "…" if len(value) > _LONGEST_SHOWN else ""
            return f'"{printable(value[:_LONGEST_SHOWN])}{end}"'
        case list() | dict():
            return _show_group(value)
        case _:
            return Phrase(N_("the date or time {value}"), value=f"{value}")


def _show_group(value: list[object] | dict[str, object]) -> str:
    if isinstance(value, dict):
        return N_("a table") if value else N_("an empty table")
    return Phrase(N_("an array of {count}"), count=len(value)) if value else N_("an empty array")
