# SPDX-License-Identifier: Apache-2.0
"""The incoming inspection: every drive examined, and nothing written. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from tui.charset import shorten, shorten_name
from tui.language import _
from tui.model.draft import DraftCampaign, PlanTable
from tui.model.drives import DriveRow
from tui.model.engine_words import say

SHARE_READ = 0.02
"""Of each drive: minutes for the largest disks, and places in each hundredth of it."""
_TABLES: tuple[PlanTable, ...] = (
    {"kind": "selftest", "test": "short"},
    {"kind": "surface", "sample": SHARE_READ},
)


@dataclass(frozen=True, slots=True)
class Inspection:
    """What would be inspected."""

    drives: tuple[DriveRow, ...]
    left_out: tuple[tuple[DriveRow, str], ...]
    """With the reason."""

    @property
    def campaign(self) -> DraftCampaign:
        """As a campaign; there must be drives."""
        return DraftCampaign(
            name=_("incoming inspection"),
            drives=self.drives,
            roles={drive.raw_identity: "target" for drive in self.drives},
            boot=None,
            workloads=_TABLES,
        )


def find_inspection(drives: Sequence[DriveRow], *, at_most: int) -> Inspection:
    """All drives that a plan can name; `at_most` is how many a plan takes."""
    picks: list[DriveRow] = []
    left_out = []
    for drive in drives:
        reason = _find_obstacle(drive)
        if not reason and len(picks) >= at_most:
            reason = _("a campaign takes {count} drives: inspect it next").format(count=at_most)
        if reason:
            left_out.append((drive, reason))
        else:
            picks.append(drive)
    return Inspection(tuple(picks), tuple(left_out))


def describe_inspection(inspection: Inspection, *, duration: str) -> str:
    """What is done, to which drives, how long it takes, and what is left out."""
    lines = [
        _("Reads health data and {share} of each surface, and runs the short self-test.").format(
            share=f"{100 * SHARE_READ:.0f} %"
        ),
        _("NOTHING IS WRITTEN TO THEM, so no release is needed."),
        _("Estimated duration: {duration}").format(duration=duration),
        "",
        *(_describe(drive) for drive in inspection.drives),
    ]
    if inspection.left_out:
        lines += ["", _("Left out:")]
        for drive, reason in inspection.left_out:
            # Below the name: beside it there is no room for a reason.
            lines += [_describe(drive), f"{'':8} {reason}"]
    return "\n".join(lines)


def _find_obstacle(drive: DriveRow) -> str:
    if not drive.offered:
        return say(drive.reason)
    if drive.answer == "not answering":
        return _("it does not answer")
    if not drive.raw_identity:
        return _("it has no serial number and no WWN to name it by")
    if drive.twins:
        return _("another drive shows the same identity")
    return ""


def _describe(drive: DriveRow) -> str:
    model, identity = shorten(drive.model, 22), shorten_name(drive.identity, 20)
    return f"{drive.device:8} {model:22} {identity:20} {drive.size:>7}"
