# SPDX-License-Identifier: Apache-2.0
"""What resuming a paused campaign does to its drives. Pure."""

from collections.abc import Sequence

from tui.charset import one_line
from tui.language import _
from tui.model.campaigns import Campaign
from tui.model.drives import DriveRow


def describe_resumption(
    campaign: Campaign, raw_written: Sequence[str], drives: Sequence[DriveRow]
) -> str:
    """The question before it goes on, with each drive of `raw_written`, the identities."""
    lines = [
        _('Resume campaign {id} "{name}"?').format(id=campaign.id, name=campaign.name) + "\n",
        _("IT WRITES TO THESE DRIVES AGAIN. Anything put on them since may be lost, for good:"),
    ]
    for raw in raw_written:
        here = next((drive for drive in drives if raw in {drive.raw_serial, drive.raw_wwn}), None)
        facts = f"{here.model}, {here.size}, {here.device}" if here else _("NOT in this machine")
        lines.append(f"  {one_line(raw)}  {facts}")
    return "\n".join(lines)
