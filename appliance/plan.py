"""The plan: what a person wants done to which drives, checked as a whole.

Owns the meaning of `plan.toml` (contract: version 1) and every question that takes more than one of
its keys, or the drives that are there. The shape of single keys is `plan_schema`'s. Pure but for
`read_plan`, which only reads; must never touch a drive.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal

from appliance.drives.model import Drive
from appliance.errors import PlanError, Refusal
from appliance.plan_lines import Path, find_lines, line_of
from appliance.plan_text import compose_plan, quote, show_value
from appliance.units import format_drive_size, printable

if TYPE_CHECKING:
    from appliance.plan_schema import PlanFile

__all__ = [
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
# Partition table, alignment and the file system around the installed system.
_INSTALL_EXTRA_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Campaign:
    """What the campaign is called and how it starts and ends."""

    name: str
    autostart: bool
    on_finish: Literal["poweroff", "reboot", "tui"]


@dataclass(frozen=True, slots=True)
class PlannedDrive:
    """A drive the campaign may touch. Absent texts are empty."""

    serial: str
    wwn: str
    role: Literal["target", "control"]
    erase: str

    @property
    def identity(self) -> str:
        """What the plan calls the drive: its serial number, or its WWN where no serial is given."""
        return self.serial or self.wwn

    @property
    def released(self) -> bool:
        """Whether the plan releases the drive for writing by repeating its identity."""
        return bool(self.erase) and self.erase == self.identity


@dataclass(frozen=True, slots=True)
class Boot:
    """The boot test."""

    cycles: int
    power: Literal["cold", "warm"]
    mode: Literal["install"]
    boot_set_bytes: int
    charts: Literal["none", "first-last", "all"]
    wake_margin_s: float | None
    """None: learned in a rehearsal ("auto")."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan without mistakes."""

    version: int
    campaign: Campaign
    drives: tuple[PlannedDrive, ...]
    boot: Boot | None


class PlanRefusal(Refusal):
    """A plan whose only mistakes are releases that do not repeat the drive's identity."""

    def __init__(self, message: str, *, hint: str = "", problems: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


@dataclass(frozen=True, slots=True)
class _Problem:
    path: Path
    message: str
    is_safety: bool = False


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
    (`erase`) that do not repeat the drive's identity.
    """
    # Costs seconds on a small machine: only those who parse a plan pay for it.
    from appliance.plan_schema import check_shape  # noqa: PLC0415

    data = _parse_toml(text.removeprefix("\ufeff"), name=name)
    file, mistakes = check_shape(data, at_most=_MAX_PROBLEMS + 1)
    problems = [_Problem(path, message) for path, message in mistakes]
    problems += _find_contradictions(data)
    if problems:
        _raise_problems(problems, text=text, name=name)
    if file is None:
        raise AssertionError("a plan with mistakes has problems")
    return _build_plan(file)


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


def _raise_problems(problems: Sequence[_Problem], *, text: str, name: str) -> None:
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


def _first(located: tuple[int, _Problem]) -> int:
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


def _find_contradictions(data: Mapping[str, Any]) -> list[_Problem]:
    """What no single key can be blamed for. Takes data of any shape and skips what it is not."""
    drives = data.get("drive")
    boot = data.get("boot")
    if not isinstance(drives, list):
        return []
    installs = isinstance(boot, dict) and boot.get("mode", "install") == "install"
    problems: list[_Problem] = []
    lines_of_key: dict[tuple[str, str], int] = {}
    for index, table in enumerate(drives[:_MAX_PROBLEMS]):
        if not isinstance(table, dict):
            continue
        for key in ("serial", "wwn"):
            value = table.get(key)
            if not isinstance(value, str):
                continue
            first = lines_of_key.setdefault((key, value), index)
            if first != index:
                problems.append(
                    _Problem(
                        ("drive", index, key),
                        f"{show_value(value)} stands in drive {first + 1} already; "
                        "each drive may be named only once",
                    )
                )
        problems += _check_drive(table, path=("drive", index), installs=installs)
    return problems


def _check_drive(table: Mapping[str, Any], *, path: Path, installs: bool) -> Iterator[_Problem]:
    if "serial" not in table and "wwn" not in table:
        yield _Problem(path, "has neither serial nor wwn; must have one of them")
        return
    key = "serial" if "serial" in table else "wwn"
    identity, erase = table[key], table.get("erase")
    if not isinstance(identity, str):
        return
    if identity != identity.strip(" "):
        yield _Problem((*path, key), "must not begin or end with a blank")
    if isinstance(erase, str) and erase != identity:
        yield _Problem(
            (*path, "erase"),
            f"must repeat the {key} {show_value(identity)} exactly, not {show_value(erase)}",
            is_safety=True,
        )
    if erase is None and installs and _is_tested(table.get("role", "target")):
        yield _Problem(
            path,
            f"{show_value(identity)} is not released: a boot test in install mode erases the "
            f"drive; add erase = {quote(identity)}",
        )


def _is_tested(role: object) -> bool:
    return role == "target" or role == "control"  # noqa: PLR1714 - it may be unhashable


def _build_plan(file: "PlanFile") -> Plan:
    boot = file.boot
    return Plan(
        version=file.version,
        campaign=Campaign(
            name=file.campaign.name,
            autostart=file.campaign.autostart,
            on_finish=file.campaign.on_finish,
        ),
        drives=tuple(
            PlannedDrive(serial=each.serial, wwn=each.wwn, role=each.role, erase=each.erase)
            for each in file.drive
        ),
        boot=Boot(
            cycles=boot.cycles,
            power=boot.power,
            mode=boot.mode,
            boot_set_bytes=boot.boot_set,
            charts=boot.charts,
            wake_margin_s=None if boot.wake_margin == "auto" else boot.wake_margin,
        ),
    )


def describe_plan(plan: Plan) -> str:
    """The plan in a sentence or two: `3 drives, 3 cold boots each; erases "A", "B"`."""
    count = len(plan.drives)
    drives = f"{count} drive{'' if count == 1 else 's'}"
    erased = [show_value(each.identity) for each in plan.drives if each.released]
    writes = f"erases {', '.join(erased)}" if erased else "writes to no drive"
    if plan.boot is None:
        return f"{drives}; {writes}"
    boots = f"{plan.boot.cycles} {plan.boot.power} boot{'' if plan.boot.cycles == 1 else 's'}"
    charts = {
        "none": "",
        "first-last": ", the first and last repeated with a chart",
        "all": ", each repeated with a chart",
    }[plan.boot.charts]
    return f"{drives}, {boots} each{charts}; {writes}"


def find_conflicts(
    plan: Plan, drives: Sequence[Drive], *, stick: Drive | None, root_bytes: int = 0
) -> tuple[str, ...]:
    """What forbids running `plan` on the `drives` that are here: safety refusals, one line each.

    `stick` is the stick this runs from; `root_bytes` is the size of the system an install writes.
    """
    needed_bytes = 0
    if plan.boot is not None:
        needed_bytes = root_bytes + plan.boot.boot_set_bytes + _INSTALL_EXTRA_BYTES
    conflicts: list[str] = []
    found: list[str] = []
    for planned in plan.drives:
        lines = tuple(_check_live(planned, drives, stick=stick, needed_bytes=needed_bytes))
        conflicts += lines
        found += [each.path for each in _find_live(planned, drives)]
    conflicts += [
        f"{printable(path)} is named twice in the plan, by serial and by WWN"
        for path, times in Counter(found).items()
        if times > 1
    ]
    return tuple(conflicts)


def _find_live(planned: PlannedDrive, drives: Sequence[Drive]) -> list[Drive]:
    if planned.serial:
        return [each for each in drives if each.serial == planned.serial]
    return [each for each in drives if each.wwn == planned.wwn]


def _check_live(
    planned: PlannedDrive, drives: Sequence[Drive], *, stick: Drive | None, needed_bytes: int
) -> Iterator[str]:
    key = "serial" if planned.serial else "WWN"
    name = f"drive {show_value(planned.identity)}"
    live = _find_live(planned, drives)
    if stick is not None and (
        stick.path in {each.path for each in live} or _find_live(planned, [stick])
    ):
        yield f"{name} is the stick this runs from; it is never a drive to test"
        return
    if not live:
        yield f"{name} is not here; {_list_drives(drives, stick=stick)}"
        return
    if len(live) > 1:
        paths = " and ".join(printable(each.path) for each in live)
        yield f"{name} is ambiguous: {paths} report the same {key}; take out all but one"
        return
    drive = live[0]
    if planned.wwn and drive.wwn != planned.wwn:
        there = f"WWN {show_value(drive.wwn)}" if drive.wwn else "no WWN"
        yield f"{name} reports {there}, the plan says {show_value(planned.wwn)}"
    if drive.mountpoints:
        places = ", ".join(show_value(each) for each in drive.mountpoints)
        yield f"{name} ({printable(drive.path)}) is mounted at {places}"
    if drive.holders:
        holders = ", ".join(printable(each) for each in drive.holders)
        yield f"{name} ({printable(drive.path)}) is in use by {holders}"
    if drive.size_bytes < needed_bytes:
        yield (
            f"{name} holds {format_drive_size(drive.size_bytes)}; "
            f"the boot test needs about {format_drive_size(needed_bytes)}"
        )


def _list_drives(drives: Sequence[Drive], *, stick: Drive | None) -> str:
    others = [each for each in drives if stick is None or each.path != stick.path]
    if not others:
        return "no drive is"
    shown = ", ".join(
        f"{show_value(each.identity) if each.identity else 'one without serial or WWN'} "
        f"({printable(each.path)}, {format_drive_size(each.size_bytes)})"
        for each in others
    )
    return f"here {'is' if len(others) == 1 else 'are'} {shown}"
