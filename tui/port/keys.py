"""The keys that each kind of workload knows, from the plan's schema, and their values as text.

What a field holds is what a plan has, in fewer signs: `seq-read, rand-read` for a list, `a=4, b=6`
for a table. What cannot be read stays as it was typed, for the plan's checks to refuse.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from appliance.plan_defaults import read_defaults
from appliance.plan_text import quote
from appliance.plan_values import show_size
from tui.composed import PlanElement, PlanValue
from tui.plan_keys import PlanKey, Shape

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
def read_keys(kind: str) -> tuple[PlanKey, ...]:
    """All keys of that kind's table but for `kind`; those that all kinds have come last."""
    defaults = read_defaults()
    found = [
        _parse_key(name, schema, defaults.tables[kind].get(name, ""))
        for name, schema in defaults.keys[kind].items()
        if name != "kind"
    ]
    return tuple(sorted(found, key=_place_of))


def _place_of(key: PlanKey) -> int:
    return _LAST.index(key.name) + 1 if key.name in _LAST else 0


def _parse_key(name: str, schema: Mapping[str, Any], default: Any) -> PlanKey:  # noqa: ANN401  # JSON
    variants = schema.get("anyOf", [schema])
    types = {each.get("type") for each in variants}
    element: Mapping[str, Any] = next((each["items"] for each in variants if "items" in each), {})
    words = tuple(each["const"] for each in variants if "const" in each)
    if element:
        words = _list_words(element)
    elif not words:
        words = _list_words(schema)
    number: Mapping[str, Any] = next((each for each in variants if "minimum" in each), {})
    is_size = any("pattern" in each for each in variants)
    shape: Shape = "text"
    if element:
        shape = "list"
    elif "object" in types:
        shape = "table"
    elif is_size:
        shape = "size"
    elif types & {"integer", "number"}:
        shape = "number"
    elif words:
        shape = "choice"
    return PlanKey(
        name,
        shape,
        tuple(default) if isinstance(default, list) else default,
        words,
        _show_bounds(number, is_size=is_size),
        is_whole="integer" in types,
    )


def _list_words(schema: Mapping[str, Any]) -> tuple[str, ...]:
    return _SWITCH if schema.get("type") == "boolean" else tuple(schema.get("enum", ()))


def _show_bounds(schema: Mapping[str, Any], *, is_size: bool) -> str:
    if not schema:
        return ""
    ends = (schema["minimum"], schema["maximum"])
    return " - ".join(show_size(each) if is_size else str(each) for each in ends)


def show_value(value: PlanValue) -> str:
    """What a field holds for it."""
    match value:
        case tuple():
            return ", ".join(_show_element(each) for each in value)
        case Mapping():
            return ", ".join(
                f"{_show_name(key)}={_show_typed(each)}" for key, each in value.items()
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
    """The value that a field's text stands for; emptied it is what the plan means without it."""
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
            return text == "true" if key.words == _SWITCH else text
        case _:
            return text


def _read_list(key: PlanKey, text: str) -> PlanValue:
    found = tuple(_match_all(_ELEMENT, text))
    if not found:
        return text
    elements = (_unquote(each) for each in found)
    return tuple(
        each == "true" if key.words == _SWITCH and each in _SWITCH else each for each in elements
    )


def _read_table(text: str) -> PlanValue:
    found = tuple(_match_all(_PAIR, text))
    if not found:
        return text
    pairs = [
        (
            _unquote_name(each["key"]),
            _read_word(each["plain"]) if each["quoted"] is None else _unquote(each),
        )
        for each in found
    ]
    # Of two with one name only one could stand in a plan.
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
    """The sign it stands for; as it was typed where there is none that a plan could have."""
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
