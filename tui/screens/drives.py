"""Page 1: every drive the machine has, and why one is not offered."""

from typing import ClassVar, override

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import DataTable

from tui.charset import shorten
from tui.screens.page import Page
from tui.state import DriveRow, Snapshot
from tui.widgets.line import Line

# Device, size, bus, kind and "offered" need 36 columns with their gaps; the rest is shared out.
_FIXED = 8 + 8 + 5 + 5 + 7
_GAPS = 8


class DrivesPage(Page):
    """A table, and below it everything about the drive under the cursor."""

    NAME: ClassVar[str] = "drives"
    TITLE: ClassVar[str] = "Drives"
    AUTO_FOCUS = "DataTable"
    HELP: ClassVar[str] = (
        "All drives of this machine. The list follows what is plugged in and out.\n\n"
        "Offered: whether a campaign may use the drive. Where it says NO, the line below the "
        "table says why. The stick itself and drives in use are never offered.\n\n"
        "Looking at drives never changes them: nothing is written to a drive before somebody "
        "has typed the end of its serial number, or named it in the plan.\n\n"
        "Up, Down  choose a drive and see its details"
    )

    def __init__(self) -> None:
        super().__init__()
        self._listed: tuple[DriveRow, ...] = ()
        self._width = 0

    @override
    def compose_body(self) -> ComposeResult:
        table: DataTable[Text] = DataTable(cursor_type="row", zebra_stripes=False, cell_padding=0)
        yield table
        yield Line(id="details", classes="gap")

    @override
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        return [("Up/Down", "choose")]

    @override
    def show(self, snapshot: Snapshot) -> None:
        width = self.size.width or 80
        if (self._listed, self._width) != (snapshot.drives, width):
            self._fill(snapshot.drives, width)
        self._show_details()

    def on_data_table_row_highlighted(self) -> None:
        """The cursor moved."""
        self._show_details()

    def _fill(self, drives: tuple[DriveRow, ...], width: int) -> None:
        table: DataTable[Text] = self.query_one(DataTable)
        before = self._selected()
        self._listed, self._width = drives, width
        rest = max(24, width - 2 - _FIXED - _GAPS)
        model = min(max([12, *(len(d.model) for d in drives)]), rest * 5 // 10)
        serial = min(max([10, *(len(d.identity) for d in drives)]), rest - model)
        widths = {"Device": 8, "Model": model, "Serial": serial, "Size": 8, "Bus": 5}
        widths |= {"Kind": 5, "Offered": 7}
        table.clear(columns=True)
        for title, columns in widths.items():
            table.add_column(title, width=columns + 1)
        for drive in drives:
            cells = (
                drive.device,
                drive.model,
                drive.identity,
                f"{drive.size:>8}",
                drive.bus,
                drive.kind,
                "yes" if drive.offered else "NO",
            )
            table.add_row(
                *(
                    Text(shorten(cell, columns), no_wrap=True)
                    for cell, columns in zip(cells, widths.values(), strict=True)
                )
            )
        for row, drive in enumerate(drives):
            if before is not None and drive.device == before.device:
                table.move_cursor(row=row)

    def _selected(self) -> DriveRow | None:
        row = self.query_one(DataTable).cursor_row
        return self._listed[row] if 0 <= row < len(self._listed) else None

    def _show_details(self) -> None:
        drive = self._selected()
        details = self.query_one("#details", Line)
        if drive is None:
            details.show("No drive was found." if self.kaltstart.snapshot.status else "")
            return
        details.show(describe_drive(drive))


def describe_drive(drive: DriveRow) -> str:
    """What is known about one drive, a fact per line."""
    lines = [
        f"{drive.device}: {drive.model or 'no model name'}, firmware {drive.firmware or '-'}",
        f"Serial {drive.serial or '-'}   WWN {drive.wwn or '-'}",
        f"{drive.size_bytes:,} bytes ({drive.size}), {drive.kind}, {drive.bus}",
        f"Sectors {drive.logical_block_bytes} logical, {drive.physical_block_bytes} physical",
    ]
    found = [
        f"{word} {', '.join(texts)}"
        for word, texts in (
            ("Partitions", drive.partitions),
            ("mounted at", drive.mountpoints),
            ("held by", drive.holders),
        )
        if texts
    ]
    lines.append("; ".join(found) or "No partitions with labels")
    lines.append(
        f"Offered: {'yes' if drive.offered else 'NO'}{', ' if drive.reason else ''}{drive.reason}"
    )
    return "\n".join(lines)
