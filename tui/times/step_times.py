# SPDX-License-Identifier: Apache-2.0
"""The estimated duration of each step of a plan, before it starts. Pure.

By what this stick has timed (`estimate`); else by what the plan itself says, or by what such drives
usually do, and marked as such. Takes plans without mistakes, as TOML has them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from tui.charset import shorten_name
from tui.language import N_, _, ngettext
from tui.model.drives import DriveRow
from tui.model.estimate import (
    Past,
    Span,
    Subject,
    Work,
    add_up,
    estimate_s,
    find_past,
    name_span,
)
from tui.model.status import ARRAY
from tui.times.durations import find_at_once, list_workloads, name_settings, name_work

type Table = dict[str, Any]

_NAMED_BY = ("serial", "wwn")
# What most drives reach from end to end, slow inner tracks and the way between places included.
_USUAL_BYTES_S = {True: 100e6, False: 300e6}
# "A short device self-test operation should complete in two minutes or less" (NVM Express Base
# Specification 2.0, 8.6.1); smartctl shows 1 or 2 minutes for nearly all ATA drives.
_SHORT_SELFTEST_S = 120.0
# From one sample to the next: shutdown, the wait for the alarm, firmware, start-up.
_USUAL_BOOT_S = {True: 180.0, False: 120.0}
_SOURCES = {
    "timed": N_("timed on this stick"),
    "plan": N_("at most, by the plan"),
    "usual": N_("usual for such drives"),
    "": N_("not known yet"),
}


@dataclass(frozen=True, slots=True)
class Basis:
    """What an estimate needs to know besides the plan."""

    past: Sequence[Past]
    defaults: Mapping[str, Mapping[str, Any]]
    """Of the plan's tables, by kind of workload; `boot` for the boots."""
    parse_size: Callable[[str | int], int]


@dataclass(frozen=True, slots=True)
class StepTime:
    """One step of a plan, or the boots of one drive."""

    kind: str
    device: str
    """The drive's identity or `array`, drawable."""
    seconds: float | None
    """None: unknown until it was done once."""
    source: str = ""
    """timed: on this stick; plan: the longest that the plan lets it take; usual: by what such
    drives do"""
    at_once: int = 1
    """On how many drives it may run at the same time."""


def find_step_times(plan: Table, drives: Iterable[DriveRow], basis: Basis) -> tuple[StepTime, ...]:
    """Everything the plan will do, in its order."""
    here = {name: drive for drive in drives for name in drive.raw_names}
    roles = {
        table.get("serial") or table["wwn"]: table.get("role", "target")
        for table in plan.get("drive", ())
    }
    names = {name for table in plan.get("drive", ()) for name in map(table.get, _NAMED_BY) if name}
    places: dict[str, tuple[DriveRow, ...]] = {
        name: (here[name],) for name in names if name in here
    }
    tested = [name for name, role in roles.items() if role in {"target", "control"}]
    members = [name for name, role in roles.items() if role in {"backing", "cache"}]
    if members and all(name in here for name in members):
        places[ARRAY] = tuple(here[name] for name in members)
    known = {place[0].device: place[0] for place in places.values()}
    counts = Counter(drive.identity for drive in known.values())
    times = []
    if "boot" in plan:
        booted = [*tested, *(name for name in members if roles[name] == "backing")]
        times += [
            (name, _time_boots(plan["boot"], name, places.get(name), basis)) for name in booted
        ]
    for table in list_workloads(plan):
        on = table.get("on") or tested
        for name in [on] if isinstance(on, str) else on:
            timed = _time_step(table, name, places.get(name), basis)
            times.append((name, replace(timed, at_once=find_at_once(plan, table))))
    # Of two with the same serial number each is called by its WWN, as in the plan.
    return tuple(
        replace(step, device=places[name][0].wwn)
        if name in places and counts[step.device] > 1
        else step
        for name, step in times
    )


def describe_times(times: Sequence[StepTime]) -> str:
    """The whole in words: `about 2 h 10 min`, `at least about 5 min: sql is not known yet`."""
    known_s = add_up(
        Span(step.device, step.at_once, step.seconds) for step in times if step.seconds is not None
    )
    unknown = sorted({step.kind for step in times if step.seconds is None})
    if not unknown:
        return show_span(known_s)
    text = ngettext(
        "{kinds} is not known before the first time",
        "{kinds} are not known before the first time",
        len(unknown),
    ).format(kinds=", ".join(unknown))
    least = _("at least {span}").format(span=show_span(known_s))
    return f"{least}; {text}" if known_s else text


def list_times(times: Sequence[StepTime]) -> str:
    """The whole, then a line for each step, and what it rests on."""
    lines = [
        f"{step.kind:9} {shorten_name(step.device, 18):18} "
        f"{'' if step.seconds is None else show_span(step.seconds):16} {_(_SOURCES[step.source])}"
        for step in times
    ]
    whole = _("In all: {times}").format(times=describe_times(times))
    return "\n".join([whole, "", *lines])


def show_span(seconds: float) -> str:
    """As exact as an estimate can be."""
    if round(seconds / 60) < 1:
        return _("under a minute")
    return _("about {span}").format(span=name_span(seconds))


def _subject_of(place: tuple[DriveRow, ...]) -> Subject:
    return Subject(
        "+".join(drive.raw_identity for drive in place),
        "+".join(drive.model for drive in place),
        "+".join(f"{drive.bus} {drive.kind}" for drive in place),
        sum(drive.size_bytes for drive in place),
        "+".join(drive.raw_wwn for drive in place),
    )


def _time_boots(
    table: Table, name: str, place: tuple[DriveRow, ...] | None, basis: Basis
) -> StepTime:
    if place is None:
        return StepTime("boot", name, None)
    whole = {**basis.defaults["boot"], **table}
    charted = {"none": 0, "first-last": min(2, whole["cycles"]), "all": whole["cycles"]}
    count = whole["train"] + whole["cycles"] + charted[whole["charts"]]
    work = Work("boot", name_settings(table | {"kind": "boot"}), _subject_of(place))
    timed = estimate_s(work, find_past(work, basis.past))
    each_s = _USUAL_BOOT_S[place[0].rotational] if timed is None else timed
    return StepTime(
        "boot", place[0].identity, count * each_s, "usual" if timed is None else "timed"
    )


def _time_step(
    table: Table, name: str, place: tuple[DriveRow, ...] | None, basis: Basis
) -> StepTime:
    kind = table["kind"]
    if place is None:
        return StepTime(kind, name, None)
    device = ARRAY if name == ARRAY else place[0].identity
    work = name_work(kind, table, _subject_of(place))
    timed = estimate_s(work, find_past(work, basis.past))
    if timed is not None:
        return StepTime(kind, device, timed, "timed")
    whole = {**basis.defaults[kind], **table}
    allowed_s = _find_longest_s(whole)
    if allowed_s is not None:
        return StepTime(kind, device, allowed_s, "plan")
    if kind == "selftest" and whole["test"] == "short":
        return StepTime(kind, device, _SHORT_SELFTEST_S, "usual")
    moved = _count_bytes(whole, place[0].size_bytes, basis.parse_size)
    if moved is None:
        return StepTime(kind, device, None)
    is_disk = any(drive.rotational for drive in place)
    return StepTime(kind, device, moved / _USUAL_BYTES_S[is_disk], "usual")


def _find_longest_s(table: Table) -> float | None:
    """What the plan bounds by time; None where it does not."""
    match table["kind"]:
        case "fio" if "options" not in table:
            rounds = table["max_rounds"] if table["steady_state"] else 1
            modes = len(table.get("modes", ())) or 1
            return float(len(table["tests"]) * table["runtime"] * rounds * modes)
        case "sweep" if "set_sizes" in table:
            per_set = len(table["tests"]) * len(table["norandommap"]) * len(table["distribution"])
            return float(len(table["set_sizes"]) * per_set * table["runtime"])
    return None


def _count_bytes(
    table: Table, size_bytes: int, parse_size: Callable[[str | int], int]
) -> float | None:
    """What is read and written; None where the plan does not say it."""
    moved: float | None = None
    match table["kind"]:
        case "surface":
            share = float(table["sample"])
            if not isfinite(share):  # a field may hold what is no plan yet
                raise ValueError(table["sample"])
            moved = share * size_bytes
        case "selftest":
            moved = size_bytes  # the long one reads all of it
        case "verify":
            size = size_bytes if table["size"] == "all" else parse_size(table["size"])
            moved = size * (3 if table["power_cycle"] else 2)
        case "lottery":
            pass_bytes = sum(table["tickets"].values()) * parse_size(table["file_size"])
            moved = pass_bytes * len(table["passes"]) * table["repeat"]
    return moved
