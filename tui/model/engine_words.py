# SPDX-License-Identifier: Apache-2.0
"""The engine's words and sentences in the current language.

In the database, in the report and at the console it is English. What a drive, a tool or the kernel
says is not translated, nor are the keys and values of a plan.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from string import Formatter

from tui.charset import one_line
from tui.format import localise
from tui.language import N_, _
from tui.model.snapshot import Event
from tui.model.status import ARRAY

# As the database has them; they are translated where they are drawn.
_ROLES = (N_("target"), N_("control"), N_("backing"), N_("cache"), N_("array"))
_POWER = (N_("cold"), N_("warm"), N_("proven"), N_("unproven"))
_COOLING = (N_("cooled"), N_("cooling unproven"))
_CACHE_STATES = (N_("partial"), N_("bypass"), N_("bounded"))
# Without a policy.toml.
_POLICY = (N_("Kaltstart's own"), N_("built-in"))
# A copy of each phrase that the engine has sent along with a text of its own, by that text.
_PHRASES: dict[str, tuple[str, Mapping[str, object]]] = {}
_LONGEST = 20_000
"""Characters of a text, of its words and of a field: far above what the engine says."""
_SAID = {
    *("what", "before", "after", "first", "rest", "name", "hint", "title", "detail"),
    *("proof", "verdict", "depth", "policy", "origin", "state", "given"),
}
"""What is put in that may be words of the engine's again."""
_RATES = {
    *("rate", "low", "high", "seconds", "took_s", "size"),
    *("share", "measured", "limit", "wanted", "margin", "total", "free", "needed"),
}
"""What is put in that are numbers with a decimal point, or words in their place."""


def name_role(role: str) -> str:
    """`target`, and what else a drive or an array is in a campaign."""
    return _(role)


def measure_roles() -> int:
    """The columns that any of these names takes."""
    return max(len(_(role)) for role in _ROLES)


def name_device(device: str) -> str:
    """What a step runs on: a drive's identity, or the array."""
    return _(ARRAY) if device == ARRAY else device


def learn(text: str, words: str, fields: object) -> None:
    """What a text of the engine was made of: its sentence, and what is put in by its names.

    Anything else is left out: the text is shown as it is. May be called in another thread.
    """
    with suppress(ValueError, LookupError, TypeError):
        if not isinstance(fields, dict) or max(len(text), len(words)) > _LONGEST:
            return
        used = {name: fields[name] for name in _find_names(words)}
        if not all(map(_is_value, used.values())) or words.format(**used) != text:
            return
        line = one_line(text)
        # What is made of itself, or of something longer still, would never be shown.
        if all(len(one_line(value)) < len(line) for value in _find_said(used)):
            _PHRASES[line] = words, used


def _find_names(words: str) -> set[str]:
    """What is put in by its name. Raises ValueError where that is more than values.

    Another stick's database may hold anything.
    """
    names = set()
    for _literal, name, spec, conversion in Formatter().parse(words):
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            raise ValueError(words)
        names.add(name)
    return names


def _is_value(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST
    return value is None or isinstance(value, int | float)


def _find_said(fields: Mapping[str, object]) -> Iterator[str]:
    for name, value in fields.items():
        if name in _SAID | _RATES and isinstance(value, str):
            yield value


def say(text: str) -> str:
    """`text` translated, line by line; as it is where nothing is known of what it is made of."""
    try:
        return "\n".join(map(_say_line, text.splitlines()))
    except RecursionError:  # made of hundreds, each in the one before
        return text


def _say_line(text: str) -> str:
    if text not in _PHRASES:
        return _(text)
    return _tell(*_PHRASES[text])


def say_state(text: str) -> str:
    """What the engine does now, translated: it begins with a capital letter, also words of its."""
    said, word = say(text), text[:1].lower() + text[1:]
    if said != text or word == text:
        return said
    said = say(word)
    return text if said == word else said[:1].upper() + said[1:]


def say_event(event: Event) -> str:
    """A line of the log, made from what is stored of it; where that is not known, in English."""
    detail = event.detail
    if event.fields is not None:
        with suppress(RecursionError):  # nested as nothing of the engine's is
            detail = _tell(event.words, event.fields)
    if not detail:
        return _(event.what)
    return _("{event} {detail}").format(event=_(event.what), detail=detail)


def _tell(words: str, fields: Mapping[str, object]) -> str:
    return _(words).format(**{name: _say_field(name, value) for name, value in fields.items()})


def _say_field(name: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    text = one_line(value)
    if name == "device":
        return name_device(text)
    if name in _RATES:
        said = say(text)
        return said if said != text else localise(text)
    return say(text) if name in _SAID else text
