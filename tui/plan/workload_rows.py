"""The tests of a composed campaign, each a row of the form with its main settings.

Owns what is offered and the words for it; what the settings may be is the plan's to say.
"""

from dataclasses import dataclass
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal

from tui.language import N_, _
from tui.model.draft import BOOT_KEYS, PlanTable, PlanValue
from tui.plan.workload_row import TestRow, WorkloadRow, find_next
from tui.port.keys import read_keys, show_value
from tui.port.releases import does_table_write
from tui.widgets.choice import Choice
from tui.widgets.field import Field
from tui.widgets.line import Line

_READING = ("seq-read", "rand-read")
_COMPARED = ("writethrough", "writeback", "writearound")
_MODES = {False: N_("in one cache mode"), True: N_("in three cache modes")}
_OWN_MODES = N_("in cache modes of its own")
_POWER = {"cold": N_("cold: off, wake by clock"), "warm": N_("warm: restart")}
_BOOT_MODES = {
    "install": N_("mode: install"),
    "replay": N_("mode: replay"),
}
_CHARTS = {
    "first-last": N_("charts: first-last"),
    "none": N_("charts: none"),
    "all": N_("charts: all"),
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a test works on what it runs on."""

    label: str
    file_system: str
    writes: bool


_BARE_READING = _Layout(N_("bare drive, only reads"), "none", writes=False)
_BARE = _Layout(N_("bare drive, reads and writes"), "none", writes=True)
_ON = (
    _Layout(N_("files on ext4"), "ext4", writes=True),
    _Layout(N_("files on xfs"), "xfs", writes=True),
    _Layout(N_("files on btrfs"), "btrfs", writes=True),
)


@dataclass(frozen=True, slots=True)
class _Offer:
    """One kind of workload as the form offers it."""

    kind: str
    label: str
    does: str
    key: str
    setting: str
    layouts: tuple[_Layout, ...]
    offered: str = ""
    """What the form begins with where a plan has no default."""
    narrows_tests: bool = False
    """Whether only reading means leaving out the tests that write."""
    has_modes: bool = False
    """Whether it can compare cache modes of an array."""


OFFERS = (
    _Offer(
        kind="lottery",
        label=N_("Lottery"),
        does=N_("files drawn by tickets: who answers, drive or RAM?"),
        key="file_size",
        setting=N_("File size"),
        layouts=(_BARE_READING, *_ON),
    ),
    _Offer(
        kind="fio",
        label=N_("fio"),
        does=N_("sequential and random, read and write"),
        key="size",
        setting=N_("Size"),
        layouts=(_BARE_READING, _BARE, *_ON),
        narrows_tests=True,
        has_modes=True,
    ),
    _Offer(
        kind="matrix",
        label=N_("Matrix"),
        does=N_("file sizes by record sizes by operations"),
        key="free_ram",
        setting=N_("Free RAM"),
        offered="1G",
        layouts=_ON,
    ),
    _Offer(
        kind="sweep",
        label=N_("Sweep"),
        does=N_("working sets from a quarter to twice a cache"),
        key="cache_size",
        setting=N_("Cache size"),
        offered="1G",
        layouts=(_BARE_READING, _BARE, *_ON),
        narrows_tests=True,
    ),
    _Offer(
        kind="sql",
        label=N_("SQL"),
        does=N_("five timed phases of a database"),
        key="data_size",
        setting=N_("Data size"),
        layouts=_ON,
    ),
)


class BootRow(TestRow):
    """Boot timing; its settings take two lines."""

    def __init__(self) -> None:
        super().__init__(
            "boot",
            label=N_("Boot timing"),
            does=N_("a small system is installed and booted"),
            on=True,
        )
        self._keys = {each.name: each for each in read_keys("boot")}
        self._power, self._charts, self._mode = (
            str(self._keys[each].default) for each in ("power", "charts", "mode")
        )

    @override
    def compose(self) -> ComposeResult:
        yield from super().compose()
        with Horizontal(classes="line settings more"):
            yield Choice(_(_POWER[self._power]), id="power")
            yield Choice(_(_CHARTS[self._charts]), id="charts")
            yield Choice(_(_BOOT_MODES[self._mode]), id="mode")

    @override
    def compose_settings(self) -> ComposeResult:
        yield Line(_("Boots"), classes="setting")
        yield self._compose_field("cycles", max_length=8)
        yield Line(_("Boot set"), classes="setting")
        yield self._compose_field("boot_set", max_length=12)

    def _compose_field(self, key: str, *, max_length: int) -> Field:
        offered = show_value(self._keys[key].default)
        return Field(offered, id=key.removeprefix("boot_"), name=key, max_length=max_length)

    @property
    def power(self) -> str:
        """`cold` or `warm`."""
        return self._power

    @property
    def installs(self) -> bool:
        """Whether it writes to the drives."""
        return self.on and self._mode == "install"

    @override
    def turn(self, choice: Choice) -> None:
        if choice.id == "power":
            self._power = find_next(tuple(_POWER), self._power)
            choice.relabel(_(_POWER[self._power]))
        elif choice.id == "mode":
            self._mode = find_next(tuple(_BOOT_MODES), self._mode)
            choice.relabel(_(_BOOT_MODES[self._mode]))
        else:
            self._charts = find_next(tuple(_CHARTS), self._charts)
            choice.relabel(_(_CHARTS[self._charts]))

    @override
    def fill(self, settings: PlanTable | None) -> None:
        if settings:
            self._power = str(settings.get("power", self._power))
            self._charts = str(settings.get("charts", self._charts))
            self._mode = str(settings.get("mode", self._mode))
            self.query_one("#mode", Choice).relabel(_(_BOOT_MODES[self._mode]))
            self.query_one("#power", Choice).relabel(_(_POWER[self._power]))
            self.query_one("#charts", Choice).relabel(_(_CHARTS[self._charts]))
        super().fill(settings)

    def find_mistake(self) -> str:
        """What cannot even be written down as a plan; empty where all can."""
        cycles = self._value("cycles")
        most = int(self._keys["cycles"].bounds.rpartition(" ")[2])
        if not (cycles.isascii() and cycles.isdecimal() and 1 <= int(cycles) <= most):
            return _("Boots per drive: a number from 1 to {most}.").format(most=most)
        return ""

    def read(self) -> PlanTable | None:
        """What was chosen, once `find_mistake` found none; None where it is left out."""
        if not self.on:
            return None
        cycles, boot_set = int(self._value("cycles")), self._value("set")
        values = (cycles, self._power, self._mode, boot_set, self._charts)
        table: dict[str, PlanValue] = dict(zip(BOOT_KEYS, values, strict=True))
        if self._mode == "replay" and self._charts != "none":
            del table["charts"]  # no other system starts
        return table

    def _value(self, field_id: str) -> str:
        return self.query_one(f"#{field_id}", Field).value.strip()


class SizedRow(WorkloadRow):
    """A workload of one size on the bare drive or in files."""

    def __init__(self, offer: _Offer) -> None:
        super().__init__(offer.kind, label=offer.label, does=offer.does)
        self._offer = offer
        self._layout = offer.layouts[0]
        self._compares_modes = False

    @override
    def compose_more(self) -> ComposeResult:
        if self._offer.has_modes:
            yield Choice(_(_MODES[False]), id=f"{self.kind}-modes", name="modes")

    @override
    def compose_settings(self) -> ComposeResult:
        offer = self._offer
        yield Line(_(offer.setting), classes="setting")
        yield self.compose_field(offer.key, offered=offer.offered, field_id=f"{offer.kind}-size")
        yield Choice(_(self._layout.label), id=f"{offer.kind}-place", name="filesystem")

    @override
    def turn(self, choice: Choice) -> None:
        if choice.name == "filesystem":
            self._layout = find_next(self._list_layouts(), self._layout)
            if self._layout.file_system == "none":
                self.forget("tests")  # it says which, between them
            choice.relabel(_(self._layout.label))
            self._show_state()
        elif choice.name == "modes":
            self._compares_modes = not self._compares_modes and not self.forget("modes")
            self._show_state()
        else:
            super().turn(choice)

    def _list_layouts(self) -> list[_Layout]:
        """Those that say what is done: a job of one's own may read alone, or must write."""
        offer, own = self._offer, self.list_own()
        if not offer.narrows_tests:
            return [*offer.layouts]
        bare: PlanTable = {"kind": self.kind, **own, "filesystem": "none", "tests": _READING}
        must_write, has_job = does_table_write(bare), bool(own.get("options"))
        return [
            each
            for each in offer.layouts
            if each.file_system != "none"
            or each.writes == must_write
            or (each.writes and not has_job)
        ]

    @override
    def fill(self, settings: PlanTable | None) -> None:
        if settings:
            self._layout = self._find_layout(settings)
            self.query_one(f"#{self.kind}-place", Choice).relabel(_(self._layout.label))
            self._compares_modes = settings.get("modes") == _COMPARED
        super().fill(settings)
        if self._compares_modes:
            self.forget("modes")

    def _find_layout(self, settings: PlanTable) -> _Layout:
        """The one that comes nearest; the offered one where nothing is said."""
        fitting = [
            each for each in self._offer.layouts if each.file_system == settings.get("filesystem")
        ]
        writes = does_table_write({"kind": self.kind, **settings})
        wanted = [each for each in fitting if each.writes or not writes]
        return next(iter([*wanted, *fitting]), self._layout)

    @override
    def read_settings(self) -> PlanTable:
        offer = self._offer
        table: dict[str, PlanValue] = {}
        if offer.narrows_tests and not self._layout.writes:
            table["tests"] = _READING
        table[offer.key] = self.query_one(Field).value.strip()
        table["filesystem"] = self._layout.file_system
        if self._is_on_array_alone() and self._compares_modes:
            table["modes"] = _COMPARED
        return table

    @override
    def shorten(self, table: PlanTable) -> PlanTable:
        if table.get("options") and table.get("tests") == _READING:
            # That is how the layout puts it; a job takes the place of tests.
            table = {**table, "tests": self.keys["tests"].default}
        return super().shorten(table)

    @override
    def _show_state(self) -> None:
        super()._show_state()
        if self._offer.has_modes:
            modes = self.query_one(f"#{self.kind}-modes", Choice)
            has_own = "modes" in self.list_own()
            modes.relabel(_(_OWN_MODES if has_own else _MODES[self._compares_modes]))
            modes.display = self._is_on_array_alone()
