"""Composing a campaign: which drives, which tests, and their main settings. Releases nothing."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, override

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import DataTable

from tui.charset import shorten
from tui.composed import ComposedCampaign, Mistake
from tui.screens.dialog import Dialog
from tui.screens.tests import OFFERS, BootRow, TestRow, WorkloadRow
from tui.state import DriveRow
from tui.widgets.choice import Choice
from tui.widgets.field import Field
from tui.widgets.line import Line

type Check = Callable[[ComposedCampaign], Awaitable[Sequence[Mistake]]]
"""What the plan's own checks have against it."""

_LISTED = 4
_WIDTH = 75


class ComposeDialog(Dialog[ComposedCampaign]):
    """The form. Only drives that are offered and can be identified are listed."""

    AUTO_FOCUS = "DataTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pick", show=False),
        Binding("c", "change_role", show=False),
    ]

    def __init__(self, drives: tuple[DriveRow, ...], *, can_wake: bool, check: Check) -> None:
        super().__init__(" New campaign ")
        self._drives = tuple(drive for drive in drives if drive.releasable)
        self._picked: set[int] = set()
        self._controls: set[int] = set()
        self._can_wake = can_wake
        self._check = check
        self._checking = False

    @override
    def compose_box(self) -> ComposeResult:
        yield Line("Drives: Space picks one, c makes it a control (to compare with)")
        table: DataTable[Text] = DataTable(cursor_type="row", show_header=False, cell_padding=0)
        table.styles.height = min(_LISTED, max(1, len(self._drives)))
        table.add_column("drive", key="drive", width=_WIDTH)
        yield table
        with Horizontal(classes="field gap"):
            yield Line("Name")
            yield Field("drive comparison", id="name")
        with Vertical(id="tests"):
            yield BootRow()
            for offer in OFFERS:
                yield WorkloadRow(offer)
        yield Line(id="writes")
        yield Line(id="hint")
        yield Line(id="problem")
        with Horizontal(classes="buttons"):
            yield Choice("Cancel", id="cancel")
            yield Choice("Continue", id="continue")
            yield Line("Space: choose  Tab: next  Esc: leave")

    def on_mount(self) -> None:
        """Fill the table."""
        table: DataTable[Text] = self.query_one(DataTable)
        for number in range(len(self._drives)):
            table.add_row(self._row(number), key=str(number))
        if not self._drives:
            table.add_row(Text("No drive can be released; page 1 says why."))
        self._show_what_it_does()

    def on_data_table_row_selected(self) -> None:
        """Enter."""
        self.action_pick()

    def action_pick(self) -> None:
        """Pick the drive under the cursor, or leave it out again."""
        number = self._under_cursor()
        if number is not None:
            self._picked ^= {number}
            self._controls -= {number}
            self._show_drive(number)

    def action_change_role(self) -> None:
        """Make a target a control, or the other way round."""
        number = self._under_cursor()
        if number is not None:
            self._controls ^= {number}
            self._picked |= {number}
            self._show_drive(number)

    def on_input_submitted(self) -> None:
        """Enter in a field goes to the next one."""
        self.focus_next()

    def on_test_row_changed(self, event: TestRow.Changed) -> None:
        """A test was chosen, left out, or works elsewhere now."""
        event.stop()
        self._show_what_it_does()

    @override
    def choose(self, choice_id: str) -> None:
        if self._checking:
            return
        problem = self._find_problem()
        self.query_one("#problem", Line).show(problem or "Checking ...")
        if not problem:
            self._checking = True
            # The app's worker, not this box's: then the app tells what goes wrong in it.
            flow = self._check_and_leave(self._read())
            self.app.run_worker(flow, group="check", exit_on_error=False)

    async def _check_and_leave(self, composed: ComposedCampaign) -> None:
        problem = self.query_one("#problem", Line)
        try:
            mistakes = await self._check(composed)
        except Exception:
            problem.show("Internal error: the plan could not be checked.")
            raise
        finally:
            self._checking = False
        if not self.is_current:
            return  # somebody left meanwhile
        if mistakes:
            self._show_mistakes(mistakes)
        else:
            self.dismiss(composed)

    def _read(self) -> ComposedCampaign:
        rows = [row for row in self.query(WorkloadRow) if row.on]
        return ComposedCampaign(
            name=self.query_one("#name", Field).value.strip(),
            drives=tuple(self._drives[number] for number in sorted(self._picked)),
            controls=frozenset(self._drives[number].raw_identity for number in self._controls),
            boot=self.query_one(BootRow).read(),
            workloads=tuple(row.read() for row in rows),
            writes=self._writes(),
        )

    def _find_problem(self) -> str:
        """What is missing before there is a plan to check at all."""
        boot = self.query_one(BootRow)
        if not self._picked:
            return "Pick at least one drive (Space)."
        if not self._chosen():
            return "Choose at least one test (Space)."
        return boot.find_mistake() if boot.on else ""

    def _show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """Each by its test; the rest below."""
        chosen = [row for row in self._chosen() if isinstance(row, WorkloadRow)]
        owners: dict[TestRow, list[Mistake]] = {row: [] for row in self.query(TestRow)}
        others = []
        for mistake in mistakes:
            if mistake.table == "boot":
                owners[self.query_one(BootRow)].append(mistake)
            elif mistake.table == "workload" and mistake.index < len(chosen):
                owners[chosen[mistake.index]].append(mistake)
            else:
                others.append(mistake.text)
        for row, own in owners.items():
            row.show_mistakes(own)
        self.query_one("#problem", Line).show(
            "\n".join(others) or "Nothing was started: see above (!)."
        )
        for row, own in owners.items():
            if own:
                row.focus_mistake(own[0])
                break

    def _chosen(self) -> list[TestRow]:
        return [row for row in self.query(TestRow) if row.on]

    def _writes(self) -> bool:
        return any(row.writes for row in self._chosen())

    def _show_what_it_does(self) -> None:
        """Whether anything is lost, which must be plain before anybody goes on."""
        text = "No test is chosen yet."
        if self._writes():
            text = "EVERYTHING ON THE PICKED DRIVES WILL BE LOST, once you have released each."
        elif self._chosen():
            text = "NOTHING IS WRITTEN: these tests only read, so no drive has to be released."
        self.query_one("#writes", Line).show(text)
        only_reads = bool(self._chosen()) and not self._writes()
        self.query_one("#continue", Choice).relabel("Start" if only_reads else "Continue")
        self.query_one("#problem", Line).show("")
        boot, hint = self.query_one(BootRow), self.query_one("#hint", Line)
        alone = boot.on and boot.power == "cold" and not self._can_wake
        hint.show(
            "NOTE: this machine cannot wake itself; somebody must switch it on each time."
            if alone
            else ""
        )
        hint.display = alone

    def _under_cursor(self) -> int | None:
        table: DataTable[Text] = self.query_one(DataTable)
        is_drive = table.has_focus and 0 <= table.cursor_row < len(self._drives)
        return table.cursor_row if is_drive else None

    def _show_drive(self, number: int) -> None:
        self.query_one(DataTable).update_cell(str(number), "drive", self._row(number))

    def _row(self, number: int) -> Text:
        drive = self._drives[number]
        mark = "[x]" if number in self._picked else "[ ]"
        role = "control" if number in self._controls else "target"
        text = (
            f"{mark} {shorten(drive.model, 20):20} {shorten(drive.identity, 20):20}"
            f" {drive.size:>7} {drive.kind:5} {shorten(drive.device, 7):7}"
            f" {role if number in self._picked else ''}"
        )
        return Text(shorten(text, _WIDTH), no_wrap=True)
