"""What the tables of `plan.toml` have in common: strictness, sizes, and words for what is allowed.

Owns no key. Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetJsonSchemaHandler,
)
from pydantic_core import CoreSchema, PydanticCustomError

from appliance.plan_lines import Path
from appliance.plan_values import show_size, show_value
from appliance.units import parse_size

OWN_WORDS = "kaltstart"
"""The type of a mistake whose message is complete: it is shown as it is."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a key accepts, to follow "must be"."""

    text: str


@dataclass(frozen=True, slots=True)
class AllowedEach:
    """What an element of a key's array, or a value of its table, accepts."""

    text: str


@dataclass(frozen=True, slots=True)
class AllowedNames:
    """What the names in a key's table look like."""

    text: str


class Table(BaseModel):
    """Unknown keys are errors, and a type is what it is: no "10" for 10, no true for 1."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def drop_default(schema: dict[str, Any]) -> None:
    """An absent key that has no default stays out of the schema; here it is empty."""
    del schema["default"]


def value_at(path: Path, data: Any) -> Any:  # noqa: ANN401 - TOML has every type
    """What stands at `path`; None where nothing does."""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def join_words(words: Iterable[str]) -> str:
    """`"a" or "b"`."""
    return " or ".join(f'"{word}"' for word in words)


def one_of(*words: str) -> Allowed:
    """One of a few texts."""
    return Allowed(join_words(words))


def _parse_bytes(value: object) -> int:
    if not isinstance(value, str | int):
        raise ValueError("neither a text nor a number")
    return parse_size(value)


_RANGE_KEYS = {"ge": "minimum", "le": "maximum", "multiple_of": "multipleOf"}


class _SizeSchema:
    """A size in the JSON schema: a text, or an integer in its range."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        text = {"type": "string", "pattern": r"^\s*[0-9]+\s*[KMGT]?\s*$"}
        # Behind a validator pydantic leaves a range under its own names.
        number = {_RANGE_KEYS.get(key, key): value for key, value in handler(core).items()}
        return {"anyOf": [text, number]}


Size = Annotated[int, BeforeValidator(_parse_bytes), _SizeSchema()]
"""Bytes, or a text such as 4K, 1M, 2G. Its range is for `Field`."""


def mistake(text: str) -> PydanticCustomError:
    """To be raised by a validator; `text` is the whole message behind the key."""
    return PydanticCustomError(OWN_WORDS, "{text}", {"text": text})


def _refuse_repeats(values: list[Any]) -> list[Any]:
    for place, value in enumerate(values):
        if value in values[:place]:
            is_size = isinstance(value, int) and not isinstance(value, bool)
            shown = f'"{show_size(value)}"' if is_size else show_value(value)
            raise mistake(f"names {shown} twice")
    return values


Once = AfterValidator(_refuse_repeats)
"""Of an array: each element stands in it once."""
