# SPDX-License-Identifier: Apache-2.0
"""One declaration per key of a TOML file: its type, range, default, words and help. Pure.

From it come the value or every mistake at once, the defaults, the JSON schema, and what a form
needs to know. What takes several keys is the caller's. A dataclass declares its table:

    cycles: int = key(whole(1, 1000), default=10, says="Timed boots per drive.")
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NoReturn

from appliance.phrases import N_, Phrase
from appliance.problem import KeyPath, Problem
from appliance.toml.values import join_words, show_value
from appliance.units import parse_size, show_size

type Shape = Literal["text", "size", "number", "choice", "list", "table"]
type Schema = Mapping[str, Any]
type Parse = Callable[[object, KeyPath, "Walk"], Any]
"""The value as the program holds it; raises ValueError, or reports what is wrong inside it."""

_MARK = "key"
# A field's name has them, its key has not; others, such as _us, are part of the key.
_UNITS = re.compile(r"(_bytes|_s)$")
_SIZE_TEXT = {"type": "string", "pattern": r"^\s*[0-9]+\s*[KMGT]?\s*$"}
# Of an array that is too long; who writes more of them need not read all about each.
_MOST_MORE = 100


@dataclass(slots=True)
class Walk:
    """One reading of a file: what its tables say, and all that is wrong."""

    explain_unknown: Callable[["Table[Any]", str], str]
    """What is said of a key that its table does not know."""
    problems: list[Problem] = field(default_factory=list)
    readings: "dict[KeyPath, Reading[Any]]" = field(default_factory=dict)
    """By the tables' paths."""

    def report(self, path: KeyPath, told: str) -> None:
        """One more mistake."""
        self.problems.append(Problem(path, told))


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a key accepts; the functions below make them."""

    words: str
    """To follow "must be"."""
    parse: Parse
    schema: Schema
    """In JSON schema's words."""
    shape: Shape = "text"
    choices: tuple[str, ...] = ()
    """All that it, or each of its elements, may be; empty: anything of its kind."""
    bounds: str = ""
    """From where to where it goes, as a plan writes it; empty: not said."""
    is_whole: bool = False
    """Of a number: without a fraction."""

    def read(self, value: object, path: KeyPath, walk: Walk) -> Any:  # noqa: ANN401 - TOML's types
        """The value, or a mistake is reported: then what is returned means nothing."""
        try:
            return self.parse(value, path, walk)
        except ValueError:
            walk.report(
                path,
                Phrase(N_("must be {what}, not {given}"), what=self.words, given=show_value(value)),
            )
            return None


def _refuse() -> NoReturn:
    raise ValueError("something else")


def whole(least: int, most: int, *, of: str = "", words: str = "") -> Allowed:
    """A whole number, of seconds for instance."""
    base = number(
        least,
        most,
        words=words
        or (
            Phrase(
                N_("a whole number of {what} from {least} to {most}"),
                what=of,
                least=least,
                most=most,
            )
            if of
            else Phrase(N_("a whole number from {least} to {most}"), least=least, most=most)
        ),
    )

    def parse(value: object, path: KeyPath, walk: Walk) -> int:
        base.parse(value, path, walk)
        return value if isinstance(value, int) else _refuse()

    return replace(base, parse=parse, schema={**base.schema, "type": "integer"}, is_whole=True)


def number(least: float, most: float, *, of: str = "", words: str = "") -> Allowed:
    """Any number in that range."""
    in_range = (
        Phrase(N_("a number of {what} from {least} to {most}"), what=of, least=least, most=most)
        if of
        else Phrase(N_("a number from {least} to {most}"), least=least, most=most)
    )

    def parse(value: object, _path: KeyPath, _walk: Walk) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            _refuse()
        return float(value) if least <= value <= most else _refuse()

    return Allowed(
        words=words or in_range,
        parse=parse,
        schema={"type": "number", "minimum": least, "maximum": most},
        shape="number",
        bounds=f"{least} - {most}",
    )


def size(
    least: str | int,
    most: str | int | None,
    example: str = "",
    *,
    step: str | int = 1,
    power_of_two: bool = False,
    words: str = "",
) -> Allowed:
    """Bytes, or a text such as 4K, 1M, 2G; `least`, `most` and `step` as people write them."""
    lowest, unit = parse_size(least), parse_size(step)
    highest = None if most is None else parse_size(most)

    def parse(value: object, _path: KeyPath, _walk: Walk) -> int:
        size_bytes = parse_size(value) if isinstance(value, str | int) else _refuse()
        is_odd = size_bytes % unit or (power_of_two and size_bytes.bit_count() != 1)
        is_out = size_bytes < lowest or (highest is not None and size_bytes > highest)
        return _refuse() if is_odd or is_out else size_bytes

    ends = [f'"{end}"' if isinstance(end, str) else str(end) for end in (least, most)]
    least_text, most_text = ends
    if power_of_two:
        in_range = Phrase(
            N_('a power of two from {least} to {most} such as "{example}"'),
            least=least_text,
            most=most_text,
            example=example,
        )
    elif unit > 1:
        in_range = Phrase(
            N_(
                'a size from {least} to {most} in steps of {step} such as "{example}", or a number '
                "of bytes"
            ),
            least=least_text,
            most=most_text,
            step=step,
            example=example,
        )
    else:
        in_range = Phrase(
            N_('a size from {least} to {most} such as "{example}", or a number of bytes'),
            least=least_text,
            most=most_text,
            example=example,
        )
    bounds = {"minimum": lowest} if highest is None else {"minimum": lowest, "maximum": highest}
    steps_of = {"multipleOf": unit} if unit > 1 else {}
    return Allowed(
        words=words or in_range,
        parse=parse,
        schema={"anyOf": [_SIZE_TEXT, {"type": "integer", **bounds, **steps_of}]},
        shape="size",
        bounds=" - ".join(map(show_size, bounds.values())),
    )


def one_of(*choices: str, meanings: Mapping[str, object] = MappingProxyType({})) -> Allowed:
    """One of a few texts; `meanings` where the program holds something else for one of them."""

    def parse(value: object, _path: KeyPath, _walk: Walk) -> object:
        if not isinstance(value, str) or value not in choices:
            _refuse()
        return meanings.get(value, value)

    schema = {"const": choices[0]} if len(choices) == 1 else {"enum": [*choices]}
    return Allowed(
        words=join_words(choices),
        parse=parse,
        schema={"type": "string", **schema},
        shape="choice",
        choices=choices,
    )


def flag() -> Allowed:
    """True or false."""
    return Allowed(
        words=N_("true or false"),
        parse=lambda value, _path, _walk: value if isinstance(value, bool) else _refuse(),
        schema={"type": "boolean"},
        shape="choice",
        choices=("false", "true"),
    )


def text(words: str, *, least: int = 1, most: int | None = None, pattern: str = "") -> Allowed:
    """A text of so many characters, with `pattern` in it."""
    # The $ of JSON schema is the very end; Python's may be before a line's.
    regex = re.compile(re.sub(r"\$$", r"\\Z", pattern))

    def parse(value: object, _path: KeyPath, _walk: Walk) -> str:
        if not isinstance(value, str) or not least <= len(value) <= (most or len(value)):
            _refuse()
        return value if regex.search(value) else _refuse()

    limits = {"minLength": least, "maxLength": most, "pattern": pattern}
    schema = {"type": "string", **{name: limit for name, limit in limits.items() if limit}}
    return Allowed(words=words, parse=parse, schema=schema)


def scalar() -> Allowed:
    """A text, a number or a switch, held as a text, with 1 for true."""

    def parse(value: object, _path: KeyPath, _walk: Walk) -> str:
        if not isinstance(value, str | int | float):
            _refuse()
        return str(int(value)) if isinstance(value, bool) else str(value)

    kinds = ("string", "integer", "number", "boolean")
    return Allowed(
        words=N_("a text, a number, true or false"),
        parse=parse,
        schema={"anyOf": [{"type": kind} for kind in kinds]},
    )


def either(word: str, meaning: object, other: Allowed, *, words: str = "") -> Allowed:
    """A text that means something of its own, or something else."""
    alternatives = other.schema.get("anyOf", [other.schema])
    return replace(
        other,
        words=words or Phrase(N_("{first} or {rest}"), first=f'"{word}"', rest=other.words),
        parse=lambda value, path, walk: (
            meaning if value == word else other.parse(value, path, walk)
        ),
        schema={"anyOf": [{"type": "string", "const": word}, *alternatives]},
        choices=(word,),
    )


def several(element: Allowed, words: str, *, most: int, least: int = 1) -> Allowed:
    """An array of so many elements, which may be alike."""

    def parse(value: object, path: KeyPath, walk: Walk) -> tuple[Any, ...]:
        if not isinstance(value, list):
            _refuse()
        read = value[: most + _MOST_MORE]
        elements = tuple(element.read(item, (*path, at), walk) for at, item in enumerate(read))
        return elements if least <= len(value) <= most else _refuse()

    limits = {"minItems": least, "maxItems": most} if least else {"maxItems": most}
    return Allowed(
        words=words,
        parse=parse,
        schema={"type": "array", "items": element.schema, **limits},
        shape="list",
        choices=element.choices,
    )


def each_once(element: Allowed, words: str, *, most: int = 0, or_one: bool = False) -> Allowed:
    """An array whose elements occur once each; `or_one`: one of them without brackets."""
    alike = several(element, words, most=most or len(element.choices))

    def parse(value: object, path: KeyPath, walk: Walk) -> tuple[Any, ...]:
        if or_one and isinstance(value, str):
            return (element.parse(value, path, walk),)
        before = len(walk.problems)
        elements: tuple[Any, ...] = alike.parse(value, path, walk)
        again = [item for at, item in enumerate(elements) if item in elements[:at]]
        if again and len(walk.problems) == before:
            is_size = element.shape == "size"
            name = f'"{show_size(again[0])}"' if is_size else show_value(again[0])
            walk.report(path, Phrase(N_("names {value} twice"), value=name))
        return elements

    schema = {**alike.schema, "uniqueItems": True}
    return replace(
        alike, parse=parse, schema={"anyOf": [element.schema, schema]} if or_one else schema
    )


def pairs(
    element: Allowed, words: str, *, names: Allowed | None = None, most: int | None = None
) -> Allowed:
    """A table of names that people choose, held as pairs in their order."""

    def parse(value: object, path: KeyPath, walk: Walk) -> tuple[tuple[str, Any], ...]:
        if not isinstance(value, dict) or not 1 <= len(value) <= (most or len(value)):
            _refuse()
        return tuple(
            (name, element.read(item, (*path, name), walk))
            for name, item in value.items()
            if names is None or is_named(name, (*path, name), walk, names)
        )

    def is_named(name: str, path: KeyPath, walk: Walk, allowed: Allowed) -> bool:
        try:
            allowed.parse(name, path, walk)
        except ValueError:
            walk.report(path, Phrase(N_("must be {what}"), what=allowed.words))
            return False
        return True

    schema: dict[str, Any] = {"additionalProperties": element.schema}
    if names is not None:
        schema = {
            "additionalProperties": False,
            "patternProperties": {names.schema["pattern"]: element.schema},
            "propertyNames": {"maxLength": names.schema["maxLength"]},
        }
    schema |= {"maxProperties": most} if most else {}
    return Allowed(
        words=words,
        parse=parse,
        schema={"type": "object", "minProperties": 1, **schema},
        shape="table",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InRow:
    """How a key is set in the row that a form has for its table; the texts are in English."""

    label: str = ""
    """Before it."""
    offered: str = ""
    """What a field begins with where the key has no default."""
    words: Mapping[Any, str] = MappingProxyType({})
    """Of a key with few values, in the order in which they take turns; empty: it has a field."""


@dataclass(frozen=True, slots=True)
class InMore:
    """How a key is set on the form's page of more settings; the texts are in English."""

    does: str
    """A line about it."""
    absent: str = ""
    """What holds where the plan is silent, of a key without a default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a table."""

    name: str
    allowed: Allowed
    says: str = ""
    """A line or two of help."""
    brief: str = ""
    """The same in three or four words, for a form, in English."""
    default: Any = None
    """As TOML has it; None: there is none."""
    held: Any = None
    """What the program holds where the key is absent."""
    is_required: bool = False
    in_row: InRow | None = None
    """None: it is set on the page of all keys."""
    in_more: InMore | None = None
    """None: it is not set on the page of more settings."""

    @property
    def schema(self) -> Schema:
        """In JSON schema's words."""
        default = {} if self.default is None else {"default": self.default}
        return {
            **self.allowed.schema,
            **({"description": self.says} if self.says else {}),
            **default,
        }


def key(
    allowed: Allowed,
    *,
    name: str = "",
    default: Any = None,  # noqa: ANN401 - TOML has every type
    absent: Any = MISSING,  # noqa: ANN401 - what the field holds
    is_required: bool = False,
    says: str = "",
    brief: str = "",
    in_row: InRow | None = None,
    in_more: InMore | None = None,
) -> Any:  # noqa: ANN401 - the type is the field's
    """A field of a dataclass that is a key of its table, called like it but for a unit's suffix.

    `default` is as TOML has it; `absent` is what the field holds where a key without a default is
    not there, or where the table makes no sense without it.
    """
    held = absent
    if default is not None:
        walk = Walk(lambda _table, unknown: f"{unknown} is not known")
        held = allowed.read(default, (), walk)
        if walk.problems:
            raise ValueError(walk.problems[0].text)
    made = Key(
        name=name,
        allowed=allowed,
        says=says,
        brief=brief,
        default=default,
        held=None if held is MISSING else held,
        is_required=is_required,
        in_row=in_row,
        in_more=in_more,
    )
    without: dict[str, Any] = {} if held is MISSING else {"default": held}
    return field(metadata={_MARK: made}, **without)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table[T]:
    """The keys of a table, by name and in their order, and what is made of their values."""

    name: str
    keys: Mapping[str, Key]
    build: Callable[[Mapping[str, Any]], T]
    says: str = ""
    called: str = ""
    """In a sentence, for people."""
    needs_one: tuple[str, ...] = ()
    """Keys of which one at least must be there."""
    lacking: str = ""
    """What is said where none of them is."""

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Those that have one, as TOML has them."""
        return {
            name: entry.default for name, entry in self.keys.items() if entry.default is not None
        }

    @property
    def schema(self) -> Schema:
        """In JSON schema's words."""
        required = [name for name, entry in self.keys.items() if entry.is_required]
        needed = [{"required": [name]} for name in self.needs_one]
        return {
            "title": self.name,
            "description": self.says,
            "type": "object",
            "additionalProperties": False,
            "properties": {name: entry.schema for name, entry in self.keys.items()},
            **({"required": required} if required else {}),
            **({"anyOf": needed} if needed else {}),
        }


def _name_of(declared: "Field[Any]") -> str:
    return declared.metadata[_MARK].name or _UNITS.sub("", declared.name)


def _lack(key: str, other: str) -> str:
    words = N_("has neither {key} nor {other}; must have one of them")
    return Phrase(words, key=key, other=other)


@cache
def table_of[T](kind: type[T]) -> Table[T]:
    """The table that a dataclass declares.

    Its docstring says what it is, and `called` how people call it; `NEEDS_ONE` names keys of which
    one must be there, and `LACKING` what is said where none is; `complete` is called where some
    fields follow from others.
    """
    # The type of a table is not bound to dataclasses, which all tables are.
    declared = [field for field in fields(kind) if _MARK in field.metadata]  # type: ignore[arg-type]
    needed: tuple[str, ...] = getattr(kind, "NEEDS_ONE", ())

    def build(values: Mapping[str, Any]) -> T:
        built = kind(**{field.name: values[_name_of(field)] for field in declared})
        complete = getattr(built, "complete", None)
        return complete() if complete else built

    return Table(
        name=f"{kind.__name__.removesuffix('Plan').removeprefix('Planned')}Table",
        keys={
            _name_of(field): replace(field.metadata[_MARK], name=_name_of(field))
            for field in declared
        },
        build=build,
        says=" ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()),
        called=getattr(kind, "called", ""),
        needs_one=needed,
        lacking=getattr(kind, "LACKING", "") or (_lack(*needed) if needed else ""),
    )


@dataclass(frozen=True, slots=True)
class Reading[T]:
    """What a table says."""

    path: KeyPath
    value: T
    """Broken keys have their defaults here."""
    given: frozenset[str]
    broken: frozenset[str]
    """Keys that were complained about."""
    values: Mapping[str, Any]
    """The same by key."""


def read_table[T](
    table: Table[T], data: Mapping[str, Any], *, path: KeyPath = (), walk: Walk
) -> Reading[T]:
    """What is in `data`; every mistake is reported."""
    values: dict[str, Any] = {}
    broken: set[str] = set()
    for name, entry in table.keys.items():
        before = len(walk.problems)
        values[name] = entry.held
        if name in data:
            value = entry.allowed.read(data[name], (*path, name), walk)
            values[name] = entry.held if len(walk.problems) > before else value
        elif entry.is_required:
            walk.report(
                (*path, name), Phrase(N_("is missing; must be {what}"), what=entry.allowed.words)
            )
        if len(walk.problems) > before:
            broken.add(name)
    if table.needs_one and not data.keys() & set(table.needs_one):
        walk.report(path, table.lacking)
    for name in (name for name in data if name not in table.keys):
        walk.report((*path, name), walk.explain_unknown(table, name))
        broken.add(name)
    reading = Reading(path, table.build(values), frozenset(data), frozenset(broken), values)
    walk.readings[path] = reading
    return reading


def read_alone[T](table: Table[T], data: Mapping[str, Any]) -> Reading[T] | None:
    """What a table says, read on its own; None if anything is wrong with it."""
    walk = Walk(lambda _table, name: f"{name} is not known")
    reading = read_table(table, data, walk=walk)
    return None if walk.problems else reading


def one_table(table: Table[Any], words: str) -> Allowed:
    """A table in the table."""

    def parse(value: object, path: KeyPath, walk: Walk) -> Any:  # noqa: ANN401 - the table's type
        if not isinstance(value, dict):
            _refuse()
        return read_table(table, value, path=path, walk=walk).value

    return Allowed(words=words, parse=parse, schema={"$ref": f"#/$defs/{table.name}"})


def table_by(by: str, tables: Mapping[str, Table[Any]], words: str) -> Allowed:
    """A table whose keys depend on what its key `by` says."""
    kinds = one_of(*tables)

    def parse(value: object, path: KeyPath, walk: Walk) -> Any:  # noqa: ANN401 - the table's type
        if not isinstance(value, dict):
            _refuse()
        if by not in value:
            walk.report((*path, by), Phrase(N_("is missing; must be {what}"), what=kinds.words))
        elif kind := kinds.read(value[by], (*path, by), walk):
            return read_table(tables[kind], value, path=path, walk=walk).value
        return None

    places = {kind: f"#/$defs/{table.name}" for kind, table in tables.items()}
    return Allowed(
        words=words,
        parse=parse,
        schema={
            "oneOf": [{"$ref": place} for place in places.values()],
            "discriminator": {"propertyName": by, "mapping": places},
        },
    )
