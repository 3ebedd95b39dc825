# SPDX-License-Identifier: Apache-2.0
"""Values of a plan as messages show them, and the words that would be right. Pure."""

import difflib
from collections.abc import Iterable

from appliance.phrases import N_, Phrase, join_phrases
from appliance.units import printable

KNOWN = N_("{what}; known are {keys}")
"""Of a key that its table does not know, where none is like it."""
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


def join_words(words: Iterable[str]) -> str:
    """`"a" or "b"`."""
    return join_phrases((f'"{word}"' for word in words), N_("{first} or {rest}"))


def suggest_close(what: str, name: str, names: Iterable[str]) -> str:
    """`what`, with the one of `names` that may have been meant; empty if none is like `name`."""
    return suggest(what, difflib.get_close_matches(name.lower(), names, n=1))


def suggest(what: str, names: Iterable[str]) -> str:
    """`what`, with the `names` that may have been meant; empty if there are none."""
    words = join_words(names)
    return Phrase(N_("{what}; did you mean {name}?"), what=what, name=words) if words else ""
