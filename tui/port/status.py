"""The engine's status.json as the pages show it.

Pure; a key that is missing is a LookupError.
"""

import tomllib
from typing import Any

from tui.charset import one_line
from tui.model.status import (
    Countdown,
    PlannedDrive,
    Progress,
    RunningStep,
    Status,
    StepNow,
    StickPlan,
    Trouble,
)


def parse_status(value: dict[str, Any]) -> Status:
    """All of it."""
    countdown, progress, error = value["countdown"], value["progress"], value["error"]
    step = value["step"]
    return Status(
        phase=value["phase"],
        message=value["message"],
        campaign_id=value["campaign_id"],
        countdown=None
        if countdown is None
        else Countdown(countdown["purpose"], int(countdown["remaining_s"])),
        progress=None if progress is None else _parse_progress(progress),
        next=value["next"],
        error=None if error is None else Trouble(error["message"], error["hint"]),
        plan=_parse_stick_plan(value["plan"]),
        version=value["version"],
        firmware=value["firmware"],
        can_wake=value["can_wake"],
        step=None if step is None else _parse_step(step),
        steps=tuple(
            RunningStep(_parse_step(each), _parse_progress(each["progress"]))
            for each in value.get("steps", ())
        ),
        temperatures=tuple(
            (identity, float(celsius))
            for identity, celsius in value.get("temperatures", {}).items()
        ),
    )


def _parse_progress(value: dict[str, Any]) -> Progress:
    return Progress(value["label"], value["done_bytes"], value["total_bytes"])


def _parse_step(value: dict[str, Any]) -> StepNow:
    return StepNow(
        position=int(value["position"]),
        of=int(value["of"]),
        kind=value["kind"],
        device=value["device"],
        step_id=int(value.get("step_id", 0)),
        part=value["part"],
        part_number=int(value["part_number"]),
        parts=int(value["parts"]),
    )


def _parse_stick_plan(value: dict[str, Any]) -> StickPlan:
    drives = tomllib.loads(value["toml"]).get("drive", ()) if value["state"] == "valid" else ()
    return StickPlan(
        state=value["state"],
        name=value["name"],
        summary=value["summary"],
        problems=tuple(value["problems"]),
        warnings=tuple(value.get("warnings", ())),
        autostart=value["autostart"],
        is_known=value.get("is_known", False),
        toml=value["toml"],
        drives=tuple(
            PlannedDrive(
                identity=one_line(drive.get("serial") or drive.get("wwn", "")),
                role=drive.get("role", "target"),
                released=bool(drive.get("erase")),
            )
            for drive in drives
        ),
    )
