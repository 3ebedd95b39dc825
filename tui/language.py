# SPDX-License-Identifier: Apache-2.0
"""The language of the interface: English as in the source, or a catalogue's texts.

`tui/locale/*.po` are the sources; the image holds what they are compiled to. A text is looked up
when it is drawn, so that another language holds at once. What the engine writes stays as it is.
"""

import gettext
import struct
from dataclasses import dataclass, field

import tui
from tui.journal import tell_bug

_DOMAIN = "kaltstart"


@dataclass(slots=True)
class _Current:
    """What holds now."""

    code: str = "en"
    texts: gettext.NullTranslations = field(default_factory=gettext.NullTranslations)
    folder: str = f"{tui.__path__[0]}/locale"
    trouble: str = ""


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
    """Speak it from now on; whether that is another one.

    Without a catalogue it is English, and so it is with one that cannot be read: `find_trouble`
    reports it then, and it is not tried again.
    """
    if code == _current.code:
        return False
    trouble = ""
    try:
        texts = gettext.translation(_DOMAIN, _current.folder, languages=[code], fallback=True)
    # What gettext raises where the stick fails, and over a file that is damaged anywhere.
    except (OSError, ValueError, LookupError, struct.error) as error:
        texts = gettext.NullTranslations()
        trouble = f"the texts of the language {code} cannot be read: {error}"
        tell_bug(error)
    _current.texts, _current.trouble = texts, trouble
    _current.code = code  # last: who finds another code draws with its texts
    return True


def find_trouble() -> str:
    """Why it is English though another language was asked for, in English; empty where it is not.

    Not fit to be drawn yet (see `charset`).
    """
    return _current.trouble
