# SPDX-License-Identifier: Apache-2.0
"""A mistake in a plan or policy, or an obstacle to it, as data: path, text, kind and line.

Pure. It becomes a sentence where it is printed; code that needs its place reads the fields.
"""

from dataclasses import dataclass
from typing import Literal, override

from appliance.phrases import N_, Phrase
from appliance.units import printable

type KeyPath = tuple[str | int, ...]
"""Keys from the root, with the index of an array's element between: `("drive", 1, "serial")`."""

_LONGEST_KEY = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One of them; `str` gives the line for people."""

    path: KeyPath
    """What is to blame; empty: all of it, or nothing in it."""
    text: str
    """Without its place, where `file` is given; else all there is to say."""
    kind: Literal["mistake", "release", "conflict"] = "mistake"
    """release: a drive is not released, and nothing else is wrong | conflict: with the machine."""
    line: int = 0
    """From 1; 0: of no line."""
    file: str = ""
    """What the file is called."""

    @override
    def __str__(self) -> str:
        """`plan.toml line 12: drive 2: serial: must be …`."""
        if not self.file:
            return self.text
        file, path = printable(self.file), show_path(self.path)
        if not self.line:
            return Phrase("{file}: {path}{what}", file=file, path=path, what=self.text)
        words = N_("{file} line {line}: {path}{what}")
        return Phrase(words, file=file, line=self.line, path=path, what=self.text)


def show_path(path: KeyPath) -> str:
    """`boot.cycles: ` or `drive 2: serial: `, counting from 1 as people do."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text = f"{text.removesuffix('.')} {part + 1}: "
        else:
            text += f"{printable(part[:_LONGEST_KEY])}."
    return f"{text.removesuffix('.')}: " if text.endswith(".") else text
