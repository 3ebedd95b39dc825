# SPDX-License-Identifier: Apache-2.0
"""The verdict on a drive: the figures of a campaign compared with a policy. Pure.

Never calls good what was not measured, and never judges a figure that is in doubt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from appliance.phrases import N_, Phrase, add_count, join_phrases
from appliance.store.tables.verdicts import LimitRow, Outcome, Verdict
from appliance.units import printable
from appliance.verdict.evidence import Bound, Doubt, Evidence, Figure
from appliance.verdict.limits import (
    LIMITS,
    Direction,
    LimitKind,
    show_figure,
    show_sizes,
    title_of,
)
from appliance.verdict.model_comparison import compare_models
from appliance.verdict.policy import DriveClass, Limit
from appliance.verdict.policy_file import Policy

_NO_CLASS = "class"
_CAPACITY = "tested_capacity"
_COMPARED = "worse_than_model_percent"
_EVIDENCE = "evidence"
_WANTED = N_("the whole surface read, or written and read back, and its health read")
_SURFACE, _HEALTH = "surface_unreadable_bytes", "self_assessment"
_REMARKS = {
    "most": N_("remark above {limit}"),
    "least": N_("remark below {limit}"),
    "check": N_("remark if failed"),
}
_REJECTIONS = {
    "most": N_("reject above {limit}"),
    "least": N_("reject below {limit}"),
    "check": N_("reject if failed"),
}
_UNMEASURED = {
    "remark": N_("remark if not measured"),
    "reject": N_("reject if not measured"),
}
_GRAVITY: tuple[Outcome, ...] = ("not measured", "kept", "remark", "reject")


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one drive."""

    evidence: Evidence
    drive_class: DriveClass | None
    verdict: Verdict | None
    """None: nothing was measured by which it could be judged, or what was stored is damaged."""
    limits: tuple[LimitRow, ...]
    reasons: str


def judge(policy: Policy, drives: Sequence[Evidence]) -> tuple[Judged, ...]:
    """The verdict on each of `drives`, which are those of one campaign."""
    compared = compare_models(drives)
    return tuple(_judge_drive(policy, drive, compared[drive.drive_id]) for drive in drives)


def _judge_drive(policy: Policy, drive: Evidence, compared: Sequence[Figure]) -> Judged:
    drive_class = policy.class_of(
        transport=drive.transport,
        rotational=drive.rotational,
        model=drive.model,
        hybrid=drive.hybrid,
    )
    if drive.damaged:
        reason = Phrase(
            N_("stored figures are damaged on the stick: {what}"), what=add_count(drive.damaged)
        )
        return Judged(drive, drive_class, None, (), reason)
    limits = policy.limits_of(drive_class)
    measured, held = _hold_all(limits, drive, compared)
    limited = {LIMITS[name].counter for name, limit in limits.items() if limit != Limit()}
    doubts = [_remark_doubt(doubt) for doubt in drive.doubts if doubt.counter in limited]
    rows = [*_say_class(drive, drive_class), *_find_gaps(drive, held), *held, *doubts]
    return Judged(
        evidence=drive,
        drive_class=drive_class,
        verdict=_find_verdict([row.outcome for row in rows], measured=measured),
        limits=tuple(rows),
        reasons=join_phrases(_explain(row) for row in _worst_first(rows)),
    )


def _hold_all(
    limits: Mapping[str, Limit], drive: Evidence, compared: Sequence[Figure]
) -> tuple[bool, list[LimitRow]]:
    """Whether anything was measured that concerns the drive, and a row per limit."""
    doubted = {doubt.counter for doubt in drive.doubts}
    measured = False
    rows = []
    for name, kind in LIMITS.items():
        limit = limits.get(name)
        if limit is None or limit == Limit() or kind.counter in doubted:
            continue
        figure = drive.figures.get(name, Figure(None))
        measured |= kind.is_evidence and figure.is_held
        rows.append(
            _hold_worst(kind, limit, compared) if name == _COMPARED else _hold(kind, limit, figure)
        )
    return measured, rows


def _hold_worst(kind: LimitKind, limit: Limit, figures: Sequence[Figure]) -> LimitRow:
    """Of several figures for one limit the worst: what follows, then how near it came to that."""
    held = [(_hold(kind, limit, figure), _find_excess(limit, figure), figure) for figure in figures]
    worst, _, figure = max(held, key=lambda each: (_GRAVITY.index(each[0].outcome), each[1]))
    others = [
        row.detail
        for row, _, other in held
        if other is not figure and row.outcome in {"remark", "reject"}
    ]
    # An unknown figure stays unknown, even if another one is within its limit.
    open_ = [other.detail for _, _, other in held if other.value is None and other is not figure]
    return replace(worst, detail=join_phrases([worst.detail, *others, *open_]))


def _find_excess(limit: Limit, figure: Figure) -> float:
    """By how much a figure that should be small is beyond the limit: above 1 it is."""
    relaxed = _relax(limit, figure.bound, direction="most")
    first = relaxed.reject if relaxed.remark is None else relaxed.remark
    return (figure.value or 0.0) / first if first else 0.0


def _find_verdict(outcomes: Sequence[Outcome], *, measured: bool) -> Verdict | None:
    if "reject" in outcomes:
        return "reject"
    if not measured:
        return None
    return "accept with remarks" if "remark" in outcomes else "accept"


def _hold(kind: LimitKind, limit: Limit, figure: Figure) -> LimitRow:
    """One figure against its limit, as far as its bound lets that be strict."""
    relaxed = _relax(limit, figure.bound, direction=kind.direction)
    notes = (
        figure.detail,
        figure.set_aside,
        _say_bound(kind, limit, relaxed, figure.bound),
        figure.in_part,
        figure.excuse and Phrase(N_("not shown to be its fault: {what}"), what=figure.excuse),
    )
    return LimitRow(
        kind.name,
        _find_outcome(kind, relaxed, figure),
        "" if figure.value is None else show_figure(figure.value, kind.unit),
        show_limit(kind, relaxed),
        join_phrases(notes),
    )


def _say_bound(kind: LimitKind, limit: Limit, relaxed: Limit, bound: Bound | None) -> str:
    pairs = ((limit.remark, relaxed.remark), (limit.reject, relaxed.reject))
    changed = [
        (before, now) for before, now in pairs if None not in (before, now) and before != now
    ]
    if bound is None or not changed:
        return ""
    now, before = (
        join_phrases(
            dict.fromkeys(show_sizes(show_figure(value or 0.0, kind.unit)) for value in values),
            N_("{first} and {rest}"),
        )
        for values in zip(*((now, before) for before, now in changed), strict=True)
    )
    return Phrase(
        N_("held against {limit} instead of {wanted}: {what}"),
        limit=now,
        wanted=before,
        what=bound.reason,
    )


def _find_outcome(kind: LimitKind, limit: Limit, figure: Figure) -> Outcome:
    if figure.value is None:
        missing: Outcome = limit.unmeasured or "not measured"
        # A policy that asks for it accepts no drive without it, whatever is to blame.
        is_owed = kind.is_evidence and missing == "reject"
        return "remark" if figure.excuse and not is_owed else missing
    if figure.set_aside:
        # It was measured: no policy rejects a drive because no other machine was at hand.
        return "remark" if figure.excuse else "not measured"
    if _is_beyond(kind, figure.value, limit.reject):
        return "reject"
    if _is_beyond(kind, figure.value, limit.remark) or figure.excuse or figure.in_part:
        return "remark"
    return "kept"


def _relax(limit: Limit, bound: Bound | None, *, direction: Direction) -> Limit:
    """The limit as far as the bound lets it be strict."""
    if bound is None:
        return limit
    most = max if direction == "most" else min
    return replace(
        limit,
        remark=None if limit.remark is None else most(limit.remark, bound.remark),
        reject=None if limit.reject is None else most(limit.reject, bound.reject),
    )


def _is_beyond(kind: LimitKind, value: float, limit: float | None) -> bool:
    if limit is None:
        return False
    return value > limit if kind.direction == "most" else value < limit


def show_limit(kind: LimitKind, limit: Limit) -> str:
    """`remark above 0, reject above 10`, or what else follows."""
    parts: list[str] = []
    for value, texts in ((limit.remark, _REMARKS), (limit.reject, _REJECTIONS)):
        if value is not None:
            words = texts["check" if kind.unit == "check" else kind.direction]
            parts.append(Phrase(words, limit=show_figure(value, kind.unit)))
    if limit.unmeasured:
        parts.append(_UNMEASURED[limit.unmeasured])
    return join_phrases(parts, "{first}, {rest}")


def _say_class(drive: Evidence, drive_class: DriveClass | None) -> list[LimitRow]:
    """What is to be said of the drive itself, whatever was measured."""
    rows = []
    if drive_class is None:
        rows.append(_remark_class(drive))
    elif drive_class == "sata-ssd" and drive.transport != "sata":
        rows.append(_note_nearest(drive, drive_class))
    if drive.hidden_capacity:
        hidden = drive.hidden_capacity
        rows.append(LimitRow(_CAPACITY, "remark", N_("in part"), N_("all of it tested"), hidden))
    return rows


def _find_gaps(drive: Evidence, rows: Sequence[LimitRow]) -> list[LimitRow]:
    """A remark on what was not looked at, if no limit has one: no policy accepts without it."""
    names = {row.name for row in rows if row.outcome in {"remark", "reject"}}
    gaps = [
        unread
        for name, unread in ((_SURFACE, drive.surface_unread), (_HEALTH, drive.health_unread))
        if unread and name not in names
    ]
    if not gaps:
        return []
    return [LimitRow(_EVIDENCE, "remark", join_phrases(gaps, "{first}, {rest}"), _WANTED, "")]


def _remark_class(drive: Evidence) -> LimitRow:
    medium = N_("rotating") if drive.rotational else N_("not rotating")
    return LimitRow(
        _NO_CLASS,
        "remark",
        N_("not known"),
        N_("one of the policy's classes"),
        Phrase(
            N_(
                "a drive behind {name}, {what}, may be anything: only the limits of all classes "
                "were held against it"
            ),
            name=printable(drive.transport) or N_("an unknown bus"),
            what=medium,
        ),
    )


def _note_nearest(drive: Evidence, nearest: DriveClass) -> LimitRow:
    return LimitRow(
        _NO_CLASS,
        "kept",
        nearest,
        N_("one of the policy's classes"),
        Phrase(
            N_(
                "flash memory behind {transport} has no class of its own: held against the "
                "limits of the nearest"
            ),
            transport=printable(drive.transport),
        ),
    )


def _remark_doubt(doubt: Doubt) -> LimitRow:
    return LimitRow(
        doubt.counter,
        "remark",
        show_figure(doubt.value, doubt.unit),
        N_("not judged: in doubt"),
        doubt.sentence,
    )


def _worst_first(rows: Sequence[LimitRow]) -> list[LimitRow]:
    return [row for outcome in ("reject", "remark") for row in rows if row.outcome == outcome]


def _explain(row: LimitRow) -> str:
    measured = show_sizes(row.measured) or N_("not measured")
    what = Phrase("{title}: {measured}", title=title_of(row.name), measured=measured)
    return Phrase("{what} ({detail})", what=what, detail=row.detail) if row.detail else what
