# SPDX-License-Identifier: Apache-2.0
"""The engine's current activity, for the TUI.

/run/kaltstart/status.json, in RAM, replaced whole.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from appliance import VERSION
from appliance.phrases import list_phrases


@dataclass(slots=True)
class Status:
    """The file's content; every key is always there."""

    phase: str = "starting"
    """starting | idle | countdown | preparing | running | finishing | refused"""
    message: str = "Starting"
    campaign_id: int | None = None
    work: str = ""
    """What is running where it is no campaign: upgrade | dismantle."""
    countdown: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    step: dict[str, Any] | None = None
    """The workload that is running: position, of, kind, device, part, part_number, parts."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    """Where several workloads run at the same time: all of them, the one in `step` too, each with
    its `progress`."""
    temperatures: dict[str, float] = field(default_factory=dict)
    """°C of the running steps' drives, by the name that each has in the campaign."""
    next: str = ""
    error: dict[str, Any] | None = None
    plan: dict[str, Any] = field(
        default_factory=lambda: {
            "state": "absent",
            "name": "",
            "problems": [],
            "warnings": [],
            "autostart": False,
            "is_known": False,
            "summary": "",
            "toml": "",
        }
    )
    """state: absent | invalid | valid; problems: its mistakes, or why a valid one cannot run here;
    warnings: what the user must know before it starts;
    is_known: it was started or declined before, so it does not start automatically again."""
    kaltstart_version: str = VERSION
    firmware: str = ""
    can_wake: bool = False


def write_status(status: Status, run: Path) -> None:
    """Publish in the folder `run`."""
    write_json(run / "status.json", asdict(status))


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Replace a file in RAM so that a reader never sees half of it.

    `phrases` beside the content are what its texts were made of.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    phrases = list(dict.fromkeys(list_phrases(content)))
    new = path.with_suffix(".new")
    new.write_text(json.dumps({**content, "phrases": phrases}, ensure_ascii=False))
    new.replace(path)
