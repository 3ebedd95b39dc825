# SPDX-License-Identifier: Apache-2.0
"""The keys of a plan's table by their declaration, and their values as text.

What a field holds is what a plan has, in fewer signs: `seq-read, rand-read` for a list, `a=4, b=6`
for a table. What cannot be read stays as it was typed, for the plan's checks to refuse.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from appliance.kinds import KINDS, load
from appliance.plan.compose import quote
from appliance.plan.model import ALL_TABLES, TABLES
from appliance.toml.fields import Key
from tui.model.draft import PlanElement, PlanValue
from tui.model.more_settings import PlanSetting
from tui.model.plan_keys import PlanKey, PlanKind

_LAST = ("seed", "on")
_SWITCH = ("false", "true")
_PLAIN = r"[A-Za-z0-9._:/%+-]+"
_QUOTED = r'"(?:[^"\\]|\\["\\]|\\u[0-9A-F]{4}|\\U[0-9A-F]{8})*"'
_ESCAPE = re.compile(r"\\(?:u([0-9A-F]{4})|U([0-9A-F]{8})|(.))")
_LAST_CODE = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_FRACTION = re.compile(r"-?[0-9]{1,18}(?:[.,][0-9]{1,18})?(?:[eE]-?[0-9]{1,2})?")
_ELEMENT = re.compile(rf"\s*(?:(?P<quoted>{_QUOTED})|(?P<plain>[^,\"]*[^,\"\s]))\s*(?:,|$)")
_PAIR = re.compile(
    rf"\s*(?P<key>{_QUOTED}|[^=,\"\s]+)\s*=\s*"
    rf"(?:(?P<quoted>{_QUOTED})|(?P<plain>[^,\"]*[^,\"\s]))\s*(?:,|$)"
)


@cache
def read_keys(table: str) -> tuple[PlanKey, ...]:
    """All keys of that table but `kind`; those that all workloads have come last."""
    keys = [_describe(key) for key in ALL_TABLES[table].keys.values() if key.name != "kind"]
    return tuple(sorted(keys, key=_place_of))


def _place_of(key: PlanKey) -> int:
    return _LAST.index(key.name) + 1 if key.name in _LAST else 0


def _describe(key: Key) -> PlanKey:
    default = "" if key.default is None else key.default
    return PlanKey(
        key.name,
        key.allowed.shape,
        tuple(default) if isinstance(default, list) else default,
        key.allowed.choices,
        key.allowed.bounds,
        is_whole=key.allowed.is_whole,
        words=key.brief,
        in_row=key.in_row is not None,
        label=key.in_row.label if key.in_row else "",
        offered=key.in_row.offered if key.in_row else "",
        turns=tuple(key.in_row.words.items()) if key.in_row else (),
    )


@cache
def read_more_settings() -> tuple[PlanSetting, ...]:
    """What of a plan no row of the form sets, in the order of its tables and keys."""
    return tuple(
        PlanSetting(
            table,
            key.name,
            key.in_more.does,
            "" if key.default is None else key.default,
            key.in_more.absent,
        )
        for table, declared in TABLES.items()
        for key in declared.keys.values()
        if key.in_more is not None
    )


def read_kinds() -> tuple[PlanKind, ...]:
    """All kinds of workload, in the order of the form."""
    plans = ((kind, load(kind, "keys")) for kind in KINDS)
    return tuple(
        PlanKind(kind, module.label, module.does, module.on_array) for kind, module in plans
    )


def show_value(value: PlanValue) -> str:
    """What a field holds for it."""
    match value:
        case tuple():
            return ", ".join(_show_element(element) for element in value)
        case Mapping():
            return ", ".join(
                f"{_show_name(key)}={_show_typed(element)}" for key, element in value.items()
            )
        case _:
            return _show_word(value)


def _show_element(value: PlanElement) -> str:
    return _show_name(value) if isinstance(value, str) else _show_word(value)


def _show_typed(value: PlanElement) -> str:
    """So that a text that looks like a number stays a text."""
    if isinstance(value, str) and not isinstance(_read_word(value), str):
        return quote(value)
    return _show_element(value)


def _show_name(text: str) -> str:
    return text if re.fullmatch(_PLAIN, text) else quote(text)


def _show_word(value: PlanElement) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_value(key: PlanKey, text: str) -> PlanValue:
    """The value that a field's text means; an empty one is what the plan means without it."""
    text = text.strip()
    if not text:
        return key.default
    match key.shape:
        case "list":
            return _read_list(key, text)
        case "table":
            return _read_table(text)
        case "number":
            return _read_number(text, is_whole=key.is_whole)
        case "choice":
            return text == "true" if key.choices == _SWITCH else text
        case _:
            return text


def _read_list(key: PlanKey, text: str) -> PlanValue:
    matches = tuple(_match_all(_ELEMENT, text))
    if not matches:
        return text
    elements = (_unquote(match) for match in matches)
    return tuple(
        element == "true" if key.choices == _SWITCH and element in _SWITCH else element
        for element in elements
    )


def _read_table(text: str) -> PlanValue:
    matches = tuple(_match_all(_PAIR, text))
    if not matches:
        return text
    pairs = [
        (
            _unquote_name(match["key"]),
            _read_word(match["plain"]) if match["quoted"] is None else _unquote(match),
        )
        for match in matches
    ]
    # Of two with one name only one could be in a plan.
    return dict(pairs) if len(dict(pairs)) == len(pairs) else text


def _match_all(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Each of what is between the commas; nothing where one does not match."""
    matches = []
    place = 0
    while place < len(text):
        match = pattern.match(text, place)
        if match is None:
            return
        matches.append(match)
        place = match.end()
    yield from matches


def _unquote(match: re.Match[str]) -> str:
    return match["plain"] if match["quoted"] is None else _unquote_name(match["quoted"])


def _unquote_name(text: str) -> str:
    if not text.startswith('"'):
        return text
    return _ESCAPE.sub(_unescape, text[1:-1])


def _unescape(escape: re.Match[str]) -> str:
    """The character it means; as it was typed if there is none that a plan could have."""
    if escape[3]:
        return escape[3]
    code = int(escape[1] or escape[2], 16)
    return escape[0] if code > _LAST_CODE or code in _SURROGATES else chr(code)


def _read_word(text: str) -> PlanElement:
    """A number or a switch where it looks like one."""
    if text in _SWITCH:
        return text == "true"
    return _read_number(text, is_whole=True)


def _read_number(text: str, *, is_whole: bool) -> str | float:
    if is_whole and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if is_whole and not re.fullmatch(r"-?[0-9]{1,18}[.,][0-9]{1,18}", text):
        return text
    # Not all that Python takes for a number: with nan or inf nothing can be reckoned.
    if not _FRACTION.fullmatch(text):
        return text
    return float(text.replace(",", "."))  # as a person's own language may write it
