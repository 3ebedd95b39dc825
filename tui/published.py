"""The engine's status.json, and what its checks say, as what the pages show.

Pure; a key that is missing is a LookupError.
"""

import re
import tomllib
from collections.abc import Iterable
from typing import Any

from tui.charset import drawable
from tui.composed import Mistake
from tui.engine_status import Countdown, PlannedDrive, Progress, Status, StepNow, StickPlan, Trouble

# `plan.toml line 12: workload 2: file_size: must be ...`, `... boot.cycles: ...` (appliance.plan)
_PROBLEM = re.compile(
    r"""
    (?:[^:]*\ line\ \d+:\ )?
    (?: (?P<table>boot|campaign|array)\.(?P<key>\w+):\ | (?P<whole>boot|campaign|array):[ ]
      | (?P<one>drive|workload)\ (?P<number>\d+):\ (?:(?P<its_key>\w+)(?:\ \d+)?[^:\s]*:\ )? )?
    (?P<text>.*)
    """,
    re.VERBOSE | re.DOTALL,
)
# `drive "X" holds 4 GB; workload 2 (sql) needs about 8 GB` (appliance.plan_conflicts)
_WORKLOAD = re.compile(r"workload (\d+) \(\w+\) (?:needs|is) ")
_BOOT = re.compile(r"; the boot test needs ")
_ARRAY = re.compile(r"\barray\.(\w+) must be |make array\.(\w+) smaller")


def parse_status(value: dict[str, Any]) -> Status:
    """All of it."""
    countdown, progress, error = value["countdown"], value["progress"], value["error"]
    step = value["step"]
    return Status(
        phase=value["phase"],
        message=drawable(value["message"]),
        campaign_id=value["campaign_id"],
        countdown=None
        if countdown is None
        else Countdown(countdown["purpose"], int(countdown["remaining_s"])),
        progress=None
        if progress is None
        else Progress(drawable(progress["label"]), progress["done_bytes"], progress["total_bytes"]),
        next=drawable(value["next"]),
        error=None
        if error is None
        else Trouble(drawable(error["message"]), drawable(error["hint"])),
        plan=_parse_stick_plan(value["plan"]),
        version=drawable(value["version"]),
        firmware=drawable(value["firmware"]),
        can_wake=value["can_wake"],
        step=None if step is None else _parse_step(step),
        temperatures=tuple(
            (drawable(identity), float(celsius))
            for identity, celsius in value.get("temperatures", {}).items()
        ),
    )


def _parse_step(value: dict[str, Any]) -> StepNow:
    return StepNow(
        position=int(value["position"]),
        of=int(value["of"]),
        kind=drawable(value["kind"]),
        device=drawable(value["device"]),
        step_id=int(value.get("step_id", 0)),
        part=drawable(value["part"]),
        part_number=int(value["part_number"]),
        parts=int(value["parts"]),
    )


def _parse_stick_plan(value: dict[str, Any]) -> StickPlan:
    drives = tomllib.loads(value["toml"]).get("drive", ()) if value["state"] == "valid" else ()
    return StickPlan(
        state=value["state"],
        name=drawable(value["name"]),
        summary="\n".join(drawable(line) for line in value["summary"].splitlines()),
        problems=tuple(drawable(problem) for problem in value["problems"]),
        warnings=tuple(drawable(warning) for warning in value.get("warnings", ())),
        autostart=value["autostart"],
        is_known=value.get("is_known", False),
        toml=value["toml"],
        drives=tuple(
            PlannedDrive(
                identity=drawable(drive.get("serial") or drive.get("wwn", "")),
                role=drawable(drive.get("role", "target")),
                released=bool(drive.get("erase")),
            )
            for drive in drives
        ),
    )


def parse_problems(lines: Iterable[str]) -> tuple[Mistake, ...]:
    """What the plan's checks say, one mistake per line, each with the place it names."""
    return tuple(_parse_problem(drawable(line)) for line in lines)


def _parse_problem(line: str) -> Mistake:
    found = _PROBLEM.fullmatch(line)
    if found is None or not (found["table"] or found["whole"] or found["one"]):
        workload, boot, array = (each.search(line) for each in (_WORKLOAD, _BOOT, _ARRAY))
        table = "workload" if workload else "boot" if boot else "array" if array else ""
        key = array[1] or array[2] if array else ""
        return Mistake(table, int(workload[1]) - 1 if workload else 0, key, line)
    key = found["key"] or found["its_key"] or ""
    text = found["text"]
    return Mistake(
        table=found["table"] or found["whole"] or found["one"] or "",
        index=int(found["number"] or 1) - 1,
        key=key,
        text=f"{key}: {text}" if key else text,
    )
