"""The plan: what a person wants done to which drives, checked as a whole.

Owns the way from the text of a `plan.toml` (contract: version 1) to a plan without mistakes. The
shape of single keys is `plan_schema`'s, what takes several keys `plan_checks`', what takes the
drives that are there `plan_conflicts`'. Pure but for `read_plan`, which only reads; must never
touch a drive.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from appliance.errors import PlanError, Refusal
from appliance.plan_checks import find_contradictions
from appliance.plan_conflicts import find_conflicts
from appliance.plan_lines import Path, find_lines, line_of
from appliance.plan_model import ArrayPlan, Boot, Campaign, Plan, PlannedDrive
from appliance.plan_places import Problem
from appliance.plan_text import compose_plan, show_value
from appliance.plan_workloads import ARRAY, WorkloadPlan
from appliance.units import printable

if TYPE_CHECKING:
    from appliance.plan_schema import PlanFile

__all__ = [
    "ArrayPlan",
    "Boot",
    "Campaign",
    "Plan",
    "PlanRefusal",
    "PlannedDrive",
    "compose_plan",
    "decode_plan",
    "describe_plan",
    "find_conflicts",
    "parse_plan",
    "read_plan",
]

MAX_PLAN_BYTES = 1 << 20
_MAX_PROBLEMS = 100
# tomllib takes quadratic time for a key of very many parts.
_LONG_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""", re.ASCII
)


class PlanRefusal(Refusal):
    """A plan whose only mistakes are about releases: wrong ones, or missing ones for workloads."""

    def __init__(self, message: str, *, hint: str = "", problems: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


def read_plan(path: FilePath) -> str:
    """The text of the plan in `path`. Raises PlanError when it cannot be read as one."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_PLAN_BYTES + 1)
    except OSError as error:
        problem = f"{printable(path.name)}: cannot be read: {error.strerror}"
        raise PlanError(problem, problems=(problem,)) from error
    return decode_plan(raw, name=path.name)


def decode_plan(raw: bytes, *, name: str = "plan.toml") -> str:
    """`raw` as text. Raises PlanError when it is too big or not UTF-8."""
    if len(raw) > MAX_PLAN_BYTES:
        raise _plan_error(name, [f"{printable(name)}: is bigger than 1 MiB; that is no plan"])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        where = f"{printable(name)} line {line}"
        raise _plan_error(
            name, [f"{where}: is not UTF-8 text; save the file with the encoding UTF-8"]
        ) from error


def parse_plan(text: str, *, name: str = "plan.toml") -> Plan:
    """The plan in `text`; `name` is what messages call it.

    Raises PlanError with every mistake, or PlanRefusal when the only mistakes are releases
    (`erase`) that do not repeat the drive's identity, or workloads that write where none is.
    """
    # Costs seconds on a small machine: only those who parse a plan pay for it.
    from appliance.plan_schema import check_shape  # noqa: PLC0415

    data = _parse_toml(text.removeprefix("\ufeff"), name=name)
    shape = check_shape(data, at_most=_MAX_PROBLEMS + 1)
    problems = [Problem(path, message) for path, message in shape.mistakes]
    problems += find_contradictions(data, shape.workloads)
    if problems:
        _raise_problems(problems, text=text, name=name)
    if shape.file is None:
        raise AssertionError("a plan with mistakes has problems")
    return _build_plan(shape.file)


def _parse_toml(text: str, *, name: str) -> dict[str, Any]:
    shown = printable(name)
    if len(text) > MAX_PLAN_BYTES:
        raise _plan_error(name, [f"{shown}: is bigger than 1 MiB; that is no plan"])
    if not text.strip():
        raise _plan_error(name, [f"{shown}: is empty; a plan starts with version = 1"])
    long_key = _LONG_KEY.search(text)
    if long_key is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        raise _plan_error(name, [f"{shown} line {line}: a key has more than 64 parts"])
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise _plan_error(name, [f"{shown}: is nested too deeply"]) from error
    except ValueError as error:  # includes numbers too long to convert
        message = str(error)
        found = re.search(r" ?\((?:at line (\d+), column \d+|at end of document)\)$", message)
        number = (found and found[1]) or text.rstrip().count("\n") + 1
        what = printable(message[: found.start()] if found else message)
        raise _plan_error(name, [f"{shown} line {number}: is not TOML: {what}"]) from error


def _plan_error(name: str, lines: Sequence[str]) -> PlanError:
    """The error for `lines`, one per mistake; as many as a person may want to read."""
    shown = printable(name)
    count = str(len(lines)) if len(lines) <= _MAX_PROBLEMS else f"more than {_MAX_PROBLEMS}"
    message = lines[0] if len(lines) == 1 else f"{shown} has {count} mistakes"
    return PlanError(message, problems=tuple(lines[:_MAX_PROBLEMS]))


def _raise_problems(problems: Sequence[Problem], *, text: str, name: str) -> None:
    positions = find_lines(text.removeprefix("\ufeff"))
    # Stable: of one line, what is wrong with its shape comes first.
    located = sorted(((line_of(each.path, positions), each) for each in problems), key=_first)
    lines = [
        f"{printable(name)} line {line}: {_show_path(each.path)}{each.message}"
        for line, each in located
    ]
    if all(each.is_safety for each in problems):
        raise PlanRefusal("; ".join(lines), hint="nothing was written", problems=tuple(lines))
    raise _plan_error(name, lines)


def _first(located: tuple[int, Problem]) -> int:
    return located[0]


def _show_path(path: Path) -> str:
    """`boot.cycles: ` or `drive 2: serial: `, counting from 1 as people do."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown = f"{shown.removesuffix('.')} {part + 1}: "
        else:
            shown += f"{printable(part[:60])}."
    return f"{shown.removesuffix('.')}: " if shown.endswith(".") else shown


def _build_plan(file: "PlanFile") -> Plan:
    boot = file.boot
    drives = tuple(
        PlannedDrive(serial=each.serial, wwn=each.wwn, role=each.role, erase=each.erase)
        for each in file.drive
    )
    return Plan(
        version=file.version,
        campaign=Campaign(
            name=file.campaign.name,
            autostart=file.campaign.autostart,
            on_finish=file.campaign.on_finish,
        ),
        drives=drives,
        boot=None
        if boot is None
        else Boot(
            cycles=boot.cycles,
            power=boot.power,
            mode=boot.mode,
            boot_set_bytes=boot.boot_set,
            charts=boot.charts,
            wake_margin_s=None if boot.wake_margin == "auto" else boot.wake_margin,
        ),
        workloads=tuple(_call_by_identity(each.build(), drives) for each in file.workload),
        array=None if file.array is None else file.array.build(),
    )


def _call_by_identity(workload: WorkloadPlan, drives: Sequence[PlannedDrive]) -> WorkloadPlan:
    """`workload` with the drives it is `on` called as `drives` call them, should that be by WWN."""
    identities = {each.wwn: each.identity for each in drives}
    return replace(workload, on=tuple(identities.get(each, each) for each in workload.on))


def _show_place(place: str) -> str:
    return "the array" if place == ARRAY else show_value(place)


def _join(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def describe_plan(plan: Plan) -> str:
    """The plan in a sentence: `3 drives, 3 cold boots each, then fio; erases "A", "B"`."""
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
        boots = f"{cycles} {plan.boot.power} boot{'' if cycles == 1 else 's'}"
        parts.append(f"{boots} of {_list_booted(plan)}" if plan.array else f"{boots} each")
        charts = {
            "none": (),
            "first-last": ("the first and last repeated with a chart",),
            "all": ("each repeated with a chart",),
        }
        parts += charts[plan.boot.charts]
    if plan.workloads:
        then = "then " if plan.boot is not None else ""
        parts.append(f"{then}{_list_workloads(plan)}")
    erased = [show_value(each.identity) for each in plan.drives if each.released]
    writes = f"erases {', '.join(erased)}" if erased else "writes to no drive"
    return f"{', '.join(parts)}; {writes}"


def _list_booted(plan: Plan) -> str:
    tested = [show_value(each.identity) for each in plan.booted_drives if each.is_tested]
    return f"each of {_join([*tested, 'the array'])}" if tested else "the array"


def _list_workloads(plan: Plan) -> str:
    """`lottery, fio on each drive, sweep on "A"`: neighbours on the same drives share them."""
    groups: list[tuple[str, list[str]]] = []
    each_drive = "each target and control drive" if plan.array else "each drive"
    for each in plan.workloads:
        place = _join(_show_place(place) for place in each.on) if each.on else each_drive
        if not groups or groups[-1][0] != place:
            groups.append((place, []))
        groups[-1][1].append(each.kind)
    return ", ".join(f"{', '.join(kinds)} on {place}" for place, kinds in groups)
