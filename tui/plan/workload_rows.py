# SPDX-License-Identifier: Apache-2.0
"""The tests of a draft, each a row of the form with its main settings.

What a workload's row has is declared with its keys in the plan.
"""

from dataclasses import dataclass
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal

from tui.language import N_, _
from tui.model.draft import BOOT_KEYS, PlanTable, PlanValue
from tui.model.plan_keys import PlanKey, PlanKind
from tui.model.status import ARRAY
from tui.plan.workload_row import Place, TestRow, WorkloadRow
from tui.port.keys import read_keys, read_value, show_value
from tui.port.releases import does_table_write
from tui.widgets.choice import Choice, find_next
from tui.widgets.field import Field
from tui.widgets.line import Line

_READING = ("seq-read", "rand-read")
_COMPARED = ("writethrough", "writeback", "writearound")
_MODES = {False: N_("in one cache mode"), True: N_("in three cache modes")}
_BOTH = N_("on both drives of the array, one by one")
_OWN_MODES = N_("in cache modes of its own")
_BOOT_CHOICES = {
    "power": {
        "cold": N_("cold: off, wake by clock"),
        "warm": N_("warm: restart"),
        "cold, warm": N_("cold and warm in turn"),
    },
    "charts": {
        "first-last": N_("charts: first-last"),
        "none": N_("charts: none"),
        "all": N_("charts: all"),
    },
    "mode": {"install": N_("mode: install"), "replay": N_("mode: replay")},
}
"""By key the values that take turns, with their texts; several values as they are joined."""


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


class BootRow(TestRow):
    """Boot timing; its settings take two lines."""

    def __init__(self) -> None:
        super().__init__(
            "boot",
            label=N_("Boot timing"),
            does=N_("a small system is installed and booted"),
            on=True,
        )
        self._keys = {key.name: key for key in read_keys("boot")}
        self._chosen = {name: str(self._keys[name].default) for name in _BOOT_CHOICES}

    @override
    def compose(self) -> ComposeResult:
        yield from super().compose()
        with Horizontal(classes="line settings more"):
            for name, words in _BOOT_CHOICES.items():
                yield Choice(_(words[self._chosen[name]]), id=name)

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
        """`cold`, `warm` or `cold, warm`."""
        return self._chosen["power"]

    @property
    def installs(self) -> bool:
        """Whether it writes to the drives."""
        return self.on and self._chosen["mode"] == "install"

    @override
    def turn(self, choice: Choice) -> None:
        key = choice.id or ""
        words = _BOOT_CHOICES[key]
        self._chosen[key] = find_next(tuple(words), self._chosen[key])
        choice.relabel(_(words[self._chosen[key]]))

    @override
    def fill(self, settings: PlanTable | None) -> None:
        values = {**self._chosen, **(settings or {})}
        for name, words in _BOOT_CHOICES.items():
            value = values[name]
            several = sorted(map(str, value)) if isinstance(value, tuple) else [str(value)]
            self._chosen[name] = ", ".join(several)
            self.query_one(f"#{name}", Choice).relabel(_(words[self._chosen[name]]))
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
        mode, charts = self._chosen["mode"], self._chosen["charts"]
        several = self.power.split(", ")
        power: PlanValue = tuple(several) if len(several) > 1 else self.power
        cycles, boot_set = int(self._value("cycles")), self._value("set")
        values = (cycles, power, mode, boot_set, charts)
        table: dict[str, PlanValue] = dict(zip(BOOT_KEYS, values, strict=True))
        if mode == "replay" and charts != "none":
            del table["charts"]  # no other system starts
        return table

    def _value(self, field_id: str) -> str:
        return self.query_one(f"#{field_id}", Field).value.strip()


class KindRow(WorkloadRow):
    """A workload by its declared keys: fields, values that take turns, and where its data is."""

    def __init__(self, kind: PlanKind) -> None:
        super().__init__(kind.kind, label=kind.label, does=kind.does)
        self._on_array = kind.on_array
        self._shown = [key for key in self.keys.values() if key.in_row]
        self._turned = {key.name: key.default for key in self._shown if key.turns}
        self._narrows_tests = "tests" in self.keys
        self._layouts = self._find_layouts()
        self._layout = self._layouts[0] if self._layouts else None
        self._compares_modes = False

    def _find_layouts(self) -> tuple[_Layout, ...]:
        """On the bare drive it may only read if it does so anyway, or with fewer tests."""
        file_systems = self.keys["filesystem"].choices if "filesystem" in self.keys else ()
        bare: tuple[_Layout, ...] = ()
        if "none" in file_systems:
            writes = does_table_write({"kind": self.kind, "filesystem": "none"})
            bare = (_BARE_READING, _BARE) if self._narrows_tests else (_BARE_READING,)
            bare = bare if self._narrows_tests or not writes else (_BARE,)
        return (*bare, *(layout for layout in _ON if layout.file_system in file_systems))

    @override
    def offer_places(self, places: tuple[Place, ...]) -> None:
        super().offer_places(places if self._on_array else _leave_array_out(places))

    @override
    def compose_more(self) -> ComposeResult:
        if "modes" in self.keys:
            yield Choice(_(_MODES[False]), id=f"{self.kind}-modes", name="modes")

    @override
    def compose_settings(self) -> ComposeResult:
        for key in self._shown:
            if key.label:
                yield Line(_(key.label), classes="setting")
            if key.turns:
                yield Choice(self._show_turned(key), id=self.id_of(key.name), name=key.name)
            else:
                yield self.compose_field(key.name, offered=key.offered)
        if self._layout is not None:
            yield Choice(_(self._layout.label), id=f"{self.kind}-place", name="filesystem")

    def _show_turned(self, key: PlanKey) -> str:
        return _(next(text for value, text in key.turns if value == self._turned[key.name]))

    @override
    def turn(self, choice: Choice) -> None:
        if choice.name == "filesystem" and self._layout is not None:
            self._layout = find_next(self._list_layouts(), self._layout)
            if self._layout.file_system == "none":
                self.forget("tests")  # it says which, between them
            choice.relabel(_(self._layout.label))
            self._show_state()
        elif choice.name == "modes":
            self._compares_modes = not self._compares_modes and not self.forget("modes")
            self._show_state()
        elif choice.name in self._turned:
            key = self.keys[choice.name]
            values = [value for value, _text in key.turns]
            self._turned[key.name] = find_next(values, self._turned[key.name])
            choice.relabel(self._show_turned(key))
        else:
            super().turn(choice)

    def _list_layouts(self) -> list[_Layout]:
        """Those that say what is done: a job of one's own may read alone, or must write."""
        extras = self.list_own()
        if not self._narrows_tests:
            return [*self._layouts]
        bare: PlanTable = {"kind": self.kind, **extras, "filesystem": "none", "tests": _READING}
        must_write, has_job = does_table_write(bare), bool(extras.get("options"))
        return [
            layout
            for layout in self._layouts
            if layout.file_system != "none"
            or layout.writes == must_write
            or (layout.writes and not has_job)
        ]

    @override
    def fill(self, settings: PlanTable | None) -> None:
        if settings:
            for key in self._shown:
                if key.turns:
                    setting = settings.get(key.name, "")
                    if setting in [value for value, _text in key.turns]:
                        self._turned[key.name] = setting
                    choice = self.query_one(f"#{self.id_of(key.name)}", Choice)
                    choice.relabel(self._show_turned(key))
            if self._layout is not None:
                self._layout = self._find_layout(settings, self._layout)
                self.query_one(f"#{self.kind}-place", Choice).relabel(_(self._layout.label))
            self._compares_modes = settings.get("modes") == _COMPARED
        super().fill(settings)
        if self._compares_modes:
            self.forget("modes")

    def _find_layout(self, settings: PlanTable, offered: _Layout) -> _Layout:
        """The one that comes nearest; the offered one where nothing is said."""
        fitting = [
            layout for layout in self._layouts if layout.file_system == settings.get("filesystem")
        ]
        writes = does_table_write({"kind": self.kind, **settings})
        matches = [layout for layout in fitting if layout.writes or not writes]
        return next(iter([*matches, *fitting]), offered)

    @override
    def read_settings(self) -> PlanTable:
        table: dict[str, PlanValue] = {}
        if self._narrows_tests and self._layout is not None and not self._layout.writes:
            table["tests"] = _READING
        for key in self._shown:
            table[key.name] = self._turned[key.name] if key.turns else self._read(key)
        if self._layout is not None:
            table["filesystem"] = self._layout.file_system
        if self._is_on_array_alone() and self._compares_modes:
            table["modes"] = _COMPARED
        return table

    def _read(self, key: PlanKey) -> PlanValue:
        text = self.query_one(f"#{self.id_of(key.name)}", Field).value.strip()
        return read_value(key, text) if key.shape == "number" and text else text

    @override
    def shorten(self, table: PlanTable) -> PlanTable:
        if table.get("options") and table.get("tests") == _READING:
            # That is how the layout puts it; a job takes the place of tests.
            table = {**table, "tests": self.keys["tests"].default}
        return super().shorten(table)

    @override
    def _show_state(self) -> None:
        super()._show_state()
        if "modes" in self.keys:
            modes = self.query_one(f"#{self.kind}-modes", Choice)
            has_own = "modes" in self.list_own()
            modes.relabel(_(_OWN_MODES if has_own else _MODES[self._compares_modes]))
            modes.display = self._is_on_array_alone()


def _leave_array_out(places: tuple[Place, ...]) -> tuple[Place, ...]:
    return tuple(
        Place(_(_BOTH), tuple(name for name in place.on if name != ARRAY)) if place.on else place
        for place in places
        if place.on != (ARRAY,)
    )
