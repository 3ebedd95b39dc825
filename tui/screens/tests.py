"""The tests a campaign can be composed of, each a row of the form with its main settings.

Owns what is offered and the words for it; what the settings may be is the plan's to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from tui.composed import BootChoice, Mistake, PlanTable, PlanValue
from tui.screens.array import ArrayDrives
from tui.state import ARRAY
from tui.widgets.choice import Choice
from tui.widgets.field import Field
from tui.widgets.line import Line
from tui.widgets.toggle import Toggle

_MAX_CYCLES = 1000
_READING = ("seq-read", "rand-read")
_COMPARED = ("writethrough", "writeback", "writearound")
_MODES = {False: "in one cache mode", True: "in three cache modes"}
_POWER = {"cold": "cold: off, wake by clock", "warm": "warm: restart"}
_CHARTS = {"first-last": "charts: first-last", "none": "charts: none", "all": "charts: all"}


@dataclass(frozen=True, slots=True)
class Place:
    """What a test runs on, where an array is composed."""

    label: str
    on: tuple[str, ...]
    """As the plan has it; empty: every target and control."""


def find_places(array: ArrayDrives, *, has_others: bool) -> tuple[Place, ...]:
    """What a test can run on; `has_others`: a target or control was picked too."""
    is_usual = array.backing.rotational and not array.cache.rotational
    parts = "SSD, disk and array" if is_usual else "cache drive, backing drive and array"
    places = (
        Place(f"on {parts}", (array.cache.raw_identity, array.backing.raw_identity, ARRAY)),
        Place("on the array", (ARRAY,)),
    )
    return (*places, Place("on every other drive", ())) if has_others else places


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a test works on what it runs on."""

    label: str
    file_system: str
    writes: bool


_BARE_READING = _Layout("bare drive, only reads", "none", writes=False)
_BARE = _Layout("bare drive, reads and writes", "none", writes=True)
_ON = tuple(_Layout(f"files on {kind}", kind, writes=True) for kind in ("ext4", "xfs", "btrfs"))


@dataclass(frozen=True, slots=True)
class _Offer:
    """One kind of workload as the form offers it."""

    kind: str
    label: str
    does: str
    key: str
    setting: str
    default: str
    layouts: tuple[_Layout, ...]
    narrows_tests: bool = False
    """Whether only reading means leaving out the tests that write."""
    has_modes: bool = False
    """Whether it can compare cache modes of an array."""


OFFERS = (
    _Offer(
        kind="lottery",
        label="Lottery",
        does="files drawn by tickets: who answers, drive or RAM?",
        key="file_size",
        setting="File size",
        default="100M",
        layouts=(_BARE_READING, *_ON),
    ),
    _Offer(
        kind="fio",
        label="fio",
        does="sequential and random, read and write",
        key="size",
        setting="Size",
        default="1G",
        layouts=(_BARE_READING, _BARE, *_ON),
        narrows_tests=True,
        has_modes=True,
    ),
    _Offer(
        kind="matrix",
        label="Matrix",
        does="file sizes by record sizes by operations",
        key="free_ram",
        setting="Free RAM",
        default="1G",
        layouts=_ON,
    ),
    _Offer(
        kind="sweep",
        label="Sweep",
        does="working sets from a quarter to twice a cache",
        key="cache_size",
        setting="Cache size",
        default="1G",
        layouts=(_BARE_READING, _BARE, *_ON),
        narrows_tests=True,
    ),
    _Offer(
        kind="sql",
        label="SQL",
        does="five timed phases of a database",
        key="data_size",
        setting="Data size",
        default="512M",
        layouts=_ON,
    ),
)


class TestRow(Vertical):
    """One test: chosen or not, its settings, and below them what is wrong with them."""

    __test__ = False  # not pytest's

    @dataclass
    class Changed(Message):
        """It was chosen, left out, or works elsewhere now."""

        row: "TestRow"

    def __init__(self, kind: str, *, label: str, does: str, on: bool = False) -> None:
        super().__init__(id=f"row-{kind}", classes="test")
        self.kind = kind
        self.on = on
        self._label = label
        self._does = does

    @override
    def compose(self) -> ComposeResult:
        with Horizontal(classes="line"):
            yield Toggle(self._label, id=f"{self.kind}-on", on=self.on)
            yield Line(self._does, classes="does")
            with Horizontal(classes="settings"):
                yield from self.compose_settings()
        yield Line(classes="mistakes")

    def compose_settings(self) -> ComposeResult:
        """What can be set while the test is chosen."""
        yield from ()

    def on_mount(self) -> None:
        """Show what belongs to the state it starts in."""
        self._show_state()

    def on_choice_pressed(self, event: Choice.Pressed) -> None:
        """Chosen or left out, or one of the settings."""
        event.stop()
        if isinstance(event.choice, Toggle):
            self.on = event.choice.on
            self._show_state()
        else:
            self.turn(event.choice)
        self.post_message(self.Changed(self))

    def turn(self, choice: Choice) -> None:
        """A setting that has a few values takes the next one."""

    @property
    def writes_to_others(self) -> bool:
        """Whether it writes to drives that are not in an array."""
        return True

    def show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """What is wrong with this test, in the plan's words."""
        line = self.query_one(".mistakes", Line)
        line.show("\n".join(f"! {each.text}" for each in mistakes))
        line.display = bool(mistakes)

    def focus_mistake(self, mistake: Mistake) -> None:
        """Go to the field that is to blame, or to the row."""
        named = [each for each in self.query("Field, Choice") if each.name == mistake.key]
        (named[0] if named and named[0].display else self.query_one(Toggle)).focus()

    def _show_state(self) -> None:
        self.query_one(".does").display = not self.on
        self.query_one(".mistakes").display = False
        for settings in self.query(".settings"):
            settings.display = self.on


class BootRow(TestRow):
    """Boot timing; its settings take two lines."""

    def __init__(self) -> None:
        super().__init__(
            "boot", label="Boot timing", does="a small system is installed and started", on=True
        )
        self._power = "cold"
        self._charts = "first-last"

    @override
    def compose(self) -> ComposeResult:
        yield from super().compose()
        with Horizontal(classes="line settings more"):
            yield Choice(_POWER[self._power], id="power")
            yield Choice(_CHARTS[self._charts], id="charts")

    @override
    def compose_settings(self) -> ComposeResult:
        yield Line("Boots", classes="setting")
        yield Field("10", id="cycles", name="cycles", max_length=8)
        yield Line("Boot set", classes="setting")
        yield Field("256M", id="set", name="boot_set", max_length=12)

    @property
    def power(self) -> str:
        """`cold` or `warm`."""
        return self._power

    @override
    def turn(self, choice: Choice) -> None:
        if choice.id == "power":
            self._power = _next(tuple(_POWER), self._power)
            choice.relabel(_POWER[self._power])
        else:
            self._charts = _next(tuple(_CHARTS), self._charts)
            choice.relabel(_CHARTS[self._charts])

    def find_mistake(self) -> str:
        """What cannot even be written down as a plan; empty where all can."""
        cycles = self._value("cycles")
        if not (cycles.isascii() and cycles.isdecimal() and 1 <= int(cycles) <= _MAX_CYCLES):
            return f"Boots per drive: a number from 1 to {_MAX_CYCLES}."
        return ""

    def read(self) -> BootChoice | None:
        """What was chosen, once `find_mistake` found none; None where it is left out."""
        if not self.on:
            return None
        return BootChoice(
            cycles=int(self._value("cycles")),
            power=self._power,
            boot_set=self._value("set"),
            charts=self._charts,
        )

    def _value(self, field_id: str) -> str:
        return self.query_one(f"#{field_id}", Field).value.strip()


class WorkloadRow(TestRow):
    """A workload: its settings, and with an array where it runs."""

    def __init__(self, kind: str, *, label: str, does: str) -> None:
        super().__init__(kind, label=label, does=does)
        self._places: tuple[Place, ...] = ()
        self._place: Place | None = None

    @override
    def compose(self) -> ComposeResult:
        yield from super().compose()
        with Horizontal(classes="line more where"):
            yield Choice("", id=f"{self.kind}-on-what", name="on")
            yield from self.compose_more()

    def compose_more(self) -> ComposeResult:
        """What else can be set where there is an array."""
        yield from ()

    def offer_places(self, places: tuple[Place, ...]) -> None:
        """What it can run on now; without an array there is nothing to choose."""
        labels = [each.label for each in places]
        before = self._place.label if self._place else ""
        self._places = places
        self._place = places[labels.index(before) if before in labels else 0] if places else None
        self._show_state()

    @override
    def turn(self, choice: Choice) -> None:
        if choice.name == "on" and self._place is not None:
            self._place = _next(self._places, self._place)
            self._show_state()

    @property
    def writes(self) -> bool:
        """Whether it writes to what it runs on."""
        return True

    @property
    @override
    def writes_to_others(self) -> bool:
        runs_on_others = self._place is None or not self._place.on
        return self.writes and runs_on_others

    def read(self) -> PlanTable:
        """The table of the plan."""
        table: dict[str, PlanValue] = {"kind": self.kind}
        if self._place is not None and self._place.on:
            on = self._place.on
            table["on"] = on[0] if len(on) == 1 else on
        return {**table, **self.read_settings()}

    def read_settings(self) -> PlanTable:
        """The keys of the plan that only this kind has."""
        return {}

    def _is_on_array_alone(self) -> bool:
        return self._place is not None and self._place.on == (ARRAY,)

    @override
    def _show_state(self) -> None:
        super()._show_state()
        self.query_one(".where").display = self.on and self._place is not None
        if self._place is not None:
            self.query_one(f"#{self.kind}-on-what", Choice).relabel(self._place.label)


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
            yield Choice(_MODES[False], id=f"{self.kind}-modes", name="modes")

    @override
    def compose_settings(self) -> ComposeResult:
        offer = self._offer
        yield Line(offer.setting, classes="setting")
        yield Field(offer.default, id=f"{offer.kind}-size", name=offer.key, max_length=12)
        yield Choice(self._layout.label, id=f"{offer.kind}-place", name="filesystem")

    @override
    def turn(self, choice: Choice) -> None:
        if choice.name == "filesystem":
            self._layout = _next(self._offer.layouts, self._layout)
            choice.relabel(self._layout.label)
        elif choice.name == "modes":
            self._compares_modes = not self._compares_modes
            self._show_state()
        else:
            super().turn(choice)

    @property
    @override
    def writes(self) -> bool:
        return self._layout.writes

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
    def _show_state(self) -> None:
        super()._show_state()
        if self._offer.has_modes:
            modes = self.query_one(f"#{self.kind}-modes", Choice)
            modes.relabel(_MODES[self._compares_modes])
            modes.display = self._is_on_array_alone()


def _next[T](values: Sequence[T], value: T) -> T:
    return values[(values.index(value) + 1) % len(values)]
