# SPDX-License-Identifier: Apache-2.0
"""The base of all test rows of the form: selected or not, settings, mistakes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, override

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message

from tui.charset import shorten
from tui.language import _
from tui.model.draft import Mistake, PlanElement, PlanTable, PlanValue
from tui.model.status import ARRAY
from tui.plan.array import ArrayDrives
from tui.port.keys import read_keys, show_value
from tui.widgets.choice import Choice, Toggle, find_next
from tui.widgets.field import Field
from tui.widgets.line import Line, Mistakes

_OWN_WIDTH = 55


@dataclass(frozen=True, slots=True)
class Place:
    """What a test runs on, where an array is composed."""

    label: str
    on: tuple[str, ...]
    """As the plan has it; empty: every target and control."""
    is_own: bool = False
    """Whether the user named these drives; else it is offered by what is in the array."""


def _everywhere() -> Place:
    return Place(_("on every drive"), ())


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
        self.mistakes: tuple[Mistake, ...] = ()
        self._label = label
        self._does = does

    @override
    def compose(self) -> ComposeResult:
        with Horizontal(classes="line"):
            yield Toggle(_(self._label), id=f"{self.kind}-on", on=self.on)
            yield Line(_(self._does), classes="does")
            with Horizontal(classes="settings"):
                yield from self.compose_settings()
        yield Mistakes()

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
    def label(self) -> str:
        """What it is called."""
        return _(self._label)

    def show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """What is wrong with this test, in the plan's words."""
        self.mistakes = tuple(mistakes)
        self.query_one(Mistakes).tell(mistake.text for mistake in mistakes)

    def focus_mistake(self, mistake: Mistake) -> None:
        """Go to the field that is to blame, or to the row."""
        named = [widget for widget in self.query("Field, Choice") if widget.name == mistake.key]
        (named[0] if named and named[0].display else self.query_one(Toggle)).focus()

    def _show_state(self) -> None:
        self.mistakes = ()
        self.query_one(".does").display = not self.on
        self.query_one(Mistakes).display = False
        for settings in self.query(".settings"):
            settings.display = self.on


class WorkloadRow(TestRow):
    """A workload: its settings, and with an array where it runs.

    Keys that have no place in the row are set on a page of their own, and kept beside it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f6", "show_keys", show=False)]

    @dataclass
    class KeysWanted(Message):
        """All of its keys are to be set."""

        row: "WorkloadRow"

    def __init__(self, kind: str, *, label: str, does: str) -> None:
        super().__init__(kind, label=label, does=does)
        self._places: tuple[Place, ...] = ()
        self._place: Place | None = None
        self._own: dict[str, PlanValue] = {}
        self.keys = {key.name: key for key in read_keys(kind)}

    @override
    def compose(self) -> ComposeResult:
        yield from super().compose()
        with Horizontal(classes="line more where"):
            yield Choice("", id=f"{self.kind}-on-what", name="on")
            yield from self.compose_more()
        yield Line(classes="line more own")

    def compose_more(self) -> ComposeResult:
        """What else can be set where there is an array."""
        yield from ()

    def compose_field(self, key: str, *, offered: str = "") -> Field:
        """A field of that key, with its default, or what is offered where it has none."""
        value = offered or show_value(self.keys[key].default)
        return Field(value, id=self.id_of(key), name=key, max_length=12)

    def id_of(self, key: str) -> str:
        """What the widget is called that sets this key."""
        return f"{self.kind}-{key.replace('_', '-')}"

    def action_show_keys(self) -> None:
        """Have all keys set."""
        self.post_message(self.KeysWanted(self))

    def offer_places(self, places: tuple[Place, ...]) -> None:
        """What it can run on now; without an array there is nothing to choose."""
        if self._place is not None and self._place.is_own:
            # The user named these drives: what may erase others is never moved there automatically.
            self._places = (*(places or (_everywhere(),)), self._place)
        else:
            labels = [place.label for place in places]
            before = self._place.label if self._place else ""
            self._places = places
            index = labels.index(before) if before in labels else 0
            self._place = places[index] if places else None
        self._show_state()

    def take_place(self, named: tuple[PlanElement, ...]) -> None:
        """Run there, if that is offered, or if it names drives of its own."""
        on = tuple(map(str, named))
        offered = [place for place in self._places if place.on == on]
        if offered:
            self._place = offered[0]
        elif on:
            label = _("on {drives}").format(drives=shorten(show_value(on), 40))
            place = Place(label, on, is_own=True)
            offered = [place for place in self._places if not place.is_own]
            self._places = (*(offered or (_everywhere(),)), place)
            self._place = place
        self._show_state()

    @override
    def turn(self, choice: Choice) -> None:
        if choice.name == "on" and self._place is not None:
            self._place = find_next(self._places, self._place)
            self._show_state()

    @override
    def fill(self, settings: PlanTable | None) -> None:
        super().fill(settings)
        self._own = {}
        if settings:
            row_settings = self.read_settings()
            in_fields = {field.name for field in self.query(Field)}
            self._own = {
                key: value
                for key, value in settings.items()
                if key in self.keys
                and key not in {"on", *in_fields}
                and row_settings.get(key, self.keys[key].default) != value
            }
        self._show_state()

    def take(self, table: PlanTable | None) -> None:
        """All keys, as the user has set them; None: they stay."""
        if table is None:
            return
        self.fill(table)
        on = table["on"]
        self.take_place(on if isinstance(on, tuple) else ())
        self.post_message(self.Changed(self))

    def read(self) -> PlanTable:
        """The table of the plan."""
        return self.shorten(self.list_values())

    def shorten(self, table: PlanTable) -> PlanTable:
        """As the plan has it: without what goes without saying, but for what the row shows."""
        row_settings = {} if table.get("options") else self.read_settings()
        entries = {
            key: value
            for key, value in table.items()
            if value != self.keys[key].default
            or (value != "" and row_settings.get(key) == value and key not in self._own)
        }
        on = entries.pop("on", "")
        if on:
            entries = {"on": on[0] if isinstance(on, tuple) and len(on) == 1 else on, **entries}
        return {"kind": self.kind, **entries}

    def list_values(self) -> PlanTable:
        """All keys that are set, those of the row too."""
        on = self._place.on if self._place is not None else ""
        return {**self.read_settings(), **self._own, "on": on}

    def list_own(self) -> PlanTable:
        """Those that the row itself has no place for."""
        return {key: value for key, value in self._own.items() if value != self.keys[key].default}

    def forget(self, key: str) -> bool:
        """It is the row's own to say now; whether it was not."""
        return self._own.pop(key, None) is not None

    def read_settings(self) -> PlanTable:
        """The keys of the plan that are set in the row itself."""
        return {}

    def _is_on_array_alone(self) -> bool:
        return self._place is not None and self._place.on == (ARRAY,)

    @override
    def _show_state(self) -> None:
        super()._show_state()
        self.query_one(".where").display = self.on and self._place is not None
        if self._place is not None:
            self.query_one(f"#{self.kind}-on-what", Choice).relabel(self._place.label)
        extras, line = self.list_own(), self.query_one(".own", Line)
        text = "; ".join(f"{key} = {show_value(value)}" for key, value in extras.items())
        line.show(shorten(f"F6: {text}", _OWN_WIDTH))
        line.display = self.on and bool(extras)
