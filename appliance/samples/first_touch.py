# SPDX-License-Identifier: Apache-2.0
"""First reads of files compared with later ones, beyond chance. Pure.

For what learns by being read. A file that is read often may lie at a better place than others, so
each is held against itself. And first reads come early: what was slow for a while at the beginning
must not pass for what has learned since.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, prod
from statistics import median

_DEALS, _DEALS_OF_MANY = 3000, 1000
_MANY = 1000
"""Of so many reads each deal takes milliseconds, and seconds are what an engine may be deaf for."""
_ENOUGH = 20
"""Deals that do as much, after which no more are needed: it is chance's."""
_EARLY = (1, 2)
"""Reads of a file that are held against its later ones: a drive learns with the first read, or with
the second."""
_SHARED_READS = 2
"""So many reads at the usual time of all files are added to those of each file: of two or three
reads the median says little of how long the file usually takes."""
_LEAST_S = 1e-9


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
    before it: the head is there, and the drive's track buffer has it.
    """
    names = sorted(set(files))
    ahead = dict(zip(names[1:], names, strict=False))
    touches: dict[str, tuple[int, list[int]]] = {}
    before = ""
    for place, file in enumerate(files):
        if file not in touches:
            touches[file] = place, []
        elif before not in {file, ahead.get(file)}:
            touches[file][1].append(place)
        before = file
    return tuple((first, tuple(later)) for first, later in touches.values())


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


@lru_cache(maxsize=256)
def find_deal_chance(files: tuple[str, ...], seconds: tuple[float, ...]) -> float:
    """With what probability the draw makes early reads of files meet the slow moments as they do.

    `files` are the reads that count, in their order, `seconds` how long each took. Had the drive
    learned nothing, each moment would have been as slow with any other file. So the same tickets
    are dealt again many times over the same moments. At each moment the file that came is held
    against all that could have come (as in a logrank test): where nearly all files are still new,
    a slow read means nothing. Whatever slowed the drive, and for however long, it is the same in
    all deals. The same numbers each time.
    """
    counts = Counter(files)
    slowness = _find_slowness(files, seconds)
    observed = _weigh(files, counts, slowness)
    urn, numbers = list(files), random.Random(1)
    as_much, dealt = [0] * len(_EARLY), 0
    deals = _DEALS_OF_MANY if len(files) >= _MANY else _DEALS
    while dealt < deals and min(as_much) < _ENOUGH:
        dealt += 1
        sums = _weigh(_deal(urn, numbers), counts, slowness)
        for number, (one, other) in enumerate(zip(sums, observed, strict=True)):
            as_much[number] += one >= other - 1e-9
    # The better of several tests: each must be so much better.
    return min(1.0, len(_EARLY) * (min(as_much) + 1) / (dealt + 1))


def _find_slowness(files: Sequence[str], seconds: Sequence[float]) -> list[float]:
    """Of each read against the usual one of its file, in logarithms."""
    logs = [log(max(read_s, _LEAST_S)) for read_s in seconds]
    by_file: dict[str, list[float]] = {}
    for file, value in zip(files, logs, strict=True):
        by_file.setdefault(file, []).append(value)
    shared = median(logs)
    usual = {
        file: (median(values) * len(values) + shared * _SHARED_READS)
        / (len(values) + _SHARED_READS)
        for file, values in by_file.items()
    }
    return [value - usual[file] for file, value in zip(files, logs, strict=True)]


def _deal(urn: list[str], numbers: random.Random) -> Iterator[str]:
    """The tickets of `urn` in another order, as far as it is asked for."""
    for place in range(len(urn)):
        other = place + int(numbers.random() * (len(urn) - place))
        urn[place], urn[other] = urn[other], urn[place]
        yield urn[place]


def _weigh(
    files: Iterable[str], counts: Mapping[str, int], slowness: Sequence[float]
) -> tuple[float, float]:
    """By how much early reads were slower than what could have come in their place, summed.

    For each of `_EARLY`. Thousands of deals are weighed: hence no loop over these two.
    """
    seen = dict.fromkeys(counts, 0)
    tickets_left = first_left = second_left = sum(counts.values())
    first_sum = second_sum = 0.0
    for file, slow in zip(files, slowness, strict=False):
        before = seen[file]
        first_sum += ((before < 1) - first_left / tickets_left) * slow
        second_sum += ((before < 2) - second_left / tickets_left) * slow
        # With its last early read a file's later tickets are no longer early ones.
        if before == 0:
            seen[file] = 1
            first_left -= counts[file]
            second_left -= 1
        elif before == 1:
            seen[file] = 2
            second_left -= counts[file] - 1
        if not second_left:
            break  # and so is the other
        tickets_left -= 1
    return first_sum, second_sum
