# SPDX-License-Identifier: Apache-2.0
"""The estimated time left, from earlier work with this stick. Pure.

An estimate is the median of what the same work took: on the same drive, else on drives of the same
model, else on drives of the same class. Work that was never done there is unknown, never guessed.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tui.language import _

_DAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True)
class Subject:
    """What work was, or will be, done on."""

    identity: str
    model: str
    drive_class: str
    """How it stores and is connected; of an array that of its drives."""
    size_bytes: int
    wwn: str = ""
    """Two drives may have the same serial number."""

    def is_same(self, other: "Subject") -> bool:
        """Whether it is the same drive, as far as both tell."""
        wwns = {self.wwn.strip("+"), other.wwn.strip("+")} - {""}
        return bool(self.identity) and self.identity == other.identity and len(wwns) < 2


@dataclass(frozen=True, slots=True)
class Work:
    """One step, or one boot of a drive with all that belongs to it."""

    kind: str
    settings: str
    """What the plan asks for, distinguished by text; empty if it is not known."""
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
    """What is left of a campaign, as far as it is known."""

    step_s: float | None
    """Of the step that runs, of several the longest; None where none runs or nothing is known of
    one. Below 0: it takes longer than it did before."""
    campaign_s: float
    """All that is known, that step included."""
    unknown: int
    """Of how many steps and boots nothing is known."""
    learned_from: int
    """Steps and boots that the estimate rests on, those among them that run and tell how long they
    still take; 0: nothing is known."""


def find_past(work: Work, past: Iterable[Past]) -> tuple[Past, ...]:
    """The same work done before, on what is nearest to this; empty where there is none."""
    alike = [
        entry
        for entry in past
        if work.settings
        and (entry.work.kind, entry.work.settings) == (work.kind, work.settings)
        and entry.seconds > 0
    ]
    same = tuple(entry for entry in alike if work.subject.is_same(entry.work.subject))
    if same:
        return same
    for name in ("model", "drive_class"):
        value = getattr(work.subject, name)
        near = tuple(
            entry for entry in alike if value and getattr(entry.work.subject, name) == value
        )
        if near:
            return near
    return ()


def estimate_s(work: Work, near: Sequence[Past]) -> float | None:
    """The median of what `near` took, by the byte where work grows with the drive."""
    from statistics import median  # noqa: PLC0415  # loads slowly, and no first page needs it

    if not near:
        return None
    if not work.grows:
        return median(entry.seconds for entry in near)
    by_byte = [
        entry.seconds / entry.work.subject.size_bytes
        for entry in near
        if entry.work.subject.size_bytes
    ]
    return median(by_byte) * work.subject.size_bytes if by_byte else None


@dataclass(frozen=True, slots=True)
class Begun:
    """Work that is under way."""

    work: Work
    elapsed_s: float
    left_s: float | None = None
    """At the drive's own rate, or as the drive says; before what earlier work took."""


@dataclass(frozen=True, slots=True)
class DriveLeft:
    """What is left of the work on one drive, as far as it is known."""

    identity: str
    seconds: float
    unknown: int
    """Of how many steps and boots nothing is known."""
    wwn: str = ""


@dataclass(frozen=True, slots=True)
class _Estimate:
    """How long some work still takes."""

    work: Work
    left_s: float | None
    """None: nothing is known. Below 0: it takes longer than it did before."""
    learned_from: frozenset[int]


def _estimate_all(
    planned: Sequence[Work], past: Sequence[Past], running: Sequence[Begun]
) -> list[_Estimate]:
    """Of the steps that run, then of what comes behind them."""
    alike: dict[tuple[str, str], list[Past]] = defaultdict(list)
    for entry in past:
        alike[entry.work.kind, entry.work.settings].append(entry)
    estimates = []
    for begun in (*running, *(Begun(work, 0.0) for work in planned)):
        work = begun.work
        if begun.left_s is not None:
            estimates.append(_Estimate(work, begun.left_s, frozenset({id(begun)})))
            continue
        near = find_past(work, alike[work.kind, work.settings])
        seconds = estimate_s(work, near)
        if seconds is None:
            estimates.append(_Estimate(work, None, frozenset()))
            continue
        estimates.append(_Estimate(work, seconds - begun.elapsed_s, frozenset(map(id, near))))
    return estimates


def find_time_left(
    planned: Sequence[Work], past: Sequence[Past], *, running: Sequence[Begun] = ()
) -> TimeLeft:
    """`running` are the steps that run; `planned` is what comes behind them."""
    estimates = _estimate_all(planned, past, running)
    known = [estimate for estimate in estimates if estimate.left_s is not None]
    left_s = [
        estimate.left_s for estimate in estimates[: len(running)] if estimate.left_s is not None
    ]
    return TimeLeft(
        max(left_s) if running and len(left_s) == len(running) else None,
        add_up(
            Span(
                f"{estimate.work.subject.identity} {estimate.work.subject.wwn}",
                estimate.work.at_once,
                max(estimate.left_s or 0.0, 0.0),
            )
            for estimate in known
        ),
        len(estimates) - len(known),
        len(frozenset().union(*(estimate.learned_from for estimate in known))),
    )


def find_drives_left(
    planned: Sequence[Work], past: Sequence[Past], *, running: Sequence[Begun] = ()
) -> tuple[DriveLeft, ...]:
    """The same for each drive alone: its own work, without what it waits for."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    unknown: dict[tuple[str, str], int] = defaultdict(int)
    for estimate in _estimate_all(planned, past, running):
        drive = (estimate.work.subject.identity, estimate.work.subject.wwn)
        seconds[drive] += max(estimate.left_s or 0.0, 0.0)
        unknown[drive] += estimate.left_s is None
    return tuple(DriveLeft(drive[0], seconds[drive], unknown[drive], drive[1]) for drive in seconds)


@dataclass(frozen=True, slots=True)
class Span:
    """How long some work takes on a drive, or on the array."""

    drive: str
    """Not the same for any other one."""
    at_once: int
    seconds: float


def add_up(spans: Iterable[Span]) -> float:
    """How long all of it takes, where work on different drives may run at the same time.

    Seconds. No shorter than the drive with the most of it, nor than all of it shared among as many
    as may run.
    """
    whole_s = shared_s = 0.0
    by_drive: dict[str, float] = defaultdict(float)
    for span in spans:
        if span.at_once == 1:
            whole_s += span.seconds
        else:
            shared_s += span.seconds / span.at_once
            by_drive[span.drive] += span.seconds
    return whole_s + max([shared_s, *by_drive.values()])


def describe_time_left(left: TimeLeft, *, has_step: bool) -> str:
    """`Time left (estimate): ...`, or that nothing is known."""
    if not left.learned_from:
        return _("Time left: unknown, this stick has not done such work before")
    parts = []
    if has_step:
        span = _("unknown yet") if left.step_s is None else name_span(left.step_s)
        parts.append(_("step {span}").format(span=span))
    whole = _("campaign {span}").format(span=name_span(left.campaign_s))
    if left.unknown:
        whole += " " + _("+ {count} not estimated").format(count=left.unknown)
    parts.append(whole)
    return _("Time left (estimate): {all}").format(all=", ".join(parts))


def name_span(seconds: float, *, short: bool = False) -> str:
    """`2 h 10 min`: as exact as an estimate can be, and redrawn as seldom; `short`: `2 h 10`."""
    if seconds < 0:
        return _("longer than before")
    minutes = round(seconds / 60)
    if minutes < 1:
        return "< 1 min" if short else _("less than 1 min")
    if minutes < 60:
        return f"{minutes} min"
    if minutes >= _DAY_MINUTES:
        days, hours = divmod(round(minutes / 60), 24)
        return f"{days} d {hours} h"
    hours, minutes = divmod(5 * round(minutes / 5), 60)
    return f"{hours} h {minutes:02}" + ("" if short else " min")
