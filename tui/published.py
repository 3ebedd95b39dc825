"""The engine's status.json as the pages show it.

Pure; a key that is missing is a LookupError.
"""

import tomllib
from typing import Any

from tui.charset import drawable
from tui.engine_status import Countdown, PlannedDrive, Progress, Status, StepNow, StickPlan, Trouble


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
