# SPDX-License-Identifier: Apache-2.0
"""What each kind of workload declares of its results, for all pages. Pure.

A kind without a module `report.py`, of another version for instance, is shown as plain tables.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from appliance.kinds import KINDS, load
from appliance.report import plain
from appliance.report.blocks import BlockView, format_bytes, say_start
from appliance.report.boots.findings import Finding
from appliance.report.figures import Figure, StepFigures, Workload

type Row = tuple[str, str, bool, float | None, tuple[Figure, ...]]
"""Name, unit, whether it is worth a sentence, value, where from; rates in bytes a second."""


@dataclass(frozen=True, slots=True)
class Places:
    """What each value of a series is of, where two are held against each other in pairs.

    Values of places are rates.
    """

    names: tuple[str, ...]
    called: str
    """All of them, for people: `record sizes`"""
    together: int = 1
    """So many neighbours count as one place."""


class Values(NamedTuple):
    """Values of a step that are measurements of the same."""

    name: str
    unit: str
    values: Sequence[float]
    figures: tuple[Figure, ...]
    """Where the values are from."""
    places: Places | None = None
    file_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """How the results of one kind of workload are shown, and what is concluded from them."""

    title: str
    note: str = plain.NOTE
    name: str = ""
    """In a sentence; empty: as a plan has it."""
    make_blocks: Callable[[Sequence[Workload]], Iterator[BlockView]] = plain.make_blocks
    """One for each `[[workload]]` table of the kind."""
    read_rows: Callable[[StepFigures], Iterator[Row]] | None = None
    """What can be set beside the same of another drive."""
    read_values: Callable[[StepFigures], Iterator[Values]] | None = None
    """What a ratio of two drives is made of; None: of each row that is worth a sentence."""
    judge: Callable[[Workload], Iterable[Finding]] | None = None
    """Its sentences."""
    rules: tuple[str, ...] = ()
    """Those behind them."""
    is_of_drive: bool = False
    """Whether what it measures depends on the drive's size."""
    is_beside: bool = False
    """Whether its drives are tested beside each other for what that does to them."""
    shows_writing: bool = False
    """Whether it writes enough to show where a drive slows down."""


def find_section(kind: str) -> Section:
    """That of a kind, or plain tables."""
    if kind not in KINDS:
        return Section(title=kind)
    section: Section = load(kind, "report")
    return section


def name_kind(kind: str) -> str:
    """A kind in a sentence."""
    return find_section(kind).name or kind


def read_rows(step: StepFigures) -> Iterator[Row]:
    """What a step measured that can be set beside another's."""
    read = find_section(step.step.kind).read_rows
    if read is not None:
        yield from read(step)


def read_values(step: StepFigures) -> Iterator[Values]:
    """What a step measured, as series."""
    read = find_section(step.step.kind).read_values
    if read is not None:
        yield from read(step)
        return
    for name, unit, headline, value, figures in read_rows(step):
        if headline and value is not None and figures:
            yield Values(name, unit, [value], figures)


def compare(subject: str, told: Sequence[tuple[str, Sequence[Figure]]]) -> Finding:
    """All drives in one sentence; where their caches differ, each has its own.

    A colon follows each drive's name: a serial number may look like a figure.
    """
    states = [_say_cache(figures) for _, figures in told]
    if len(set(states)) == 1:
        return Finding("flat", subject, f"{', '.join(text for text, _ in told)}; {states[0]}.")
    parts = (f"{text}, {state}" for (text, _), state in zip(told, states, strict=True))
    return Finding("flat", subject, f"{'; '.join(parts)}.")


def _say_cache(figures: Sequence[Figure]) -> str:
    dirty_bytes = max((figure.dirty_bytes for figure in figures), default=0)
    busy = f"; the array not clean, up to {format_bytes(dirty_bytes)} dirty" if dirty_bytes else ""
    return f"{say_start(figures)}{busy}"


def all_tellable(figures: Iterable[Figure]) -> bool:
    """Whether a sentence may be built on them."""
    return all(figure.is_tellable for figure in figures)


def say_times(times: float) -> str:
    """How the one is to the other: `1.5 times as fast as`."""
    value, how = (times, "fast") if times >= 0.95 else (1 / times, "slow")
    # Rounded to a tenth, 1.08 would read as the least that counts as a gain.
    return f"{value:.{2 if 1.05 <= value < 1.15 else 1}f} times as {how} as"
