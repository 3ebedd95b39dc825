"""The tests a campaign can be composed of, each a row of the form with its main settings.

Owns what is offered and the words for it; what the settings may be is the plan's to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from tui.composed import BootChoice, Mistake, WorkloadTable
from tui.widgets.choice import Choice
from tui.widgets.field import Field
from tui.widgets.line import Line
from tui.widgets.toggle import Toggle

_MAX_CYCLES = 1000
_READING = ("seq-read", "rand-read")
_POWER = {"cold": "cold: off, wake by clock", "warm": "warm: restart"}
_CHARTS = {"first-last": "charts: first-last", "none": "charts: none", "all": "charts: all"}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a test works."""

    label: str
    file_system: str
    writes: bool


_BARE_READING = _Place("bare drive, only reads", "none", writes=False)
_BARE = _Place("bare drive, reads and writes", "none", writes=True)
_ON = tuple(_Place(f"files on {kind}", kind, writes=True) for kind in ("ext4", "xfs", "btrfs"))


@dataclass(frozen=True, slots=True)
class _Offer:
    """One kind of workload as the form offers it."""

    kind: str
    label: str
    does: str
    key: str
    setting: str
    default: str
    places: tuple[_Place, ...]
    narrows_tests: bool = False
    """Whether only reading means leaving out the tests that write."""


OFFERS = (
    _Offer(
        kind="lottery",
        label="Lottery",
        does="files drawn by tickets: who answers, drive or RAM?",
        key="file_size",
        setting="File size",
        default="100M",
        places=(_BARE_READING, *_ON),
    ),
    _Offer(
        kind="fio",
        label="fio",
        does="sequential and random, read and write",
        key="size",
        setting="Size",
        default="1G",
        places=(_BARE_READING, _BARE, *_ON),
        narrows_tests=True,
    ),
    _Offer(
        kind="matrix",
        label="Matrix",
        does="file sizes by record sizes by operations",
        key="free_ram",
        setting="Free RAM",
        default="1G",
        places=_ON,
    ),
    _Offer(
        kind="sweep",
        label="Sweep",
        does="working sets from a quarter to twice a cache",
        key="cache_size",
        setting="Cache size",
        default="1G",
        places=(_BARE_READING, _BARE, *_ON),
        narrows_tests=True,
    ),
    _Offer(
        kind="sql",
        label="SQL",
        does="five timed phases of a database",
        key="data_size",
        setting="Data size",
        default="512M",
        places=_ON,
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
    def writes(self) -> bool:
        """Whether it writes to the drive."""
        return True

    def show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """What is wrong with this test, in the plan's words."""
        line = self.query_one(".mistakes", Line)
        line.show("\n".join(f"! {each.text}" for each in mistakes))
        line.display = bool(mistakes)

    def focus_mistake(self, mistake: Mistake) -> None:
        """Go to the field that is to blame, or to the row."""
        fields = [each for each in self.query(Field) if each.name == mistake.key]
        (fields[0] if fields else self.query_one(Toggle)).focus()

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
    """A workload: one size and where it works."""

    def __init__(self, offer: _Offer) -> None:
        super().__init__(offer.kind, label=offer.label, does=offer.does)
        self._offer = offer
        self._place = offer.places[0]

    @override
    def compose_settings(self) -> ComposeResult:
        offer = self._offer
        yield Line(offer.setting, classes="setting")
        yield Field(offer.default, id=f"{offer.kind}-size", name=offer.key, max_length=12)
        yield Choice(self._place.label, id=f"{offer.kind}-place")

    @override
    def turn(self, choice: Choice) -> None:
        self._place = _next(self._offer.places, self._place)
        choice.relabel(self._place.label)

    @property
    @override
    def writes(self) -> bool:
        return self._place.writes

    def read(self) -> WorkloadTable:
        """The table of the plan."""
        offer = self._offer
        table: dict[str, str | tuple[str, ...]] = {"kind": offer.kind}
        if offer.narrows_tests and not self._place.writes:
            table["tests"] = _READING
        table[offer.key] = self.query_one(Field).value.strip()
        table["filesystem"] = self._place.file_system
        return table


def _next[T](values: Sequence[T], value: T) -> T:
    return values[(values.index(value) + 1) % len(values)]
