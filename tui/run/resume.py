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
    """The question before it goes on, with each drive of `raw_written`, the names in it."""
    lines = [
        _('Resume campaign {id} "{name}"?').format(id=campaign.id, name=campaign.name) + "\n",
        _("IT WRITES TO THESE DRIVES AGAIN. Anything put on them since may be lost, for good:"),
    ]
    parts = {part.name: part for part in campaign.drives}
    for raw in raw_written:
        name = one_line(raw)
        part = parts[name]
        # Of two with the same serial number the one with its WWN.
        same = [drive for drive in drives if drive.is_drive(part.identity, part.wwn)]
        here = max(same, key=lambda drive: drive.wwn == part.wwn, default=None)
        facts = f"{here.model}, {here.size}, {here.device}" if here else _("NOT in this machine")
        lines.append(f"  {name}  {facts}")
    return "\n".join(lines)
