"""The language of the interface: English as it stands in the source, or a catalogue's own words.

`tui/locale/*.po` are the sources; the image holds what they are compiled to. A text is looked up
when it is drawn, so that another language holds at once. What the engine writes stays as it is.
"""

import gettext
from dataclasses import dataclass, field

import tui

_DOMAIN = "kaltstart"


@dataclass(slots=True)
class _Current:
    """What holds now."""

    code: str = "en"
    texts: gettext.NullTranslations = field(default_factory=gettext.NullTranslations)
    folder: str = f"{tui.__path__[0]}/locale"


_current = _Current()


def _(text: str) -> str:
    """`text` in the language that holds now; itself where there is no translation."""
    # What a catalogue has for no text at all is its own header.
    return _current.texts.gettext(text) if text else ""


def ngettext(one: str, many: str, count: int) -> str:
    """The one that `count` things ask for, translated."""
    return _current.texts.ngettext(one, many, count)


def N_(text: str) -> str:  # noqa: N802  # what gettext calls it
    """`text`, marked for the catalogue: in a table that is read once and drawn often."""
    return text


def current() -> str:
    """The short name of the language: `en`, `de`."""
    return _current.code


def use(code: str) -> bool:
    """Speak it from now on; whether that is another one. Without a catalogue it is English."""
    if code == _current.code:
        return False
    _current.texts = gettext.translation(_DOMAIN, _current.folder, languages=[code], fallback=True)
    _current.code = code
    return True


def find_catalogues_in(folder: str) -> None:
    """Take them from there, at the next `use`."""
    _current.folder = folder
