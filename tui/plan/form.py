# SPDX-License-Identifier: Apache-2.0
"""The form of a campaign: its drives, its tests and their main settings.

It checks, keeps and releases nothing.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, override

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from tui.charset import shorten
from tui.drives.table import AT_ONCE, DriveTable
from tui.language import N_, _
from tui.model import roles
from tui.model.draft import DraftCampaign, Mistake, PlanTable
from tui.model.drives import DriveRow
from tui.model.more_settings import MoreSettings
from tui.model.roles import Role, Roles
from tui.model.templates import FormState, Template
from tui.plan.array import (
    ArrayAnswer,
    ArrayDialog,
    ArrayDrives,
    ArrayRow,
    ArraySettings,
)
from tui.plan.drive_label import LabelDialog
from tui.plan.more_settings import (
    AtTheEnd,
    MoreSettingsDialog,
    MoreSettingsLine,
    is_in_more_settings,
)
from tui.plan.workload_row import Place, TestRow, WorkloadRow, find_places
from tui.plan.workload_rows import BootRow, KindRow
from tui.port.keys import read_kinds
from tui.port.releases import Work, is_written, list_draft_work, starts_installed
from tui.widgets.choice import Choice
from tui.widgets.dialog import FormDialog
from tui.widgets.field import Field
from tui.widgets.line import Line

_TALL = 26
"""Lines of a screen from which the form is in paragraphs."""
_LOSS_WIDTH = 60
"""For the drives that lose everything: buttons stay in sight, and each release names its drive."""


class CampaignForm(FormDialog[DraftCampaign]):
    """Only drives that are offered and can be identified are listed."""

    AUTO_FOCUS = "DriveTable"
    KEYS = N_("Tab next  F2 how long  F3 save  Esc leave")
    BINDINGS: ClassVar[list[BindingType]] = [
        # Before anything has the focus: the form is drawn sooner than that, on a slow machine.
        *(Binding(key, action, show=False) for key, action in AT_ONCE.items()),
        Binding("f4", "turn_end", show=False),
        Binding("f5", "open_more_settings", show=False),
    ]

    def __init__(
        self,
        drives: tuple[DriveRow, ...],
        *,
        can_wake: bool,
        more_settings: MoreSettings,
        template: Template | None,
        kept: FormState | None,
    ) -> None:
        template = kept.template if kept else template
        title = kept.name if kept else _(template.label) if template else _("New campaign")
        super().__init__(f" {title} ")
        self._drives = tuple(drive for drive in drives if drive.releasable)
        self._roles: Roles = {}
        self._labels: dict[int, str] = {}
        self._places: tuple[Place, ...] = ()
        self._can_wake = can_wake
        self._more_settings = kept.more_settings if kept else more_settings
        self._template = template
        self._kept = kept

    @override
    def compose_box(self) -> ComposeResult:
        yield Line(_("Space selects  + all  - none  m same model  s same size  c, a role  l label"))
        yield DriveTable(self._drives)
        with Horizontal(classes="field gap"):
            yield Line(_("Name"))
            yield Field(_("drive comparison"), id="name")
            yield AtTheEnd()
        yield ArrayRow()
        with Vertical(id="tests"):
            yield BootRow()
            for kind in read_kinds():
                yield KindRow(kind)
        yield MoreSettingsLine(self._more_settings)
        yield Line(id="hint")
        with Vertical(id="in-sight"):
            yield Line(id="writes")
            yield Line(id="problem")
            with Horizontal(classes="buttons"):
                yield Choice(_("Cancel"), id="cancel")
                yield Choice(_("Continue"), id="continue")

    def on_resize(self) -> None:
        """On a small screen nothing is empty: the keys of the list must be in sight."""
        self.set_class(self.app.size.height < _TALL, "dense")

    def on_mount(self) -> None:
        """Begin with no drive, or with what a template or a kept plan has."""
        self._show_array()
        self._show_what_it_does()
        if self._template is not None:
            # The rows' own parts are mounted after this.
            self.call_after_refresh(self._fill, self._template)

    def _fill(self, template: Template) -> None:
        state = self._kept
        name = state.name if state else _(template.label).lower()
        self.query_one("#name", Field).value = name
        for row in self.query(TestRow):
            row.fill(template.tests.get(row.kind))
        if state is not None:
            self._labels = {
                number: state.labels[drive.raw_identity]
                for number, drive in enumerate(self._drives)
                if state.labels.get(drive.raw_identity)
            }
        self._give(
            {
                number: template.roles[drive.raw_identity]
                for number, drive in enumerate(self._drives)
                if drive.raw_identity in template.roles
            }
        )
        if state is not None:
            self.query_one(AtTheEnd).take(state.on_finish)
            self._fill_array(state)

    def _fill_array(self, kept: FormState) -> None:
        if kept.array is not None:
            self.query_one(ArrayRow).take(ArraySettings.from_table(kept.array))
            self._show_array()
        for row in self.query(WorkloadRow):
            on = kept.template.tests.get(row.kind, {}).get("on", ())
            row.take_place(on if isinstance(on, tuple) else (str(on),))
        self._show_what_it_does()

    def action_turn_end(self) -> None:
        """Another thing to do when all is done."""
        self.query_one(AtTheEnd).turn()

    def action_open_more_settings(self) -> None:
        """What no row of the form sets."""
        line = self.query_one(MoreSettingsLine)
        is_there = {"boot": self.query_one(BootRow).on, "array": self._array() is not None}
        unused = [table for table, is_used in is_there.items() if not is_used]
        dialog = MoreSettingsDialog(line.more_settings, unused=unused, mistakes=line.mistakes)
        self.app.push_screen(dialog, self._take_more_settings)

    def _take_more_settings(self, more_settings: MoreSettings | None) -> None:
        if more_settings is not None:
            self.query_one(MoreSettingsLine).take(more_settings)
            self._show_what_it_does()

    def on_data_table_row_selected(self) -> None:
        """Enter."""
        self.action_pick()

    def action_pick(self) -> None:
        """Pick the drive under the cursor, or leave it out again."""
        self._turn(roles.turn_pick)

    def action_pick_all(self) -> None:
        """Pick all drives but those with a system on them."""
        if self._under_cursor() is not None:
            self._pick_also(lambda _: True)

    def action_pick_none(self) -> None:
        """Leave all drives out."""
        if self._under_cursor() is not None:
            self._give({})

    def action_pick_model(self) -> None:
        """Pick all of the model of the one under the cursor."""
        number = self._under_cursor()
        if number is not None:
            self._pick_also(lambda drive: drive.raw_model == self._drives[number].raw_model)

    def action_pick_size(self) -> None:
        """Pick all of the size of the one under the cursor."""
        number = self._under_cursor()
        if number is not None:
            self._pick_also(lambda drive: drive.size_bytes == self._drives[number].size_bytes)

    def _pick_also(self, is_wanted: Callable[[DriveRow], bool]) -> None:
        """Never what may be the machine's own system: a person picks that alone."""
        numbers = [
            number
            for number, drive in enumerate(self._drives)
            if is_wanted(drive) and not drive.holds_a_system
        ]
        self._give(roles.pick_also(self._roles, numbers))

    def action_take_control(self) -> None:
        """Make a drive a control, or a control a target."""
        self._turn(roles.turn_control)

    def action_take_into_array(self) -> None:
        """Put a drive into the array, or into its other place, or out of it."""

        def turn(before: Roles, number: int) -> dict[int, Role]:
            return roles.turn_member(before, number, is_disk=self._drives[number].rotational)

        self._turn(turn)

    def action_label(self) -> None:
        """Say what the drive under the cursor is called."""
        number = self._under_cursor()
        if number is None:
            return

        def take(label: str | None) -> None:
            if label is not None:
                self._labels = {**self._labels, number: label}
                self._give(self._roles)

        dialog = LabelDialog(self._drives[number], self._labels.get(number, ""))
        self.app.push_screen(dialog, take)

    def _turn(self, change: Callable[[Roles, int], dict[int, Role]]) -> None:
        number = self._under_cursor()
        if number is not None:
            self._give(change(self._roles, number))

    def _give(self, wanted: Roles) -> None:
        """Each drive has its role now; what depends on it is shown again."""
        self._roles = wanted
        self.query_one(DriveTable).show_roles(wanted, self._labels)
        self._show_array()
        self._show_what_it_does()

    def on_test_row_changed(self, event: TestRow.Changed) -> None:
        """A test was chosen, left out, or works elsewhere now."""
        event.stop()
        self._show_what_it_does()

    def _read(self, *, only: PlanTable | None = None) -> DraftCampaign:
        """What was composed, or of its tests `only` that one, to be checked."""
        rows = self._chosen_workloads()
        return DraftCampaign(
            name=self.query_one("#name", Field).value.strip(),
            drives=tuple(self._drives[number] for number in sorted(self._roles)),
            roles={
                self._drives[number].raw_identity: self._roles[number] for number in self._roles
            },
            boot=self.query_one(BootRow).read() if only is None else None,
            workloads=tuple(row.read() for row in rows) if only is None else (only,),
            on_finish=self.query_one(AtTheEnd).on_finish,
            array=self.query_one(ArrayRow).settings.to_table() if self._array() else None,
            more_settings=self.query_one(MoreSettingsLine).more_settings.tables,
            labels={
                self._drives[number].raw_identity: label
                for number, label in self._labels.items()
                if label and number in self._roles
            },
        )

    def _chosen_workloads(self) -> list[WorkloadRow]:
        """In the order of the template or kept plan; what it lacks comes behind, as it is shown."""
        order = list(self._template.tests) if self._template else []
        rows = [row for row in self.query(WorkloadRow) if row.on]
        return sorted(rows, key=lambda row: [*order, row.kind].index(row.kind))

    def _find_problem(self) -> str:
        """What is missing before there is a plan to check at all."""
        boot = self.query_one(BootRow)
        if not self._roles:
            return _("Select at least one drive (Space).")
        if roles.has_members(self._roles) and self._array() is None:
            return _("An array needs a backing drive and a cache drive: press a on a second one.")
        if not self._chosen():
            return _("Choose at least one test (Space).")
        return boot.find_mistake() if boot.on else ""

    def _show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """Each by its test; the rest below."""
        chosen = self._chosen_workloads()
        owners: dict[TestRow, list[Mistake]] = {row: [] for row in self.query(TestRow)}
        others, of_array = [], []
        elsewhere = [mistake for mistake in mistakes if is_in_more_settings(mistake)]
        for mistake in mistakes:
            if mistake in elsewhere:
                continue
            if mistake.table == "array":
                of_array.append(mistake)
            elif mistake.table == "boot":
                owners[self.query_one(BootRow)].append(mistake)
            elif mistake.table == "workload" and mistake.index < len(chosen):
                owners[chosen[mistake.index]].append(mistake)
            else:
                others.append(mistake.text)
        self.query_one(MoreSettingsLine).show_mistakes(elsewhere)
        self.query_one(ArrayRow).show_mistakes(of_array)
        for row, row_mistakes in owners.items():
            row.show_mistakes(row_mistakes)
        self.query_one("#problem", Line).show(
            "\n".join(others) or _("Nothing was started: see above (!).")
        )
        if of_array:
            self.query_one("#array-settings").focus()
            return
        for row, row_mistakes in owners.items():
            if row_mistakes:
                row.focus_mistake(row_mistakes[0])
                break

    def _chosen(self) -> list[TestRow]:
        return [row for row in self.query(TestRow) if row.on]

    def _list_works(self) -> tuple[Work, ...]:
        """All that would be done, complete or not."""
        return list_draft_work(
            (row.read() for row in self.query(WorkloadRow) if row.on),
            installs=self.query_one(BootRow).installs and not self._starts_installed(),
            has_array=roles.has_members(self._roles),
        )

    def _starts_installed(self) -> bool:
        more_settings = self.query_one(MoreSettingsLine).more_settings.tables
        return self.query_one(BootRow).installs and starts_installed({}, more_settings)

    def _describe_loss(self) -> str:
        """What is lost for good once it is released; empty where nothing is."""
        if self._starts_installed():
            return _("THE SYSTEMS ON THE DRIVES ARE STARTED, AND WRITE TO THEM.")
        works = self._list_works()
        numbers = [
            number
            for number, role in self._roles.items()
            if is_written(works, self._drives[number], role)
        ]
        if numbers and all(self._roles[number] in roles.MEMBERS for number in numbers):
            return _("EVERYTHING ON THE ARRAY'S DRIVES WILL BE LOST, once you have released both.")
        if 0 < len(numbers) < len(self._roles):
            names = ", ".join(self._drives[number].identity for number in sorted(numbers))
            text = _("EVERYTHING ON {drives} WILL BE LOST, once you have released each.")
            return text.format(drives=shorten(names, _LOSS_WIDTH))
        if any(work.writes for work in works):
            return _("EVERYTHING ON THE SELECTED DRIVES WILL BE LOST, once you have released each.")
        return ""

    def _array(self) -> ArrayDrives | None:
        """The two drives of the array; None as long as one is missing."""
        backing, cache = (roles.find_holder(self._roles, role) for role in roles.MEMBERS)
        if backing is None or cache is None:
            return None
        return ArrayDrives(backing=self._drives[backing], cache=self._drives[cache])

    def _set_array(self) -> None:
        array, row = self._array(), self.query_one(ArrayRow)
        if array is not None:
            dialog = ArrayDialog(array, row.settings, row.mistakes)
            self.app.push_screen(dialog, self._take_array)

    def _take_array(self, answer: ArrayAnswer | None) -> None:
        if answer is None:
            return
        self.query_one(ArrayRow).take(answer.settings)
        new_roles = dict(self._roles)
        new_roles[self._drives.index(answer.drives.backing)] = "backing"
        new_roles[self._drives.index(answer.drives.cache)] = "cache"
        self._give(new_roles)

    def _show_what_it_does(self) -> None:
        """Whether anything is lost, which must be plain before anybody goes on."""
        loss, has_tests = self._describe_loss(), bool(self._chosen())
        text = _("No test is chosen yet.")
        if has_tests:
            text = _("NOTHING IS WRITTEN: these tests only read, so no release is needed.")
        only_reads = has_tests and not loss
        writes = self.query_one("#writes", Line)
        writes.show(loss or text)
        writes.set_class(only_reads, "harmless")
        self.query_one("#continue", Choice).relabel(_("Start") if only_reads else _("Continue"))
        self.query_one("#problem", Line).show("")
        boot, hint = self.query_one(BootRow), self.query_one("#hint", Line)
        hints = []
        if boot.on and self._array() is not None:
            hints.append(_("The small system is also installed on the array and booted from it."))
        if boot.on and "cold" in boot.power and not self._can_wake:
            hints.append(_("NOTE: this machine does not wake itself; you are asked how to go on."))
        chosen = [row for row in self.query(WorkloadRow) if row.on]
        if chosen and not any(row.list_own() for row in chosen):
            hints.append(_("F6 in a test: all of its settings."))
        hint.show("\n".join(hints))
        hint.display = bool(hints)

    def _under_cursor(self) -> int | None:
        table = self.query_one(DriveTable)
        is_at_table = table.has_focus or self.focused is None
        is_drive = is_at_table and 0 <= table.cursor_row < len(self._drives)
        return table.cursor_row if is_drive else None

    def _show_array(self) -> None:
        """Whether there is an array, and where each test may run then."""
        array = self._array()
        self.query_one(ArrayRow).show_array(
            is_there=roles.has_members(self._roles), is_whole=array is not None
        )
        has_others = roles.has_others(self._roles)
        places = find_places(array, has_others=has_others) if array else ()
        if places != self._places:
            self._places = places
            for row in self.query(WorkloadRow):
                row.offer_places(places)
