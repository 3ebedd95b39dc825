"""One declaration per key of a TOML file: its type, range, default, words and help. Pure.

From it come the value or every mistake at once, the defaults, the JSON schema, and what a form
needs to know. What takes several keys is the caller's. A dataclass declares its table:

    cycles: int = key("cycles", whole(1, 1000), default=10, says="Timed boots per drive.")
"""

import difflib
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, override

from appliance.plan_values import show_size, show_value
from appliance.problem import KeyPath, Problem
from appliance.units import parse_size

type Shape = Literal["text", "size", "number", "choice", "list", "table"]
type Schema = dict[str, Any]

_MARK = "key"
# Of an array that is too long; who writes more of them need not read all about each.
_MOST_MORE = 100
_SIZE_TEXT: Schema = {"type": "string", "pattern": r"^\s*[0-9]+\s*[KMGT]?\s*$"}


@dataclass(slots=True)
class Walk:
    """One reading of a file: what its tables say, and all that is wrong."""

    explain_unknown: Callable[["Table[Any]", str], str]
    """What is said of a key that its table does not know."""
    problems: list[Problem] = field(default_factory=list)
    readings: "dict[KeyPath, Reading[Any]]" = field(default_factory=dict)
    """By the tables' paths."""

    def report(self, path: KeyPath, text: str) -> None:
        """One more mistake."""
        self.problems.append(Problem(path, text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed(ABC):
    """What a key accepts. Some kinds of value; the functions below make them."""

    words: str
    """To follow "must be"."""
    shape: Shape = "text"
    choices: tuple[str, ...] = ()
    """All that it, or each of its elements, may be; empty: anything of its kind."""

    def parse(self, value: object) -> Any:  # noqa: ANN401 - TOML has every type
        """The value as the program holds it. Raises ValueError."""
        raise NotImplementedError

    def read(self, value: object, path: KeyPath, walk: Walk) -> Any:  # noqa: ANN401 - as above
        """The same, or a mistake is reported: then what is returned means nothing."""
        try:
            return self.parse(value)
        except ValueError:
            walk.report(path, self.refuse(value))
            return None

    def refuse(self, value: object) -> str:
        """What is said where it is something else."""
        return f"must be {self.words}, not {show_value(value)}"

    @abstractmethod
    def schema(self) -> Schema:
        """In JSON schema's words."""

    @property
    def bounds(self) -> str:
        """From where to where it goes, as a plan writes it; empty: not said."""
        return ""

    @property
    def is_whole(self) -> bool:
        """Of a number: without a fraction."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number(Allowed):
    least: float
    most: float
    whole: bool

    @override
    def parse(self, value: object) -> float:
        is_number = isinstance(value, int if self.whole else int | float)
        if not is_number or isinstance(value, bool) or not self.least <= value <= self.most:  # type: ignore[operator]
            raise ValueError("no such number")
        return value if self.whole else float(value)  # type: ignore[arg-type,return-value]

    @override
    def schema(self) -> Schema:
        kind = "integer" if self.whole else "number"
        return {"type": kind, "minimum": self.least, "maximum": self.most}

    @property
    @override
    def bounds(self) -> str:
        return f"{self.least} - {self.most}"

    @property
    @override
    def is_whole(self) -> bool:
        return self.whole


def whole(least: int, most: int, *, of: str = "", words: str = "") -> Allowed:
    """A whole number, of seconds for instance."""
    what = f"a whole number of {of}" if of else "a whole number"
    words = words or f"{what} from {least} to {most}"
    return _Number(words=words, shape="number", least=least, most=most, whole=True)


def number(least: float, most: float, *, of: str = "", words: str = "") -> Allowed:
    """Any number in that range."""
    what = f"a number of {of}" if of else "a number"
    words = words or f"{what} from {least} to {most}"
    return _Number(words=words, shape="number", least=least, most=most, whole=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size(Allowed):
    least: int
    most: int | None
    step: int
    power_of_two: bool

    @override
    def parse(self, value: object) -> int:
        if not isinstance(value, str | int):
            raise ValueError("neither a text nor a number")
        size_bytes = parse_size(value)
        is_odd = size_bytes % self.step or (self.power_of_two and size_bytes.bit_count() != 1)
        if is_odd or size_bytes < self.least or (self.most is not None and size_bytes > self.most):
            raise ValueError("no such size")
        return size_bytes

    @override
    def schema(self) -> Schema:
        numbers: Schema = {"type": "integer", "minimum": self.least}
        if self.most is not None:
            numbers["maximum"] = self.most
        if self.step > 1:
            numbers["multipleOf"] = self.step
        return {"anyOf": [_SIZE_TEXT, numbers]}

    @property
    @override
    def bounds(self) -> str:
        return " - ".join(show_size(each) for each in (self.least, self.most or 0))


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

    def show(bound: str | int) -> str:
        return f'"{bound}"' if isinstance(bound, str) else str(bound)

    if not words:
        what = "a power of two" if power_of_two else "a size"
        steps = f" in steps of {step}" if step != 1 else ""
        words = f'{what} from {show(least)} to {show(most or 0)}{steps} such as "{example}"'
        words = words if power_of_two else f"{words}, or a number of bytes"
    return _Size(
        words=words,
        shape="size",
        least=parse_size(least),
        most=None if most is None else parse_size(most),
        step=parse_size(step),
        power_of_two=power_of_two,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneOf(Allowed):
    meanings: Mapping[str, object]
    later: Mapping[str, str]

    @override
    def parse(self, value: object) -> object:
        if not isinstance(value, str) or value not in self.choices:
            raise ValueError("none of them")
        return self.meanings.get(value, value)

    @override
    def refuse(self, value: object) -> str:
        why = self.later.get(value) if isinstance(value, str) else None
        return f'"{value}": {why}; must be {self.words}' if why else Allowed.refuse(self, value)

    @override
    def schema(self) -> Schema:
        if len(self.choices) == 1:
            return {"type": "string", "const": self.choices[0]}
        return {"type": "string", "enum": [*self.choices]}


def join_words(words: Iterable[str]) -> str:
    """`"a" or "b"`."""
    return " or ".join(f'"{word}"' for word in words)


def one_of(
    *choices: str,
    meanings: Mapping[str, object] | None = None,
    later: Mapping[str, str] | None = None,
) -> Allowed:
    """One of a few texts; `meanings` where the program holds something else for one of them.

    `later` has what is told of texts that a later version may accept.
    """
    return _OneOf(
        words=join_words(choices),
        shape="choice",
        choices=choices,
        meanings=meanings or {},
        later=later or {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flag(Allowed):
    @override
    def parse(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValueError("neither true nor false")
        return value

    @override
    def schema(self) -> Schema:
        return {"type": "boolean"}


def flag() -> Allowed:
    """True or false."""
    return _Flag(words="true or false", shape="choice", choices=("false", "true"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text(Allowed):
    least: int
    most: int | None
    pattern: str

    @override
    def parse(self, value: object) -> str:
        if not isinstance(value, str) or not self.least <= len(value) <= (self.most or len(value)):
            raise ValueError("no such text")
        if not re.search(self.pattern, value):
            raise ValueError("another text")
        return value

    @override
    def schema(self) -> Schema:
        found: Schema = {"type": "string"}
        found |= {"minLength": self.least} if self.least else {}
        found |= {"maxLength": self.most} if self.most else {}
        return found | ({"pattern": self.pattern} if self.pattern else {})


def text(words: str, *, least: int = 1, most: int | None = None, pattern: str = "") -> Allowed:
    """A text of so many characters, with `pattern` in it."""
    return _Text(words=words, least=least, most=most, pattern=pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scalar(Allowed):
    @override
    def parse(self, value: object) -> str:
        if not isinstance(value, str | int | float):
            raise ValueError("a date, an array or a table")
        return str(int(value)) if isinstance(value, bool) else str(value)

    @override
    def schema(self) -> Schema:
        kinds = ("string", "integer", "number", "boolean")
        return {"anyOf": [{"type": each} for each in kinds]}


def scalar() -> Allowed:
    """A text, a number or a switch, held as a text, with 1 for true."""
    return _Scalar(words="a text, a number, true or false")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Either(Allowed):
    word: str
    meaning: object
    other: Allowed

    @override
    def parse(self, value: object) -> Any:
        return self.meaning if value == self.word else self.other.parse(value)

    @override
    def schema(self) -> Schema:
        other = self.other.schema()
        return {"anyOf": [{"type": "string", "const": self.word}, *other.get("anyOf", [other])]}

    @property
    @override
    def bounds(self) -> str:
        return self.other.bounds


def either(word: str, meaning: object, other: Allowed, *, words: str = "") -> Allowed:
    """A text that means something of its own, or something else."""
    return _Either(
        words=words or f'"{word}" or {other.words}',
        shape=other.shape,
        choices=(word,),
        word=word,
        meaning=meaning,
        other=other,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Several(Allowed):
    element: Allowed
    least: int
    most: int
    once: bool
    or_one: bool

    @override
    def read(self, value: object, path: KeyPath, walk: Walk) -> tuple[Any, ...]:
        if self.or_one and isinstance(value, str):
            return (replace(self.element, words=self.words).read(value, path, walk),)
        if not isinstance(value, list):
            walk.report(path, self.refuse(value))
            return ()
        before = len(walk.problems)
        found = [
            self.element.read(each, (*path, place), walk)
            for place, each in enumerate(value[: self.most + _MOST_MORE])
        ]
        if not self.least <= len(value) <= self.most:
            walk.report(path, self.refuse(value))
        elif self.once and len(walk.problems) == before:
            for place, each in enumerate(found):
                if each in found[:place]:
                    shown = f'"{show_size(each)}"' if self.element.shape == "size" else None
                    walk.report(path, f"names {shown or show_value(each)} twice")
                    break
        return tuple(found)

    @override
    def schema(self) -> Schema:
        items = self.element.schema()
        found: Schema = {"type": "array", "items": items, "maxItems": self.most}
        found |= {"minItems": self.least} if self.least else {}
        found |= {"uniqueItems": True} if self.once else {}
        return {"anyOf": [items, found]} if self.or_one else found


def each_once(element: Allowed, words: str, *, most: int = 0, or_one: bool = False) -> Allowed:
    """An array whose elements stand in it once each; `or_one`: one of them without brackets."""
    return _Several(
        words=words,
        shape="list",
        choices=element.choices,
        element=element,
        least=1,
        most=most or len(element.choices),
        once=True,
        or_one=or_one,
    )


def several(element: Allowed, words: str, *, most: int, least: int = 1) -> Allowed:
    """An array of so many elements, which may be alike."""
    return _Several(
        words=words,
        shape="list",
        element=element,
        least=least,
        most=most,
        once=False,
        or_one=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs(Allowed):
    names: str
    name_words: str
    longest_name: int
    element: Allowed
    most: int | None

    @override
    def read(self, value: object, path: KeyPath, walk: Walk) -> tuple[tuple[str, Any], ...]:
        if not isinstance(value, dict) or not 1 <= len(value) <= (self.most or len(value)):
            walk.report(path, self.refuse(value))
            return ()
        found = []
        for name, each in value.items():
            if self.names and (len(name) > self.longest_name or not re.fullmatch(self.names, name)):
                walk.report((*path, name), f"must be {self.name_words}")
            else:
                found.append((name, self.element.read(each, (*path, name), walk)))
        return tuple(found)

    @override
    def schema(self) -> Schema:
        found: Schema = {"type": "object", "minProperties": 1}
        found |= {"maxProperties": self.most} if self.most else {}
        if not self.names:
            return found | {"additionalProperties": self.element.schema()}
        return found | {
            "additionalProperties": False,
            "patternProperties": {f"^{self.names}$": self.element.schema()},
            "propertyNames": {"maxLength": self.longest_name},
        }


def pairs(
    element: Allowed,
    words: str,
    *,
    names: str = "",
    name_words: str = "",
    longest_name: int = 0,
    most: int | None = None,
) -> Allowed:
    """A table of names that people choose, held as pairs in their order."""
    return _Pairs(
        words=words,
        shape="table",
        names=names,
        name_words=name_words,
        longest_name=longest_name,
        element=element,
        most=most,
    )


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

    def schema(self) -> Schema:
        """In JSON schema's words."""
        found = self.allowed.schema()
        found |= {"description": self.says} if self.says else {}
        return found if self.default is None else found | {"default": self.default}


def key(
    name: str,
    allowed: Allowed,
    *,
    default: Any = None,  # noqa: ANN401 - TOML has every type
    absent: Any = MISSING,  # noqa: ANN401 - what the field holds
    is_required: bool = False,
    says: str = "",
    brief: str = "",
) -> Any:  # noqa: ANN401 - the type is the field's
    """A field of a dataclass that is a key of its table.

    `default` is as TOML has it; `absent` is what the field holds where a key without a default is
    not there, or where the table makes no sense without it.
    """
    held = absent
    if default is not None:
        walk = Walk(_explain_nothing)
        held = allowed.read(default, (name,), walk)
        if walk.problems:
            raise ValueError(str(walk.problems[0]))
    made = Key(
        name=name,
        allowed=allowed,
        says=says,
        brief=brief,
        default=default,
        held=None if held is MISSING else held,
        is_required=is_required,
    )
    if held is MISSING:
        return field(metadata={_MARK: made})
    return field(default=held, metadata={_MARK: made})


def _explain_nothing(table: "Table[Any]", name: str) -> str:
    raise AssertionError(table, name)


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
        return {name: each.default for name, each in self.keys.items() if each.default is not None}

    def schema(self) -> Schema:
        """In JSON schema's words."""
        found: Schema = {
            "title": self.name,
            "description": self.says,
            "type": "object",
            "additionalProperties": False,
            "properties": {name: each.schema() for name, each in self.keys.items()},
        }
        required = [name for name, each in self.keys.items() if each.is_required]
        found |= {"required": required} if required else {}
        needed = [{"required": [each]} for each in self.needs_one]
        return found | ({"anyOf": needed} if needed else {})


@cache
def table_of[T](kind: type[T]) -> Table[T]:
    """The table that a dataclass declares.

    Its docstring says what it is, and `called` how people call it; `NEEDS_ONE`
    names keys of which one must be there, and `LACKING` what is said where none is; `complete` is
    called where some fields follow from others.
    """
    declared = {
        each.metadata[_MARK].name: (each.name, each.metadata[_MARK])
        for each in fields(kind)  # type: ignore[arg-type]
        if _MARK in each.metadata
    }

    def build(values: Mapping[str, Any]) -> T:
        built = kind(**{declared[name][0]: value for name, value in values.items()})
        complete = getattr(built, "complete", None)
        return complete() if complete else built

    needed = getattr(kind, "NEEDS_ONE", ())
    return Table(
        name=f"{kind.__name__.removesuffix('Plan').removeprefix('Planned')}Table",
        keys=MappingProxyType({name: each for name, (_, each) in declared.items()}),
        build=build,
        says=" ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()),
        called=getattr(kind, "called", ""),
        needs_one=needed,
        lacking=getattr(kind, "LACKING", "")
        or f"has neither {' nor '.join(needed)}; must have one of them",
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
    for name, each in table.keys.items():
        before = len(walk.problems)
        values[name] = each.held
        if name in data:
            value = each.allowed.read(data[name], (*path, name), walk)
            values[name] = each.held if len(walk.problems) > before else value
        elif each.is_required:
            walk.report((*path, name), f"is missing; must be {each.allowed.words}")
        if len(walk.problems) > before:
            broken.add(name)
    if table.needs_one and not data.keys() & set(table.needs_one):
        walk.report(path, table.lacking)
    for name in data:
        if name not in table.keys:
            walk.report((*path, name), walk.explain_unknown(table, name))
            broken.add(name)
    reading = Reading(path, table.build(values), frozenset(data), frozenset(broken), values)
    walk.readings[path] = reading
    return reading


def read_alone[T](table: Table[T], data: Mapping[str, Any]) -> Reading[T] | None:
    """What a table by itself says; None where anything is wrong with it."""
    walk = Walk(lambda _table, name: f"{name} is not known")
    reading = read_table(table, data, walk=walk)
    return None if walk.problems else reading


def find_close(name: str, names: Iterable[str]) -> str:
    """`; did you mean "…"?`, or nothing where none is like it."""
    close = difflib.get_close_matches(name.lower(), names, n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _InnerTable(Allowed):
    table: Table[Any]

    @override
    def read(self, value: object, path: KeyPath, walk: Walk) -> Any:
        if isinstance(value, dict):
            return read_table(self.table, value, path=path, walk=walk).value
        walk.report(path, self.refuse(value))
        return None

    @override
    def schema(self) -> Schema:
        return {"$ref": f"#/$defs/{self.table.name}"}


def one_table(table: Table[Any], words: str) -> Allowed:
    """A table in the table."""
    return _InnerTable(words=words, table=table)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableByKey(Allowed):
    tables: Mapping[str, Table[Any]]
    by: str

    @override
    def read(self, value: object, path: KeyPath, walk: Walk) -> Any:
        if not isinstance(value, dict):
            walk.report(path, self.refuse(value))
            return None
        kinds, kind = one_of(*self.tables), value.get(self.by)
        if kind is None:
            walk.report((*path, self.by), f"is missing; must be {kinds.words}")
        elif kinds.read(kind, (*path, self.by), walk):
            return read_table(self.tables[kind], value, path=path, walk=walk).value
        return None

    @override
    def schema(self) -> Schema:
        places = {kind: f"#/$defs/{each.name}" for kind, each in self.tables.items()}
        return {
            "oneOf": [{"$ref": each} for each in places.values()],
            "discriminator": {"propertyName": self.by, "mapping": places},
        }


def table_by(by: str, tables: Mapping[str, Table[Any]], words: str) -> Allowed:
    """A table whose keys depend on what its key `by` says."""
    return _TableByKey(words=words, tables=tables, by=by)
