# SPDX-License-Identifier: Apache-2.0
"""Captured machines (tests/fixtures/machines), replayed through the code that reads real ones."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from appliance.drives.facts.details import parse_contents, parse_details
from appliance.drives.facts.health import find_complaint, parse_answer, parse_health
from appliance.drives.facts.kernel import read_kernel_texts
from appliance.drives.facts.query import DEADLINE_S, Answer
from appliance.drives.loops import hang_loops, read_loops
from appliance.drives.model import Drive
from appliance.drives.probe import merge_serials, parse_lsblk, read_ata_serial, read_serial
from appliance.stick.partitions import DISK_UUID
from tests.unit.drives.captured import lay_out

FOLDER = Path(__file__).parents[2] / "fixtures" / "machines"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


@dataclass(frozen=True, slots=True)
class FoundMachine:
    """What discovery finds in a captured machine."""

    drives: tuple[Drive, ...]
    answers: dict[str, Answer]
    """By path, what became of asking the drives; nothing in machines that were not asked."""

    @property
    def stick(self) -> Drive | None:
        """The stick, where there is exactly one, as `stick.find_stick` wants it."""
        sticks = [drive for drive in self.drives if drive.disk_uuid == DISK_UUID]
        return sticks[0] if len(sticks) == 1 else None


def load_drives(machine: str) -> tuple[Drive, ...]:
    """What `find_drives` would have found there."""
    return load_machine(machine).drives


@cache
def load_machine(machine: str) -> FoundMachine:
    """The drives and their answers: found once, as nothing in them can be changed."""
    with TemporaryDirectory() as folder:
        return _find_machine(json.loads((FOLDER / f"{machine}.json").read_text()), Path(folder))


def _find_machine(captured: dict[str, Any], folder: Path) -> FoundMachine:
    """`folder` gets the machine's part of /sys."""
    lay_out(captured, folder)
    listed = hang_loops(json.dumps(captured["lsblk"]), read_loops(sys=folder))
    drives = parse_lsblk(listed)
    drives = merge_serials(
        drives,
        {drive.path: read_serial(drive.name, sys=folder) for drive in drives},
        {
            drive.path: read_ata_serial(drive.name, sys=folder, udev=folder / "udev")
            for drive in drives
            if drive.transport == "usb"
        },
    )
    contents = parse_contents(listed)
    said: dict[str, Any] = captured.get("smartctl", {})
    reads: dict[str, str | None] = captured.get("reads", {})
    answers = {}
    for drive in drives:
        if drive.path in said:
            smart = "" if said[drive.path] is None else json.dumps(said[drive.path])
            state, reason = _state(smart, reads.get(drive.path, ""))
            answers[drive.path] = Answer(
                state,
                reason,
                details=parse_details(
                    drive,
                    contents=contents[drive.path],
                    kernel=read_kernel_texts(drive.name, sys=folder),
                    smart=smart,
                ),
                health=parse_health(smart) if smart else None,
            )
    return FoundMachine(drives, answers)


def _state(smart: str, read: str | None) -> tuple[str, str]:
    """What `asking` makes of these answers; the time it waits is not the capture's."""
    if not smart or read is None:
        return "not answering", f"no answer within {DEADLINE_S} s"
    return ("failed", read) if read else ("answered", find_complaint(parse_answer(smart)))
