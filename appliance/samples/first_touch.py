# SPDX-License-Identifier: Apache-2.0
"""First reads of files compared with later ones, beyond chance. Pure.

For what learns by being read. A file that is read often may lie at a better place than others, so
each is held against itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class Chance:
    """The probability that chance makes first values as large as they are."""

    value: float
    least: float
    """What it would be if each were the largest: with few values that is much."""


def pair_touches(files: Sequence[str]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """By file, in the order of first reads: the place of its first read, and those of later ones.

    `files` are the files as they are read; they lie on the drive in the order of their names. A
    later read is left out that comes right behind one of the same file, or of the file that lies
    before it: the head stands there, and a drive's buffer of a track has it.
    """
    names = sorted(set(files))
    ahead = dict(zip(names[1:], names, strict=False))
    found: dict[str, tuple[int, list[int]]] = {}
    before = ""
    for place, file in enumerate(files):
        if file not in found:
            found[file] = place, []
        elif before not in {file, ahead.get(file)}:
            found[file][1].append(place)
        before = file
    return tuple((first, tuple(later)) for first, later in found.values())


def find_first_chance(groups: Sequence[Sequence[float]]) -> Chance:
    """With what probability chance makes the first values of all groups as large as they are.

    Each group holds values that would be alike in any order: seconds of the reads of one file. The
    rank of each first value, the largest being 1, is as probable as any other then; the sum of the
    ranks is compared with all that it can be (Wilcoxon's test in strata, each with one treated
    value: van Elteren, Bulletin of the International Statistical Institute 37 (1960) 351; here by
    the exact distribution). Equal values count against the first. 1 where no group has two values.
    """
    rank_sum = 0
    chances = [1.0]
    for first, *others in groups:
        rank_sum += sum(other >= first for other in others)
        size = len(others) + 1
        spread = [0.0] * (len(chances) + size - 1)
        for low, chance in enumerate(chances):
            for rank in range(size):
                spread[low + rank] += chance / size
        chances = spread
    least = 1 / prod(len(group) for group in groups)
    return Chance(min(1.0, sum(chances[: rank_sum + 1])), least)
