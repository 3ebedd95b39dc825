"""The estimated time left, from earlier work with this stick. Pure.

An estimate is the median of what the same work took: on the same drive, else on drives of the same
model, else on drives of the same class. Work that was never done there is unknown, never guessed.
"""

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


@dataclass(frozen=True, slots=True)
class Past:
    """Work that was done."""

    work: Work
    seconds: float


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """What is left of a campaign, as far as it can be told."""

    step_s: float | None
    """Of the step that runs; None where none runs or nothing is known of it. Below 0: it takes
    longer than it did before."""
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


def find_time_left(
    planned: Sequence[Work], past: Sequence[Past], *, running: Work | None, elapsed_s: float
) -> TimeLeft:
    """`running` is the step that runs, since `elapsed_s`; `planned` is what comes behind it."""
    known_s, unknown, learned_from = 0.0, 0, set[int]()
    step_s = None
    for work in [*([running] if running else []), *planned]:
        near = find_past(work, past)
        seconds = estimate_s(work, near)
        if seconds is None:
            unknown += 1
            continue
        learned_from |= {id(each) for each in near}
        if work is running:
            step_s = seconds - elapsed_s
            seconds = max(step_s, 0.0)
        known_s += seconds
    return TimeLeft(step_s, known_s, unknown, len(learned_from))


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
