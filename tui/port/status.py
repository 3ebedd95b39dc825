# SPDX-License-Identifier: Apache-2.0
"""The engine's status.json as the pages show it.

Pure; a key that is missing is a LookupError.
"""

import tomllib
from typing import Any

from tui.charset import one_line
from tui.model.status import PlannedDrive, Progress, RunningStep, Status, StepNow, StickPlan
from tui.port.watch import read_record


def parse_status(value: dict[str, Any]) -> Status:
    """All of it."""
    temperatures = value.get("temperatures", {}).items()
    return read_record(
        Status,
        value,
        plan=_parse_stick_plan(value["plan"]),
        steps=tuple(
            RunningStep(read_record(StepNow, step), read_record(Progress, step["progress"]))
            for step in value.get("steps", ())
        ),
        temperatures=tuple((identity, float(celsius)) for identity, celsius in temperatures),
    )


def _parse_stick_plan(value: dict[str, Any]) -> StickPlan:
    drives = tomllib.loads(value["toml"]).get("drive", ()) if value["state"] == "valid" else ()
    return read_record(
        StickPlan,
        value,
        drives=tuple(
            PlannedDrive(
                identity=one_line(drive.get("serial") or drive.get("wwn", "")),
                role=drive.get("role", "target"),
                released=bool(drive.get("erase")),
                may_start=bool(drive.get("start")),
            )
            for drive in drives
        ),
    )
