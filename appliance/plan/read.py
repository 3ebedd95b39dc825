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
from appliance.phrases import N_, Phrase, join_phrases
from appliance.plan.model import Boot, Plan, PlannedDrive
from appliance.plan.rules import find_contradictions
from appliance.plan.tables import read_shape
from appliance.plan.workloads import ARRAY, WorkloadPlan
from appliance.problem import Problem
from appliance.toml.values import show_value
from appliance.toml.write import MAX_BYTES, decode, locate, make_error, parse, tell_problems
from appliance.units import printable

MAX_PLAN_BYTES = MAX_BYTES
_ARRAY = N_("the array")
_LISTED = "{first}, {rest}"
_BOOTS = {
    ("", "cold"): (N_("{count} cold boot"), N_("{count} cold boots")),
    ("", "warm"): (N_("{count} warm boot"), N_("{count} warm boots")),
    ("", "cold and warm"): (N_("{count} cold and warm boot"), N_("{count} cold and warm boots")),
    ("replay", "cold"): (N_("{count} cold replayed boot"), N_("{count} cold replayed boots")),
    ("replay", "warm"): (N_("{count} warm replayed boot"), N_("{count} warm replayed boots")),
    ("replay", "cold and warm"): (
        N_("{count} cold and warm replayed boot"),
        N_("{count} cold and warm replayed boots"),
    ),
}
"""By the mode and how power goes before them: one, and several."""


class PlanRefusedError(RefusedError):
    """A plan whose only mistakes are about releases: wrong or missing ones."""


def read_plan(path: Path) -> str:
    """The text of the plan in `path`. Raises PlanError when it cannot be read as one."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise make_error(
            path.name, Phrase(N_("cannot be read: {error}"), error=error.strerror)
        ) from error
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
        message = join_phrases(map(str, located))
        raise PlanRefusedError(message, problems=tuple(located))
    raise tell_problems(name, located)


def _call_by_identity(workload: WorkloadPlan, drives: Sequence[PlannedDrive]) -> WorkloadPlan:
    """`workload` with the drives it is `on` called as `drives` call them, should that be by WWN."""
    identities = {drive.wwn: drive.identity for drive in drives}
    return replace(workload, on=tuple(identities.get(place, place) for place in workload.on))


def _show_place(place: str) -> str:
    return _ARRAY if place == ARRAY else show_value(place)


def _join(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = words
    return join_phrases((join_phrases(first, _LISTED), last), N_("{first} and {rest}"))


def describe_plan(plan: Plan) -> str:
    """The plan in a sentence: `3 drives, 10 cold boots each, then fio; erases "A", "B"`."""
    return join_phrases((describe_work(plan), _describe_writes(plan)))


def describe_work(plan: Plan) -> str:
    """What it does, without what it writes to: `3 drives, 10 cold boots each, then fio`."""
    count = len(plan.drives)
    drives = Phrase(N_("1 drive")) if count == 1 else Phrase(N_("{count} drives"), count=count)
    parts: list[str] = [drives]
    if plan.array is not None and plan.cache_drive and plan.backing_drive:
        parts.append(
            Phrase(
                N_("a {kind} array in {mode} mode of the disk {disk} and the cache {cache}"),
                kind=plan.array.kind,
                mode=plan.array.cache_mode,
                disk=show_value(plan.backing_drive.identity),
                cache=show_value(plan.cache_drive.identity),
            )
        )
    if plan.boot is not None:
        parts += _describe_boots(plan, plan.boot)
    if plan.workloads:
        workloads = _list_workloads(plan)
        then = Phrase(N_("then {what}"), what=workloads)
        parts.append(then if plan.boot is not None else workloads)
    return join_phrases(parts, _LISTED)


def _describe_boots(plan: Plan, boot: Boot) -> list[str]:
    cycles = boot.cycles
    one, many = _BOOTS["replay" if boot.mode == "replay" else "", _join(sorted(boot.power))]
    boots = Phrase(one if cycles == 1 else many, count=cycles)
    if boot.path == "drive":
        boots = Phrase(N_("{what} by the drive's own loader"), what=boots)
    if boot.starts_installed:
        boots = Phrase(N_("{what} of the drive's own system"), what=boots)
    parts: list[str] = [
        Phrase(N_("{what} of {name}"), what=boots, name=_list_booted(plan))
        if plan.array
        else Phrase(N_("{what} each"), what=boots)
    ]
    if boot.train:
        parts.append(Phrase(N_("{count} untimed before them"), count=boot.train))
    charts = boot.charts if boot.installs else "none"
    charted = {"none": 0, "first-last": min(2, cycles), "all": cycles}[charts]
    if charted:
        parts.append(Phrase(N_("{count} more with a chart"), count=charted))
    return parts


def _describe_writes(plan: Plan) -> str:
    if started := [show_value(drive.identity) for drive in plan.drives if drive.may_start]:
        return Phrase(
            N_("erases nothing, but the systems on {drives} write to them"),
            drives=", ".join(started),
        )
    erased = [show_value(drive.identity) for drive in plan.drives if drive.released]
    if not erased:
        return Phrase(N_("writes to no drive"))
    return Phrase(N_("erases {drives}"), drives=", ".join(erased))


def _list_booted(plan: Plan) -> str:
    booted = [
        show_value(drive.identity) if drive.is_tested else _ARRAY
        for drive in sorted(plan.booted_drives, key=lambda each: not each.is_tested)
    ]
    return booted[0] if len(booted) == 1 else Phrase(N_("each of {name}"), name=_join(booted))


def _list_workloads(plan: Plan) -> str:
    """`lottery, fio on each drive, sweep on "A"`: neighbours on the same drives share them."""
    groups: list[tuple[str, list[str]]] = []
    each_drive = N_("each target and control drive") if plan.array else N_("each drive")
    for workload in plan.workloads:
        place = _join(_show_place(place) for place in workload.on) if workload.on else each_drive
        if not groups or groups[-1][0] != place:
            groups.append((place, []))
        groups[-1][1].append(workload.kind)
    return join_phrases(
        (Phrase(N_("{kinds} on {name}"), kinds=", ".join(k), name=place) for place, k in groups),
        _LISTED,
    )
