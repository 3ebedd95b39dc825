"""A test of the form: chosen or not, its settings, and what is wrong with them. The base of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from tui.campaigns import ARRAY
from tui.composed import Mistake, PlanTable, PlanValue
from tui.language import _
from tui.screens.array import ArrayDrives
from tui.widgets.choice import Choice
from tui.widgets.field import Field
from tui.widgets.line import Line
from tui.widgets.toggle import Toggle


@dataclass(frozen=True, slots=True)
class Place:
    """What a test runs on, where an array is composed."""

    label: str
    on: tuple[str, ...]
    """As the plan has it; empty: every target and control."""


def find_places(array: ArrayDrives, *, has_others: bool) -> tuple[Place, ...]:
    """What a test can run on; `has_others`: a target or control was picked too."""
    is_usual = array.backing.rotational and not array.cache.rotational
    all_three = _("on cache drive, backing drive and array")
    if is_usual:
        all_three = _("on SSD, disk and array")
    places = (
        Place(all_three, (array.cache.raw_identity, array.backing.raw_identity, ARRAY)),
        Place(_("on the array"), (ARRAY,)),
    )
    return (*places, Place(_("on every other drive"), ())) if has_others else places


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
            yield Toggle(_(self._label), id=f"{self.kind}-on", on=self.on)
            yield Line(_(self._does), classes="does")
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

    def fill(self, settings: PlanTable | None) -> None:
        """Choose it with these settings beside what is offered; None leaves it out."""
        self.on = settings is not None
        toggle = self.query_one(Toggle)
        toggle.on = self.on
        toggle.refresh()
        for field in self.query(Field):
            if settings and field.name and field.name in settings:
                field.value = str(settings[field.name])
        self._show_state()

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

    def take_place(self, on: tuple[str, ...]) -> None:
        """Run there, if that is offered."""
        self._place = next((each for each in self._places if each.on == on), self._place)
        self._show_state()

    @override
    def turn(self, choice: Choice) -> None:
        if choice.name == "on" and self._place is not None:
            self._place = find_next(self._places, self._place)
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


def find_next[T](values: Sequence[T], value: T) -> T:
    """The value after `value`, and after the last one the first."""
    return values[(values.index(value) + 1) % len(values)]
