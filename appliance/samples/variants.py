"""What a figure is of: a test in its rounds, a file of a pass, a slice of a drive. Pure.

Stored, and in a step's parts, it is a text such as `writeback/rand-read/round-3`: here alone that
text is put together (`str`) and read (`parse_variant`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args, override

from appliance.units import parse_size, printable

CacheMode = Literal["writethrough", "writeback", "writearound", "none"]
CACHE_MODES: tuple[str, ...] = get_args(CacheMode)
SLICES = 100
"""How many equal slices a surface scan has."""
PRECONDITION, WARM_UP = "precondition", "warm-up"
WRITE, READ, READ_COLD = "write", "read", "read-cold"
"""The phases of a verify."""

_LONGEST = 400
"""Characters of what this program puts together: a file's name, and what stands around it."""
_ROUNDS = {PRECONDITION: "pass-", WARM_UP: ""}
"""What stands before a round's number; `round-` where it is a test's."""
_PATTERNS = {
    "fio": (
        rf"(?:(?P<mode>{'|'.join(CACHE_MODES)})/)?(?P<test>[^/]+)"
        r"(?:/(?:round-|pass-)?(?P<round>\d+))?(?:/(?P<direction>read|write))?"
    ),
    # A file's name is never digits alone.
    "lottery": r"(?P<reading>[^/]+)(?:/(?P<file>[^/]*[^/\d][^/]*))?(?:/(?P<repetition>\d+))?",
    "matrix": r"(?P<size>[^/]+)/(?P<record>[^/]+)/(?P<operation>[^/]+)",
    "sweep": r"(?P<size>[^/]+)/(?P<test>[^/]+)/(?P<access>.+)",
    "surface": r"(?P<slice>\d{3})|whole",
    "verify": rf"(?P<phase>{WRITE}|{READ_COLD}|{READ})(?:-(?P<stretch>\d\d))?",
}


@dataclass(frozen=True, slots=True)
class NamedVariant:
    """A phase of SQL, a self-test; and whatever is none of the others."""

    name: str

    @override
    def __str__(self) -> str:
        return self.name


OTHER = NamedVariant("other")
"""The device's bytes that belong to no part: preparation, wasted attempts."""
TOTAL = NamedVariant("total")
"""All phases of SQL."""


@dataclass(frozen=True, slots=True)
class ArrayVariant:
    """The array's inside: bcache's counters over a step, or what its members served in a part."""

    part: str = ""

    @override
    def __str__(self) -> str:
        return f"array/{self.part}" if self.part else "array"


@dataclass(frozen=True, slots=True, kw_only=True)
class FioVariant:
    """A test of fio's, or what comes before: the preconditioning, the warming of a cache."""

    test: str
    mode: str = ""
    """The array's cache mode it ran in, where the plan compares modes."""
    round: int = 0
    """From 1, of a test that ran in rounds, and of what comes before; 0: all of it."""
    direction: str = ""
    """read | write: one of the two, of a job that does both."""

    @property
    def is_test(self) -> bool:
        """Whether it is what was asked for."""
        return self.test not in {PRECONDITION, WARM_UP}

    @property
    def whole(self) -> Self:
        """The same over all rounds and in both directions."""
        return replace(self, round=0, direction="")

    @override
    def __str__(self) -> str:
        nth = f"{_ROUNDS.get(self.test, 'round-')}{self.round}" if self.round else ""
        return "/".join(filter(None, (self.mode, self.test, nth, self.direction)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LotteryVariant:
    """A pass, or one of its files."""

    reading: str
    """The pass's name in the plan."""
    file: str = ""
    """Empty: all of them."""
    repetition: int = 1

    @override
    def __str__(self) -> str:
        nth = str(self.repetition) if self.repetition > 1 else ""
        return "/".join(filter(None, (self.reading, self.file, nth)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixVariant:
    """An operation on a file of one size, in records of another."""

    size: str
    """`64M`, or `2x` the RAM that was free."""
    record: str
    operation: str

    @override
    def __str__(self) -> str:
        return f"{self.size}/{self.record}/{self.operation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepVariant:
    """A test on a working set."""

    size: str
    """Of the set: `64M`."""
    test: str
    access: str
    """randommap | norandommap | norandommap/zipf"""

    @property
    def set_bytes(self) -> int:
        """0 for what is no size."""
        try:
            return parse_size(self.size)
        except ValueError:
            return 0

    @override
    def __str__(self) -> str:
        return f"{self.size}/{self.test}/{self.access}"


@dataclass(frozen=True, slots=True)
class SurfaceVariant:
    """A slice of the drive."""

    slice: int | None = None
    """From 0, at the start of the drive; None: the whole drive."""

    @property
    def whole(self) -> Self:
        """All of the drive."""
        return replace(self, slice=None)

    @override
    def __str__(self) -> str:
        return "whole" if self.slice is None else f"{self.slice:03}"


@dataclass(frozen=True, slots=True)
class VerifyVariant:
    """A phase, or one of the stretches that it does one after the other."""

    phase: str
    stretch: int | None = None
    """From 0; None: all of them."""

    @property
    def whole(self) -> Self:
        """All of the phase."""
        return replace(self, stretch=None)

    @override
    def __str__(self) -> str:
        return self.phase if self.stretch is None else f"{self.phase}-{self.stretch:02}"


type Variant = (
    NamedVariant
    | ArrayVariant
    | FioVariant
    | LotteryVariant
    | MatrixVariant
    | SweepVariant
    | SurfaceVariant
    | VerifyVariant
)


def parse_variant(kind: str, text: str) -> Variant:
    """What `text` names in a step of this kind; what fits no such step is a name.

    `str` of it is `text` again. All but names can be printed as they are.
    """
    if text == str(OTHER):
        return OTHER
    # Another stick's database may hold megabytes here: the patterns would take for ever.
    made = None if len(text) > _LONGEST or printable(text) != text else _make(kind, text)
    return made if made is not None and str(made) == text else NamedVariant(text)


def _make(kind: str, text: str) -> Variant | None:
    if text == "array" or text.startswith("array/"):
        return ArrayVariant(text.removeprefix("array").removeprefix("/"))
    found = re.fullmatch(_PATTERNS[kind], text, re.ASCII) if kind in _PATTERNS else None
    if found is None:
        return None
    return _MAKERS[kind]({name: part for name, part in found.groupdict().items() if part})


def parse_part[V](kind: str, text: str, wanted: type[V]) -> V:
    """A part that this very program has named. Raises ValueError where it has not."""
    found = parse_variant(kind, text)
    if isinstance(found, wanted):
        return found
    raise ValueError(f"{text!r} is no part of {kind}")


def _number(part: str | None) -> int | None:
    return None if part is None else int(part)


_MAKERS: Mapping[str, Callable[[dict[str, str]], Variant]] = {
    "fio": lambda parts: FioVariant(
        test=parts["test"],
        mode=parts.get("mode", ""),
        round=int(parts.get("round", "0")),
        direction=parts.get("direction", ""),
    ),
    "lottery": lambda parts: LotteryVariant(
        reading=parts["reading"],
        file=parts.get("file", ""),
        repetition=int(parts.get("repetition", "1")),
    ),
    "matrix": lambda parts: MatrixVariant(**parts),
    "sweep": lambda parts: SweepVariant(**parts),
    "surface": lambda parts: SurfaceVariant(_number(parts.get("slice"))),
    "verify": lambda parts: VerifyVariant(parts["phase"], _number(parts.get("stretch"))),
}
