"""What a drive is worth: the figures of a campaign held against a policy. Pure.

Never calls good what was not measured, and never judges a figure that is in doubt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appliance import stats
from appliance.policy import DriveClass, Limit, Policy
from appliance.policy_limits import LIMITS, LimitKind, show_figure
from appliance.store.verdicts import LimitRow, Outcome, Verdict
from appliance.units import printable

_NO_CLASS = "class"
_CAPACITY = "tested_capacity"
_COMPARED = "worse_than_model_percent"


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured for one limit. `value` None: it was not, and `detail` says why."""

    value: float | None
    detail: str = ""
    origin: frozenset[int] = frozenset()
    """The plan's workloads behind it, from 0: only figures of the same ones are compared."""
    compared: float | None = None
    """By what drives of one model are compared where `value` is not to be held against a limit."""
    excuse: str = ""
    """What went wrong and is not shown to be the drive's fault: a remark, whatever the value."""
    in_part: str = ""
    """How little of the drive it speaks of: a remark, however good the value."""

    @property
    def comparable(self) -> float | None:
        """What drives of one model are compared by."""
        return self.compared if self.value is None else self.value


@dataclass(frozen=True, slots=True)
class Doubt:
    """A health counter that is known nonsense."""

    counter: str
    value: float
    unit: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One drive of a campaign and all that is known of it."""

    drive_id: int
    identity: str
    model: str
    transport: str
    rotational: bool
    figures: Mapping[str, Figure]
    """By the names of `policy_limits`; what is absent was not measured."""
    doubts: tuple[Doubt, ...] = ()
    hybrid: bool = False
    """Whether it says itself that it is one."""
    hidden_capacity: str = ""
    """What it has and does not offer, in a sentence; empty where nothing is known of such."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one drive."""

    evidence: Evidence
    drive_class: DriveClass | None
    verdict: Verdict | None
    """None: nothing was measured by which it could be judged."""
    limits: tuple[LimitRow, ...]
    reasons: str


def judge(policy: Policy, drives: Sequence[Evidence]) -> tuple[Judged, ...]:
    """The verdict on each of `drives`, which are those of one campaign."""
    compared = _compare_models(drives)
    return tuple(_judge_drive(policy, drive, compared[drive.drive_id]) for drive in drives)


def _judge_drive(policy: Policy, drive: Evidence, compared: Figure) -> Judged:
    drive_class = policy.class_of(
        transport=drive.transport,
        rotational=drive.rotational,
        model=drive.model,
        hybrid=drive.hybrid,
    )
    figures = {**drive.figures, _COMPARED: compared}
    doubted = {each.counter for each in drive.doubts}
    rows: list[LimitRow] = []
    measured = False
    if drive_class is None:
        rows.append(_remark_class(drive))
    elif drive_class == "sata-ssd" and drive.transport != "sata":
        rows.append(_note_nearest(drive, drive_class))
    if drive.hidden_capacity:
        rows.append(_remark_hidden(drive))
    limits = policy.limits_of(drive_class)
    for name, kind in LIMITS.items():
        limit = limits.get(name)
        if limit is None or limit == Limit() or kind.counter in doubted:
            continue
        figure = figures.get(name, Figure(None))
        measured |= kind.is_evidence and figure.value is not None
        rows.append(_hold(kind, limit, figure))
    limited = {LIMITS[name].counter for name, limit in limits.items() if limit != Limit()}
    rows += [_remark_doubt(each) for each in drive.doubts if each.counter in limited]
    verdict = _find_verdict([row.outcome for row in rows], measured=measured)
    return Judged(
        evidence=drive,
        drive_class=drive_class,
        verdict=verdict,
        limits=tuple(rows),
        reasons="; ".join(_explain(row) for row in _worst_first(rows)),
    )


def _find_verdict(outcomes: Sequence[Outcome], *, measured: bool) -> Verdict | None:
    if "reject" in outcomes:
        return "reject"
    if not measured:
        return None
    return "accept with remarks" if "remark" in outcomes else "accept"


def _hold(kind: LimitKind, limit: Limit, figure: Figure) -> LimitRow:
    """One figure against its limit."""
    allowed = show_limit(kind, limit)
    detail = "; ".join(
        filter(
            None,
            (
                figure.detail,
                figure.in_part,
                figure.excuse and f"not shown to be its fault: {figure.excuse}",
            ),
        )
    )
    if figure.value is None:
        missing: Outcome = limit.unmeasured or "not measured"
        # A policy that asks for it takes no drive without it, whoever is to blame.
        is_owed = kind.is_evidence and missing == "reject"
        if figure.excuse and not is_owed:
            missing = "remark"
        return LimitRow(kind.name, missing, "", allowed, detail)
    outcome: Outcome = "remark" if figure.excuse or figure.in_part else "kept"
    if _is_beyond(kind, figure.value, limit.reject):
        outcome = "reject"
    elif _is_beyond(kind, figure.value, limit.remark):
        outcome = "remark"
    return LimitRow(kind.name, outcome, show_figure(figure.value, kind.unit), allowed, detail)


def _is_beyond(kind: LimitKind, value: float, limit: float | None) -> bool:
    if limit is None:
        return False
    return value > limit if kind.direction == "most" else value < limit


def show_limit(kind: LimitKind, limit: Limit) -> str:
    """`remark above 0, reject above 10`, or what else follows."""
    side = "above" if kind.direction == "most" else "below"
    parts = []
    for name, value in (("remark", limit.remark), ("reject", limit.reject)):
        if value is not None:
            shown = (
                "if failed" if kind.unit == "check" else f"{side} {show_figure(value, kind.unit)}"
            )
            parts.append(f"{name} {shown}")
    if limit.unmeasured:
        parts.append(f"{limit.unmeasured} if not measured")
    return ", ".join(parts)


def _remark_class(drive: Evidence) -> LimitRow:
    medium = "rotating" if drive.rotational else "not rotating"
    return LimitRow(
        _NO_CLASS,
        "remark",
        "not known",
        "one of the policy's classes",
        f"a drive behind {printable(drive.transport) or 'an unknown bus'}, {medium}, may be "
        "anything: only the limits of all classes were held against it",
    )


def _remark_hidden(drive: Evidence) -> LimitRow:
    return LimitRow(_CAPACITY, "remark", "in part", "all of it tested", drive.hidden_capacity)


def _note_nearest(drive: Evidence, nearest: DriveClass) -> LimitRow:
    return LimitRow(
        _NO_CLASS,
        "kept",
        nearest,
        "one of the policy's classes",
        f"flash memory behind {printable(drive.transport)} has no class of its own: "
        "held against the limits of the nearest",
    )


def _remark_doubt(doubt: Doubt) -> LimitRow:
    return LimitRow(
        doubt.counter,
        "remark",
        show_figure(doubt.value, doubt.unit),
        "not judged: in doubt",
        doubt.sentence,
    )


def _worst_first(rows: Sequence[LimitRow]) -> list[LimitRow]:
    return [row for wanted in ("reject", "remark") for row in rows if row.outcome == wanted]


def _explain(row: LimitRow) -> str:
    title = LIMITS[row.name].title if row.name in LIMITS else row.name.replace("_", " ")
    what = f"{title}: {row.measured or 'not measured'}"
    return f"{what} ({row.detail})" if row.detail else what


# Drives of one model


def _compare_models(drives: Sequence[Evidence]) -> dict[int, Figure]:
    """For each drive by how many percent its worst figure is behind the others of its model."""
    found = {drive.drive_id: Figure(None, "no other drive of its model") for drive in drives}
    by_model: dict[str, list[Evidence]] = {}
    for drive in drives:
        by_model.setdefault(drive.model, []).append(drive)
    for model, same in by_model.items():
        if not model.strip() or len(same) < 2:
            continue
        for drive in same:
            found[drive.drive_id] = _compare(drive, same)
    return found


def _compare(drive: Evidence, same: Sequence[Evidence]) -> Figure:
    worst: tuple[float, str] | None = None
    for kind in LIMITS.values():
        own = drive.figures.get(kind.name)
        if not kind.is_compared or own is None or own.comparable is None:
            continue
        others = {
            each.identity: value
            for each in same
            if (figure := each.figures.get(kind.name)) is not None
            and (value := figure.comparable) is not None
            and figure.origin == own.origin
        }
        if len(others) < 2:
            continue
        behind = _find_behind(kind, own.comparable, list(others.values()))
        if worst is None or behind > worst[0]:
            worst = (behind, _describe_behind(kind, drive, others))
    if worst is None:
        return Figure(None, "nothing was measured on two drives of its model alike")
    return Figure(round(worst[0], 1), worst[1])


def _find_behind(kind: LimitKind, value: float, values: Sequence[float]) -> float:
    """Percent by which `value` is worse than the median; of two, than the better one."""
    best = min(values) if kind.direction == "most" else max(values)
    base = best if len(values) == 2 else (stats.find_median(values) or 0.0)
    if base <= 0:
        return 0.0
    return max(0.0, 100 * (value - base) / base * (1 if kind.direction == "most" else -1))


def _describe_behind(kind: LimitKind, drive: Evidence, values: Mapping[str, float]) -> str:
    own = show_figure(round(values[drive.identity], 1), kind.unit)
    if len(values) > 2:
        median = show_figure(round(stats.find_median(list(values.values())) or 0.0, 1), kind.unit)
        return f"{kind.title}: {own}, the median of {len(values)} of its model is {median}"
    other, value = next(item for item in values.items() if item[0] != drive.identity)
    is_behind = _find_behind(kind, values[drive.identity], list(values.values())) > 0
    word = "slower" if is_behind else "no slower"
    return (
        f"{kind.title}: {own}, {word} than {printable(other)} of its model with "
        f"{show_figure(round(value, 1), kind.unit)}"
    )
