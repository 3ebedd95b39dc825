# SPDX-License-Identifier: Apache-2.0
"""Files that the engine replaces: read again only if they are new, as the pages' dataclasses."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from appliance.phrases import list_phrases
from tui import language
from tui.charset import one_line
from tui.language import _
from tui.model.engine_words import learn, say

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_AS_IT_IS = {"toml", "summary", "serial", "wwn", "model"}


class Watched[T]:
    """One JSON file of the engine, parsed again only when it was replaced.

    Or when the interface speaks another language: some of what is made of it are words.
    """

    def __init__(self, path: Path, parse: Callable[[dict[str, Any]], T]) -> None:
        self.value: T | None = None
        self.trouble = ""
        self._path = path
        self._parse = parse
        self._seen: tuple[int, ...] = ()
        self._language = language.current()

    def read(self) -> bool:
        """Whether the file is a new one since the last call."""
        stamp = read_stamp(self._path)
        is_new = stamp != self._seen
        if not is_new and self._language == language.current():
            return False
        self._seen, self._language = stamp, language.current()
        if not stamp:
            self.value = None
            return False
        try:
            content = _flatten(json.loads(self._path.read_text()))
            learn_phrases(content.get("phrases", ()))
            self.value = self._parse(content)
            self.trouble = ""
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            text = _("{name} cannot be read: {error!r}")
            self.trouble = text.format(name=self._path.name, error=error)
        return is_new


def _flatten(content: Any, key: str = "") -> Any:  # noqa: ANN401 - any JSON
    """Each text in one line, but for those that have several, or are compared with others."""
    match content:
        case dict():
            return {name: _flatten(value, name) for name, value in content.items()}
        case list():
            return [_flatten(value, key) for value in content]
        case str() if key not in _AS_IT_IS:
            return one_line(content)
    return content


def learn_phrases(phrases: Iterable[Sequence[str]]) -> None:
    """What texts of the engine were made of: each text, its words, and a JSON of its fields."""
    for text, words, values in phrases:
        # Spoilt by the stick, or nested as nothing of the engine's is.
        with suppress(ValueError, RecursionError):
            learn(text, words, json.loads(values))


def tell(text: str) -> str:
    """A text of the engine's code that was made here, in the language that holds now."""
    learn_phrases(list_phrases(text))
    return say(one_line(text))


def read_stamp(path: Path) -> tuple[int, ...]:
    """Another one for each state of the file; empty where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


def read_record[T: DataclassInstance](make: type[T], value: Mapping[str, Any], **own: Any) -> T:  # noqa: ANN401
    """A `make` of a JSON object whose keys are called like its fields, but for a `raw_` before one.

    `own` are fields that are made otherwise. A list becomes a tuple, an object the dataclass that
    the field is of. Raises LookupError where a key is missing whose field has no default.
    """
    values = dict(own)
    for name, (hint, has_default) in _list_fields(make).items():
        key = name.removeprefix("raw_")
        if name not in own and (key in value or not has_default):
            values[name] = _convert(hint, value[key])
    return make(**values)


@cache
def _list_fields(make: type[Any]) -> dict[str, tuple[Any, bool]]:
    hints = get_type_hints(make)
    return {field.name: (hints[field.name], field.default is not MISSING) for field in fields(make)}


def _convert(hint: Any, value: Any) -> Any:  # noqa: ANN401
    if isinstance(hint, UnionType) and value is not None:
        hint = next(option for option in get_args(hint) if option is not type(None))
    if isinstance(value, list):
        return tuple(_convert(get_args(hint)[0], element) for element in value)
    if is_dataclass(hint) and isinstance(hint, type):
        return None if value is None else read_record(hint, value)
    return hint(value) if hint in {int, float} and value is not None else value
