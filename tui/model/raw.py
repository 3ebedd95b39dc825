# SPDX-License-Identifier: Apache-2.0
"""The raw output of a campaign's tools: listed, and read in pages. Pure.

Every text is fit to be drawn (see `charset`) except where its name starts with `raw_`.
"""

from dataclasses import dataclass
from typing import Literal

PIECE_BYTES = 32 << 10
"""What is read at once: a screen for a file of any length, in no time."""
PIECE_LINES = 1000
"""At most, however short: laying them out takes a time for each, and no key is heard meanwhile."""


@dataclass(frozen=True, slots=True)
class RawOutput:
    """One thing that was kept, or the word that nothing was."""

    owner: str
    """What it belongs to: a step, a boot, a drive's health."""
    name: str
    source: Literal["file", "health", "sample", "nothing"]
    raw_key: str = ""
    """A file's path below the folder of raw output; the row's id elsewhere."""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RawPiece:
    """A part of one of them."""

    lines: tuple[str, ...]
    first_byte: int
    end_byte: int
    """Behind its last byte."""
    total_bytes: int

    @property
    def is_all(self) -> bool:
        """Whether there is no other piece."""
        return self.first_byte == 0 and self.end_byte >= self.total_bytes
