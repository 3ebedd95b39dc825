# SPDX-License-Identifier: Apache-2.0
"""What the engine says: English text that knows what it was made of. Pure.

The text is what is printed, stored and compared. Beside it is kept from which words it was made and
what was put in, so that the interface can say it in another language.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Formatter
from typing import NamedTuple, Self


def N_(text: str) -> str:  # noqa: N802  # what gettext calls it
    """`text`, marked for the catalogue of the interface, which translates it where it is drawn."""
    return text


_SENTENCES = frozenset({"what", "first"})
"""What is put in that is a sentence of the engine's."""


class Phrase(str):
    """`words` with `fields` put in: its text."""

    __slots__ = ("fields", "words")

    words: str
    fields: Mapping[str, object]

    def __new__(cls, words: str, /, **fields: object) -> Self:
        """`words` as the catalogue has them, each `{name}` in it a field."""
        made = super().__new__(cls, words.format(**fields))
        made.words, made.fields = words, fields
        return made

    def __deepcopy__(self, _: object) -> Self:
        return self


class StoredPhrase(NamedTuple):
    """One as it is kept beside its text."""

    text: str
    words: str
    fields: str
    """A JSON object."""


def join_phrases(texts: Iterable[str], words: str = "{first}; {rest}") -> str:
    """Those that are not empty, all in one."""
    joined = [*filter(None, texts)]
    if len(joined) < 2:
        return joined[0] if joined else ""
    # In halves: each text that is made on the way is kept, and of hundreds one by one they would
    # be far longer than all of them.
    half = len(joined) // 2
    first, rest = join_phrases(joined[:half], words), join_phrases(joined[half:], words)
    return Phrase(words, first=first, rest=rest)


def add_count(texts: Sequence[str]) -> str:
    """The first one, and how many more there are."""
    more = len(texts) - 1
    return Phrase(N_("{what} and {count} more"), what=texts[0], count=more) if more else texts[0]


def begin_sentence(text: str) -> str:
    """`text` with a capital letter, unless it begins with a name: of a file, a drive."""
    first = text
    while isinstance(first, Phrase):
        _, name, *_ = next(iter(Formatter().parse(first.words)), ("", None))
        if not first.words.startswith("{") or name is None:
            break
        value = first.fields[name]
        if not isinstance(value, Phrase) and name not in _SENTENCES:
            return text
        first = str(value) if not isinstance(value, Phrase) else value
    return text[:1].upper() + text[1:]


def list_phrases(content: object) -> Iterator[StoredPhrase]:
    """All in `content`, a value for JSON; also those that are put into others."""
    match content:
        case Phrase():
            yield from list_phrases(content.fields)
            # What JSON does not know is text there as well.
            yield StoredPhrase(str(content), content.words, json.dumps(content.fields, default=str))
        case Mapping():
            for item in content.values():
                yield from list_phrases(item)
        case list() | tuple():
            for item in content:
                yield from list_phrases(item)
