# SPDX-License-Identifier: Apache-2.0
"""What a figure is of: a test in its rounds, a file of a pass, a slice of a drive. Pure.

Stored, and in a step's parts, it is a text such as `writeback/rand-read/round-3`, put together
by `str` and read by `parse_variant` alone. Each kind of workload has its own beside its keys.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, get_args, override

from appliance.kinds import KINDS, load
from appliance.units import printable

CacheMode = Literal["writethrough", "writeback", "writearound", "none"]
CACHE_MODES: tuple[str, ...] = get_args(CacheMode)

_LONGEST = 400
"""Characters of what this program puts together: a file's name, and what surrounds it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The base of all."""

    PATTERN: ClassVar = ""
    """What the text of one looks like, its groups named like the fields; empty: it has no text."""
    NUMBERS: ClassVar[frozenset[str]] = frozenset()
    """The fields that are numbers."""

    WHOLE: ClassVar[Mapping[str, Any]] = {}
    """What these fields are where it is no part, neither a round nor a stretch."""

    @property
    def whole(self) -> Self:
        """What it is a part of, a round or a stretch; itself where it is none."""
        return replace(self, **self.WHOLE) if self.WHOLE else self


@dataclass(frozen=True, slots=True)
class NamedVariant(Variant):
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
class ArrayVariant(Variant):
    """The array's inside: bcache's counters over a step, or what its members served in a part."""

    part: str = ""

    @override
    def __str__(self) -> str:
        return f"array/{self.part}" if self.part else "array"


def parse_variant(kind: str, text: str) -> Variant:
    """What `text` names in a step of this kind; what fits no such step is a name.

    `str` of it is `text` again. All but names can be printed as they are.
    """
    if text == str(OTHER):
        return OTHER
    # Another stick's database may hold megabytes here: the patterns would take for ever.
    made = None if len(text) > _LONGEST or printable(text) != text else _make(kind, text)
    return made if made is not None and str(made) == text else NamedVariant(text)


@lru_cache(maxsize=4096)
def _make(kind: str, text: str) -> Variant | None:
    if text == "array" or text.startswith("array/"):
        return ArrayVariant(text.removeprefix("array").removeprefix("/"))
    if kind not in KINDS:
        return None
    made: type[Variant] = load(kind, "keys").variant
    match = re.fullmatch(made.PATTERN, text, re.ASCII) if made.PATTERN else None
    if match is None:
        return None
    parts = {name: part for name, part in match.groupdict().items() if part}
    return made(**{name: int(p) if name in made.NUMBERS else p for name, p in parts.items()})


def parse_part[V](kind: str, text: str, wanted: type[V]) -> V:
    """A part that this very program has named. Raises ValueError where it has not."""
    variant = parse_variant(kind, text)
    if isinstance(variant, wanted):
        return variant
    raise ValueError(f"{text!r} is no part of {kind}")
