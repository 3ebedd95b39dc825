"""The engine's words and sentences in the current language.

In the database, in the report and at the console it is English. What a drive, a tool or the kernel
says is nobody's to translate, nor what the engine tells of a mistake in a plan.
"""

from collections.abc import Mapping
from contextlib import suppress
from string import Formatter

from tui.campaigns import ARRAY
from tui.charset import one_line
from tui.language import N_, _
from tui.state import Event

# As the database has them; they are translated where they are drawn.
_ROLES = (N_("target"), N_("control"), N_("backing"), N_("cache"), N_("array"))
_POWER = (N_("cold"), N_("warm"), N_("proven"), N_("unproven"))
_CACHE_STATES = (N_("partial"), N_("bypass"), N_("bounded"))
# A copy of each phrase that the engine has sent along with a text of its own, by that text.
_PHRASES: dict[str, tuple[str, Mapping[str, object]]] = {}
_SAID = {"what", "before", "after", "first", "rest", "name", "hint", "proof", "verdict"}
"""What is put in that may be words of the engine's again."""


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

    What is no such thing is left out: the text is told as it is. May be called in another thread.
    """
    with suppress(ValueError, LookupError, TypeError):
        if isinstance(fields, dict) and _is_plain(words) and words.format(**fields) == text:
            _PHRASES[one_line(text)] = words, fields


def _is_plain(words: str) -> bool:
    """Whether nothing but values is put in: another stick's database may hold anything."""
    return all(
        name is None or (name.isidentifier() and not spec and not conversion)
        for _literal, name, spec, conversion in Formatter().parse(words)
    )


def say(text: str) -> str:
    """`text` translated, line by line; as it is where nothing is known of what it is made of."""
    return "\n".join(map(_say_line, text.splitlines()))


def _say_line(text: str) -> str:
    if text not in _PHRASES:
        return _(text)
    return _tell(*_PHRASES[text])


def say_event(event: Event) -> str:
    """A line of the log, made from what is stored of it; where that is not known, in English."""
    detail = event.detail if event.fields is None else _tell(event.words, event.fields)
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
    return say(text) if name in _SAID else text
