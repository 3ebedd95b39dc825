"""Releasing one drive for writing: what will be lost, and its serial number typed by a person.

Never skipped, and never answered by anything but typing.
"""

from collections.abc import Iterable
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll

from tui.drive_facts import DriveRow
from tui.screens.dialog import ScrolledDialog
from tui.widgets.choice import Choice
from tui.widgets.field import Field
from tui.widgets.line import Line

_TYPED = 6


def required_text(drive: DriveRow, others: Iterable[DriveRow]) -> str:
    """What must be typed: the last six characters of the serial, or all of a shorter one.

    More where another drive ends alike, so that what is typed tells this one from all that are
    here. The WWN stands in where there is no serial. What is shown is what is typed, escapes
    included.
    """
    own = drive.identity
    endings = {each.identity.casefold() for each in others} - {own.casefold()}
    length = min(_TYPED, len(own))
    while length < len(own) and any(each.endswith(own[-length:].casefold()) for each in endings):
        length += 1
    return own[-length:]


def describe_identity(drive: DriveRow) -> str:
    """Everything that tells this drive from another."""
    return "\n".join(
        (
            f"Model       {drive.model or '-'}",
            f"Serial      {drive.serial or '- (none)'}",
            f"WWN         {drive.wwn or '-'}",
            f"Size        {drive.size}, {drive.kind}, {drive.bus}, now {drive.device}",
        )
    )


def describe_loss(drive: DriveRow) -> str:
    """What is on it."""
    details = drive.details
    partitions = ", ".join(drive.partitions)
    if details and details.partition_table:
        partitions = f"{partitions or 'none'} (table {details.partition_table})"
    file_systems = ", ".join(details.file_systems) if details else ""
    lines = [
        f"Partitions  {partitions or 'none found'}",
        f"On it       {file_systems or 'no file system found; there may be data all the same'}",
    ]
    if drive.array is not None:
        lines.append(f"Array       {drive.array.explanation}")
    if drive.holders:
        lines.append(f"In use by   {', '.join(drive.holders)}")
    if drive.mountpoints:
        lines.append(f"Mounted at  {', '.join(drive.mountpoints)}")
    return "\n".join(lines)


class ReleaseDialog(ScrolledDialog[bool]):
    """True when the drive was released; None when left.

    What is on it may be long and is scrolled; the warning and who it is are always in sight.
    """

    def __init__(
        self, drive: DriveRow, *, number: int, count: int, others: Iterable[DriveRow]
    ) -> None:
        super().__init__(f" Release drive {number} of {count} ")
        self._drive = drive
        self._wanted = required_text(drive, others)

    @override
    def compose_box(self) -> ComposeResult:
        what = "serial number" if self._drive.serial else "WWN"
        length = len(self._wanted)
        yield Line("EVERYTHING ON THIS DRIVE WILL BE LOST, FOR GOOD:", classes="title")
        yield Line(describe_identity(self._drive), classes="gap")
        with VerticalScroll(id="text", can_focus=False):
            yield Line(describe_loss(self._drive))
        yield Line(
            f"To release it, type the last {length} characters of its {what}:",
            classes="gap",
        )
        with Horizontal(classes="field"):
            yield Line("Serial ends in:" if self._drive.serial else "WWN ends in:")
            yield Field(id="typed", placeholder="_" * length, max_length=4 * length)
        yield Line(id="problem")
        with Horizontal(classes="buttons"):
            yield Choice("Cancel", id="cancel")
            yield Choice("Release and erase", id="release")
            yield Line("PgUp/PgDn: all that is on it", id="more")

    def on_input_submitted(self) -> None:
        """Enter in the field."""
        self.choose("release")

    @override
    def choose(self, choice_id: str) -> None:
        field = self.query_one(Field)
        wanted = self._wanted.strip().casefold()
        typed = field.value.strip()
        if wanted and typed.casefold() == wanted:
            self.dismiss(True)
            return
        self.query_one("#problem", Line).show(
            f'Not released: "{typed}" is not how it ends.'
            if typed
            else "Not released: type it first."
        )
        field.value = ""
        field.focus()
