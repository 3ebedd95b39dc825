# SPDX-License-Identifier: Apache-2.0
"""The plan: what to do on which drives, checked as a whole.

Owns the way from the text of a `plan.toml` (contract: version 1) to a plan without mistakes. Keys
are declared in `model` and `workloads`, rules between keys are in `rules`, and rules about the
drives at hand in `machine_rules`. Pure except for `read_plan` and `find_misnamed`, which only read;
must never touch a drive.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from appliance.errors import RefusedError
from appliance.plan.model import Plan, PlannedDrive
from appliance.plan.rules import find_contradictions
from appliance.plan.tables import read_shape
from appliance.plan.workloads import ARRAY, WorkloadPlan
from appliance.problem import Problem
from appliance.toml.values import show_value
from appliance.toml.write import MAX_BYTES, decode, locate, make_error, parse, tell_problems
from appliance.units import printable

MAX_PLAN_BYTES = MAX_BYTES


class PlanRefusedError(RefusedError):
    """A plan whose only mistakes are about releases: wrong or missing ones."""


def read_plan(path: Path) -> str:
    """The text of the plan in `path`. Raises PlanError when it cannot be read as one."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise make_error(path.name, f"cannot be read: {error.strerror}") from error
    return decode_plan(raw, name=path.name)


def find_misnamed(path: Path) -> str:
    """A file beside `path` that Windows shows by its name while its own goes on; else empty."""
    try:
        names = sorted(file.name for file in path.parent.iterdir() if file.is_file())
    except OSError:
        return ""
    meant = (f"{path.name}.txt", f"{path.name}.toml")
    return next((printable(name) for name in names if name.casefold() in meant), "")


def decode_plan(raw: bytes, *, name: str = "plan.toml") -> str:
    """`raw` as text. Raises PlanError when it is too big or not UTF-8."""
    return decode(raw, name=name, kind="plan")


def parse_plan(text: str, *, name: str = "plan.toml") -> Plan:
    """The plan in `text`; `name` is what messages call it.

    Raises PlanError with every mistake, or PlanRefusedError when the only mistakes are releases
    (`erase`) that do not repeat the drive's identity, or that a boot test or workload lacks.
    """
    data = parse(text.removeprefix("\ufeff"), name=name, kind="plan")
    shape = read_shape(data)
    problems = (*shape.problems, *find_contradictions(shape))
    if problems:
        _raise_problems(problems, text=text, name=name)
    plan = shape.plan.value
    workloads = [_call_by_identity(workload, plan.drives) for workload in plan.workloads]
    # Behind all that have a table: a workload's place is that of its table.
    repeats = filter(None, (workload.repeat_at_end for workload in workloads))
    return replace(plan, workloads=(*workloads, *repeats))


def _raise_problems(problems: Sequence[Problem], *, text: str, name: str) -> None:
    located = locate(problems, text=text, name=name)
    if all(problem.kind == "release" for problem in located):
        message = "; ".join(map(str, located))
        raise PlanRefusedError(message, problems=tuple(located))
    raise tell_problems(name, located)


def _call_by_identity(workload: WorkloadPlan, drives: Sequence[PlannedDrive]) -> WorkloadPlan:
    """`workload` with the drives it is `on` called as `drives` call them, should that be by WWN."""
    identities = {drive.wwn: drive.identity for drive in drives}
    return replace(workload, on=tuple(identities.get(place, place) for place in workload.on))


def _show_place(place: str) -> str:
    return "the array" if place == ARRAY else show_value(place)


def _join(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def describe_plan(plan: Plan) -> str:
    """The plan in a sentence: `3 drives, 10 cold boots each, then fio; erases "A", "B"`."""
    count = len(plan.drives)
    parts = [f"{count} drive{'' if count == 1 else 's'}"]
    if plan.array is not None and plan.cache_drive and plan.backing_drive:
        parts.append(
            f"a {plan.array.kind} array in {plan.array.cache_mode} mode of the disk "
            f"{show_value(plan.backing_drive.identity)} and the cache "
            f"{show_value(plan.cache_drive.identity)}"
        )
    if plan.boot is not None:
        cycles = plan.boot.cycles
        boots = f"{cycles} {_join(sorted(plan.boot.power))} boot{'' if cycles == 1 else 's'}"
        if plan.boot.mode == "replay":
            boots = boots.replace(" boot", " replayed boot")
        if plan.boot.path == "drive":
            boots += " by the drive's own loader"
        if plan.boot.starts_installed:
            boots += " of the drive's own system"
        parts.append(f"{boots} of {_list_booted(plan)}" if plan.array else f"{boots} each")
        if plan.boot.train:
            parts.append(f"{plan.boot.train} untimed before them")
        charts = plan.boot.charts if plan.boot.installs else "none"
        charted = {"none": 0, "first-last": min(2, cycles), "all": cycles}[charts]
        if charted:
            parts.append(f"{charted} more with a chart")
    if plan.workloads:
        then = "then " if plan.boot is not None else ""
        parts.append(f"{then}{_list_workloads(plan)}")
    erased = [show_value(drive.identity) for drive in plan.drives if drive.released]
    writes = f"erases {', '.join(erased)}" if erased else "writes to no drive"
    if started := [show_value(drive.identity) for drive in plan.drives if drive.may_start]:
        writes = f"erases nothing, but the systems on {', '.join(started)} write to them"
    return f"{', '.join(parts)}; {writes}"


def _list_booted(plan: Plan) -> str:
    booted = [
        show_value(drive.identity) if drive.is_tested else "the array"
        for drive in sorted(plan.booted_drives, key=lambda each: not each.is_tested)
    ]
    return booted[0] if len(booted) == 1 else f"each of {_join(booted)}"


def _list_workloads(plan: Plan) -> str:
    """`lottery, fio on each drive, sweep on "A"`: neighbours on the same drives share them."""
    groups: list[tuple[str, list[str]]] = []
    each_drive = "each target and control drive" if plan.array else "each drive"
    for workload in plan.workloads:
        place = _join(_show_place(place) for place in workload.on) if workload.on else each_drive
        if not groups or groups[-1][0] != place:
            groups.append((place, []))
        groups[-1][1].append(workload.kind)
    return ", ".join(f"{', '.join(kinds)} on {place}" for place, kinds in groups)
