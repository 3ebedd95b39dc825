# SPDX-License-Identifier: Apache-2.0
"""Single captured drives (tests/fixtures/drives), read as real ones are."""

import json
from dataclasses import dataclass
from pathlib import Path

from appliance.drives.facts.details import Contents, parse_contents, parse_details
from appliance.drives.facts.health import parse_health
from appliance.drives.facts.kernel import KernelTexts, read_kernel_texts
from appliance.drives.facts.query import Answer
from appliance.drives.model import Drive, DriveDetails
from appliance.drives.probe import merge_serials, parse_lsblk, read_serial
from tests.unit.drives.captured import lay_out

FOLDER = Path(__file__).parents[2] / "fixtures" / "drives"


@dataclass(frozen=True, slots=True)
class Single:
    """One captured drive."""

    drive: Drive
    kernel: KernelTexts
    smart: str
    contents: Contents

    def details(self, *, kernel: KernelTexts | None = None, **said: object) -> DriveDetails:
        """Its details, with `said` in smartctl's answer."""
        smart = json.dumps(json.loads(self.smart) | said)
        return parse_details(
            self.drive, contents=self.contents, kernel=kernel or self.kernel, smart=smart
        )

    def unasked(self, kernel: KernelTexts | None = None) -> DriveDetails:
        """What is known before it has answered."""
        return parse_details(
            self.drive, contents=self.contents, kernel=kernel or self.kernel, smart=""
        )

    def answer(self) -> Answer:
        """What came of asking it."""
        return Answer("answered", "", self.details(), parse_health(self.smart))


def load_single(name: str, folder: Path) -> Single:
    """`folder` gets the drive's part of /sys."""
    captured = json.loads((FOLDER / f"{name}.json").read_text())
    lay_out(captured, folder)
    listed = json.dumps(captured["lsblk"])
    (drive,) = parse_lsblk(listed)
    serials = {drive.path: read_serial(drive.name, sys=folder)}
    (drive,) = merge_serials([drive], serials)
    return Single(
        drive,
        read_kernel_texts(drive.name, sys=folder),
        json.dumps(captured["smartctl"]),
        parse_contents(listed)[drive.path],
    )
