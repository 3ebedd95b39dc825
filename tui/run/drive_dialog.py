# SPDX-License-Identifier: Apache-2.0
"""One drive of a shelf: all that is known of it now, and what can be done about it alone."""

from typing import TYPE_CHECKING, cast, override

from tui.language import _
from tui.model.campaigns import Campaign
from tui.model.snapshot import Snapshot
from tui.run.shelf import ORDERS, ShelfLine, describe_drive_now, list_shelf
from tui.widgets.dialog import Ask
from tui.widgets.line import Line

if TYPE_CHECKING:
    from tui.app import KaltstartApp

_EVERY_S = 1.0


class DriveDialog(Ask):
    """Its text follows the drive. The result is `pause`, `stop`, `resume` or `skip`, or None."""

    def __init__(
        self, line: ShelfLine, campaign: Campaign, *, is_busy: bool, can_skip: bool
    ) -> None:
        choices = []
        steps = [step for step in campaign.steps if step.drive_id == line.drive_id]
        if is_busy and any(step.state in {"planned", "running"} for step in steps):
            choices = [("pause", _("Pause after part")), ("stop", _("Stop now"))]
            if any(drive.paused for drive in campaign.drives if drive.drive_id == line.drive_id):
                choices = [("resume", _("Resume"))]
        if can_skip:
            choices.append(("skip", _("Skip step")))
        title = f" {line.bay or line.identity} "
        super().__init__(
            title, describe_drive_now(line, campaign), tuple(choices), cancel=_("Close")
        )
        self._campaign_id = campaign.id
        self._drive_id = line.drive_id

    @override
    def on_mount(self) -> None:
        """Follow the drive."""
        self.set_interval(_EVERY_S, self.follow)

    def follow(self) -> None:
        """What it says now."""
        snapshot = cast("KaltstartApp", self.app).snapshot
        pair = find_line(snapshot, self._campaign_id, self._drive_id)
        if pair is not None:
            self.query_one("#text Line", Line).show(describe_drive_now(*pair))


def find_line(
    snapshot: Snapshot, campaign_id: int, drive_id: int
) -> tuple[ShelfLine, Campaign] | None:
    """A drive of a campaign as it is now."""
    for campaign in snapshot.campaigns:
        if campaign.id == campaign_id:
            lines = list_shelf(campaign, snapshot, ORDERS[0])
            return next(((line, campaign) for line in lines if line.drive_id == drive_id), None)
    return None
