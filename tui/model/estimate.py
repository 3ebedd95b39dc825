# SPDX-License-Identifier: Apache-2.0
"""The estimated time left, from earlier work with this stick. Pure.

An estimate is the median of what the same work took: on the same drive, else on drives of the same
model, else on drives of the same class. Work that was never done there is unknown, never guessed.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tui.language import _


@dataclass(frozen=True, slots=True)
class Subject:
    """What work was, or will be, done on."""

    identity: str
    model: str
    drive_class: str
    """How it stores and is connected; of an array that of its drives."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Work:
    """One step, or one boot of a drive with all that belongs to it."""

    kind: str
    settings: str
    """What the plan asks for, told apart by text; empty where it is not known."""
    subject: Subject
    grows: bool = False
    """With the drive: twice as large, twice as long."""
    at_once: int = 1
    """On how many drives it may run at the same time; 1: it has the machine for itself."""


@dataclass(frozen=True, slots=True)
class Past:
    """Work that was done."""

    work: Work
    seconds: float


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """What is left of a campaign, as far as it can be told."""

    step_s: float | None
    """Of the step that runs, of several the longest; None where none runs or nothing is known of
    one. Below 0: it takes longer than it did before."""
    campaign_s: float
    """All that is known, that step included."""
    unknown: int
    """Of how many steps and boots nothing is known."""
    learned_from: int
    """Steps and boots that the estimate rests on; 0: nothing is known."""


def find_past(work: Work, past: Iterable[Past]) -> tuple[Past, ...]:
    """The same work done before, on what is nearest to this; empty where there is none."""
    alike = [
        each
        for each in past
        if work.settings
        and (each.work.kind, each.work.settings) == (work.kind, work.settings)
        and each.seconds > 0
    ]
    for name in ("identity", "model", "drive_class"):
        own = getattr(work.subject, name)
        near = tuple(each for each in alike if own and getattr(each.work.subject, name) == own)
        if near:
            return near
    return ()


def estimate_s(work: Work, near: Sequence[Past]) -> float | None:
    """The median of what `near` took, by the byte where work grows with the drive."""
    from statistics import median  # noqa: PLC0415  # loads slowly, and no first page needs it

    if not near:
        return None
    if not work.grows:
        return median(each.seconds for each in near)
    by_byte = [
        each.seconds / each.work.subject.size_bytes for each in near if each.work.subject.size_bytes
    ]
    return median(by_byte) * work.subject.size_bytes if by_byte else None


@dataclass(frozen=True, slots=True)
class Begun:
    """Work that is under way."""

    work: Work
    elapsed_s: float


def find_time_left(
    planned: Sequence[Work], past: Sequence[Past], *, running: Sequence[Begun] = ()
) -> TimeLeft:
    """`running` are the steps that run; `planned` is what comes behind them."""
    known: list[Span] = []
    unknown, learned_from = 0, set[int]()
    left_s: list[float] = []
    begun = [*((each.work, each.elapsed_s) for each in running), *((work, 0.0) for work in planned)]
    for number, (work, elapsed_s) in enumerate(begun):
        near = find_past(work, past)
        seconds = estimate_s(work, near)
        if seconds is None:
            unknown += 1
            continue
        learned_from |= {id(each) for each in near}
        if number < len(running):
            left_s.append(seconds - elapsed_s)
        known.append(Span(work.subject.identity, work.at_once, max(seconds - elapsed_s, 0.0)))
    step_s = max(left_s) if running and len(left_s) == len(running) else None
    return TimeLeft(step_s, add_up(known), unknown, len(learned_from))


@dataclass(frozen=True, slots=True)
class Span:
    """How long some work takes on a drive, or on the array."""

    identity: str
    at_once: int
    seconds: float


def add_up(spans: Iterable[Span]) -> float:
    """How long all of it takes, where work on different drives may run at the same time.

    Seconds. No shorter than the drive with the most of it, nor than all of it shared among as many
    as may run.
    """
    whole_s = shared_s = 0.0
    by_drive: dict[str, float] = defaultdict(float)
    for each in spans:
        if each.at_once == 1:
            whole_s += each.seconds
        else:
            shared_s += each.seconds / each.at_once
            by_drive[each.identity] += each.seconds
    return whole_s + max([shared_s, *by_drive.values()])


def describe_time_left(left: TimeLeft, *, has_step: bool) -> str:
    """`Time left (estimate): ...`, or that nothing is known."""
    if not left.learned_from:
        return _("Time left: unknown, this stick has not done such work before")
    parts = []
    if has_step:
        span = _("unknown yet") if left.step_s is None else _name_span(left.step_s)
        parts.append(_("step {span}").format(span=span))
    whole = _("campaign {span}").format(span=_name_span(left.campaign_s))
    if left.unknown:
        whole += " " + _("+ {count} unknown yet").format(count=left.unknown)
    parts.append(whole)
    return _("Time left (estimate): {all}").format(all=", ".join(parts))


def _name_span(seconds: float) -> str:
    """`2 h 10 min`: as exact as an estimate can be, and redrawn as seldom."""
    if seconds < 0:
        return _("longer than before")
    minutes = round(seconds / 60)
    if minutes < 1:
        return _("less than 1 min")
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(5 * round(minutes / 5), 60)
    return f"{hours} h {minutes:02} min"
