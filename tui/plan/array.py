# SPDX-License-Identifier: Apache-2.0
"""The array of a draft: a line of the form, and a page of its settings.

Owns what the modes and the kernel's own values mean; the keys are the plan's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tui.charset import shorten, shorten_name
from tui.language import N_, _
from tui.model.draft import Mistake, PlanTable
from tui.model.drives import DriveRow
from tui.model.plan_keys import PlanKey
from tui.port.keys import read_keys, show_value
from tui.widgets.choice import Choice, find_next
from tui.widgets.dialog import FormDialog
from tui.widgets.field import Field
from tui.widgets.line import Line, Mistakes

_MODES = {
    "writeback": N_("writeback: to the cache drive first"),
    "writethrough": N_("writethrough: to both drives"),
    "writearound": N_("writearound: to the backing drive alone"),
    "none": N_("none: without the cache"),
}
"""How bcache writes in each mode."""
_LOSES_DIRTY = N_("If the cache drive dies, data that was not yet written back is lost.")
_LOSES_NOTHING = N_("If the cache drive dies, nothing is lost: the backing drive has everything.")
_BYPASSED = ("sequential_cutoff", "congested_read_threshold_us", "congested_write_threshold_us")
# drivers/md/bcache: bch_cached_dev_init (4 << 20), bch_cache_set_alloc (2000, 20000).
_KERNEL = dict(zip(_BYPASSED, ("4M", "2000", "20000"), strict=True))
_ABSENT = "auto"
"""How a key without a value is shown."""
_BYPASSES = {
    "nothing": N_("For benchmarking: nothing bypasses the cache (cut-off and thresholds 0)."),
    "kernel": N_("The kernel's own: long runs bypass the cache, everything does while it is slow."),
    "own": N_("Your own values decide what bypasses the cache; 0: nothing does for that reason."),
}
_BYPASSES_SHORT = {
    "nothing": N_("nothing bypasses the cache"),
    "kernel": N_("bypasses as the kernel has it"),
    "own": N_("bypasses by your own values"),
}


@cache
def _list_keys() -> Mapping[str, PlanKey]:
    """Those that are set here: with words for it, or a few values to choose from."""
    return {key.name: key for key in read_keys("array") if key.words or key.choices}


@cache
def _list_defaults() -> Mapping[str, str]:
    """For measuring: nothing bypasses the cache."""
    return {name: show_value(key.default) or _ABSENT for name, key in _list_keys().items()}


@dataclass(frozen=True, slots=True)
class ArraySettings:
    """The keys of the plan's `[array]`, as they were typed."""

    typed: Mapping[str, str] = field(default_factory=_list_defaults)

    def to_table(self) -> PlanTable:
        """The plan's table; what should be a number and is none stays as it was typed."""
        values = {key: _to_value(value) for key, value in self.typed.items()}
        if values["block"] in {_ABSENT, ""}:
            del values["block"]
        return {"kind": "bcache"} | values

    @classmethod
    def from_table(cls, table: PlanTable) -> "ArraySettings":
        """Those of a plan's table; keys that are not set here are left out."""
        return cls({key: str(table.get(key, value)) for key, value in _list_defaults().items()})

    @property
    def mode(self) -> str:
        """The cache's."""
        return self.typed["cache_mode"]

    @property
    def bypass(self) -> str:
        """What does not go through the cache: `nothing`, or as `kernel` or `own` values say."""
        values = {key: self.typed[key] for key in _BYPASSED}
        if values == {key: _list_defaults()[key] for key in _BYPASSED}:
            return "nothing"
        return "kernel" if values == _KERNEL else "own"

    def take(self, values: Mapping[str, str]) -> "ArraySettings":
        """With others typed."""
        return ArraySettings({**self.typed, **values})


def _to_value(typed: str) -> str | int:
    is_number = typed.isascii() and typed.isdecimal()
    return int(typed) if is_number else typed


class ArrayRow(Vertical):
    """The array in the form: there once a drive was put into it."""

    def __init__(self) -> None:
        super().__init__(id="row-array", classes="test")
        self.settings = ArraySettings()
        self.mistakes: tuple[Mistake, ...] = ()

    @override
    def compose(self) -> ComposeResult:
        with Horizontal(classes="line"):
            yield Line(" " + _("Array"), classes="label")
            yield Choice(_("Settings"), id="array-settings")
            yield Line(classes="does")
        yield Mistakes()

    def on_mount(self) -> None:
        """There is none yet."""
        self.show_mistakes(())

    def take(self, settings: ArraySettings) -> None:
        """Other settings."""
        self.settings = settings
        self.show_mistakes(())

    def show_array(self, *, is_there: bool, is_whole: bool) -> None:
        """Whether there is one, and whether it has both of its drives."""
        self.display = is_there
        self.query_one("#array-settings").display = is_whole
        settings = self.settings
        self.query_one(".does", Line).show(
            f"{settings.mode}; {_(_BYPASSES_SHORT[settings.bypass])}"
            if is_whole
            else _("needs one more drive: press a on it")
        )

    def show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """What is wrong with the array, in the plan's words."""
        self.mistakes = tuple(mistakes)
        self.query_one(Mistakes).tell(mistake.text for mistake in mistakes)


@dataclass(frozen=True, slots=True)
class ArrayDrives:
    """Which drive does what."""

    backing: DriveRow
    cache: DriveRow


@dataclass(frozen=True, slots=True)
class ArrayAnswer:
    """What was set."""

    settings: ArraySettings
    drives: ArrayDrives


class ArrayDialog(FormDialog[ArrayAnswer]):
    """The page of the array's settings; they are checked with the whole plan."""

    AUTO_FOCUS = "#cache-mode"

    def __init__(
        self, drives: ArrayDrives, settings: ArraySettings, mistakes: Sequence[Mistake]
    ) -> None:
        super().__init__(_(" Array "))
        self._drives = drives
        self._settings = settings
        self._mistakes = tuple(mistakes)

    @override
    def compose_box(self) -> ComposeResult:
        yield Line(id="members")
        yield Choice(_("Swap the two"), id="swap")
        with Horizontal(classes="line gap"):
            yield Line("cache_mode", classes="name")
            yield Choice(_(_MODES[self._settings.mode]), id="cache-mode", name="cache_mode")
        yield from self._compose_mistake("cache_mode")
        yield Line(id="price")
        for key in ("bucket", "block"):
            yield from self._compose_setting(key)
        yield Line(id="bypass", classes="gap title")
        for key in (*_BYPASSED, "writeback_percent"):
            yield from self._compose_setting(key)
        yield Choice("", id="values")
        yield from self.compose_end()

    def _compose_setting(self, key: str) -> ComposeResult:
        with Horizontal(classes="line"):
            yield Line(key, classes="name")
            yield Field(self._settings.typed[key], id=_id_of(key), name=key, max_length=12)
            yield Line(_(_list_keys()[key].words), classes="does")
        yield from self._compose_mistake(key)

    def _compose_mistake(self, key: str) -> ComposeResult:
        if texts := [mistake.without_key for mistake in self._mistakes if mistake.key == key]:
            yield Mistakes(texts)

    def on_mount(self) -> None:
        """Show what is set, and go to the first mistake."""
        self._show_all()
        wrong = [mistake.key for mistake in self._mistakes]
        for widget in self.query("Choice, Field"):
            if widget.name in wrong:
                widget.focus()
                break

    def on_input_changed(self) -> None:
        """A value was typed."""
        self._read()
        self._show_bypass()

    @override
    def choose(self, choice_id: str) -> None:
        self._read()
        if choice_id == "done":
            self.dismiss(ArrayAnswer(self._settings, self._drives))
        elif choice_id == "swap":
            self._drives = ArrayDrives(backing=self._drives.cache, cache=self._drives.backing)
        elif choice_id == "cache-mode":
            mode = find_next(tuple(_MODES), self._settings.mode)
            self._settings = self._settings.take({"cache_mode": mode})
        elif choice_id == "values":
            for key, value in self._other_values().items():
                self.query_one(f"#{_id_of(key)}", Field).value = value
            self._read()
        self._show_all()

    def _read(self) -> None:
        fields = self.query(Field)
        self._settings = self._settings.take(
            {field.name or "": field.value.strip() for field in fields}
        )

    def _other_values(self) -> Mapping[str, str]:
        if self._settings.bypass == "nothing":
            return _KERNEL
        return {key: _list_defaults()[key] for key in _BYPASSED}

    def _show_all(self) -> None:
        self.query_one("#members", Line).show(
            f"{_describe(_('Backing drive'), self._drives.backing)}\n"
            f"{_describe(_('Cache drive'), self._drives.cache)}"
        )
        mode = self._settings.mode
        self.query_one("#cache-mode", Choice).relabel(_(_MODES[mode]))
        self.query_one("#price", Line).show(
            _(_LOSES_DIRTY) if mode == "writeback" else _(_LOSES_NOTHING)
        )
        self._show_bypass()

    def _show_bypass(self) -> None:
        self.query_one("#bypass", Line).show(_(_BYPASSES[self._settings.bypass]))
        is_kernel = self._other_values() == _KERNEL
        self.query_one("#values", Choice).relabel(
            _("Use the kernel's own values") if is_kernel else _("Use those for benchmarking")
        )


def _describe(what: str, drive: DriveRow) -> str:
    model, identity = shorten(drive.model, 22), shorten_name(drive.identity, 20)
    return f"{what:15}{model:22} {identity:20} {drive.size} {_(drive.kind)}"


def _id_of(key: str) -> str:
    return f"array-{key.replace('_', '-')}"
