# SPDX-License-Identifier: Apache-2.0
"""The lottery's draw: the order of reads. Pure; determined by the plan and its seed.

Must never need a database: a resumed step computes the same order again.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.caches.cachestat import PAGE_BYTES, Extent, Target
from appliance.phrases import N_, Phrase
from appliance.workloads.lottery.keys import (
    ALIGNMENT_BYTES,
    LotteryPass,
    LotteryPlan,
    LotteryVariant,
)


@dataclass(frozen=True, slots=True)
class LotteryFile:
    """One of the lottery's files: a whole file, or a region of a bare drive."""

    name: str
    path: Path
    length: int
    offset: int = 0
    is_region: bool = False

    @property
    def target(self) -> Target:
        """The same for the modules that know caches."""
        return Extent(self.path, self.offset, self.length) if self.is_region else self.path


@dataclass(frozen=True, slots=True)
class Draw:
    """One ticket, drawn."""

    seq: int
    """1 for the first ticket of the pass; runs on over its repetitions."""
    file: str
    nth: int
    """How often this file was drawn in this pass, this time included."""


@dataclass(frozen=True, slots=True)
class PassPart:
    """A part of the step: one pass, or one repetition of it."""

    name: str
    kind: LotteryPass
    repetition: int
    """From 1."""

    def variant(self, file: str = "") -> str:
        """The name of its rows: `direct/f`; from the second repetition on, `direct/f/2`."""
        return str(LotteryVariant(reading=self.kind, file=file, repetition=self.repetition))


def list_parts(plan: LotteryPlan) -> tuple[PassPart, ...]:
    """The parts in their order: all passes, then all again: `cold/1`, `direct/1`, `cold/2`.

    Without repetitions they are just `cold`, `direct`.
    """
    return tuple(
        PassPart(name if plan.repeat == 1 else f"{name}/{repetition}", name, repetition)
        for repetition in range(1, plan.repeat + 1)
        for name in plan.passes
    )


def draw_tickets(
    tickets: Sequence[tuple[str, int]], *, seed: int, repetition: int
) -> tuple[Draw, ...]:
    """Every ticket once, shuffled: the same for each pass, different for each repetition."""
    urn = [file for file, count in tickets for _ in range(count)]
    # Python promises the same numbers for a seed from random() alone, not from shuffle().
    numbers = random.Random(f"{seed}/{repetition}")
    for last in range(len(urn) - 1, 0, -1):
        other = int(numbers.random() * (last + 1))
        urn[last], urn[other] = urn[other], urn[last]
    counts = dict(tickets)
    seen: Counter[str] = Counter()
    draws: list[Draw] = []
    for place, file in enumerate(urn, start=1):
        seen[file] += 1
        draws.append(
            Draw(
                seq=(repetition - 1) * len(urn) + place,
                file=file,
                nth=(repetition - 1) * counts[file] + seen[file],
            )
        )
    return tuple(draws)


def spread_regions(
    names: Sequence[str], *, device: Path, file_bytes: int, device_bytes: int
) -> tuple[LotteryFile, ...]:
    """The regions of a bare drive that stand for files: evenly from its first byte to its last.

    Their length is rounded up to whole pages, which O_DIRECT and the page cache both ask for.
    Raises ValueError where the drive is too small.
    """
    length = -(-file_bytes // PAGE_BYTES) * PAGE_BYTES
    room = -(-length // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    if len(names) * room > device_bytes:
        raise ValueError(
            Phrase(
                N_("{count} regions of {bytes} bytes in {total} bytes"),
                count=len(names),
                bytes=room,
                total=device_bytes,
            )
        )
    step = (device_bytes - length) / max(1, len(names) - 1)
    return tuple(
        LotteryFile(
            name,
            device,
            length,
            offset=int(place * step) // ALIGNMENT_BYTES * ALIGNMENT_BYTES,
            is_region=True,
        )
        for place, name in enumerate(names)
    )
