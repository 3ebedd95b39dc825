# SPDX-License-Identifier: Apache-2.0
"""All keys of a workload on their own page, with defaults, checked by the plan's rules.

Owns how they are shown and typed; what they may be is the plan's to say.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import override

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll

from tui.charset import shorten
from tui.language import _
from tui.model.draft import Mistake, PlanTable, PlanValue
from tui.model.plan_keys import PlanKey, describe, explain
from tui.plan.workload_row import WorkloadRow
from tui.port.keys import read_value, show_value
from tui.widgets.choice import Choice, find_next
from tui.widgets.dialog import CHANGED, FormDialog
from tui.widgets.field import Field
from tui.widgets.line import Line, Mistakes

type CheckTable = Callable[[PlanTable], Awaitable[Sequence[Mistake]]]
"""What the plan's own checks have against a workload that is set like this."""

_DEFAULT_WIDTH = 12
# Each of ten thousand tickets may be on a file of its own.
_LONGEST = 400_000


class KeyRow(Vertical):
    """A key: its name, its value, its default, what it is about; and what is wrong with it."""

    def __init__(self, key: PlanKey, value: PlanValue) -> None:
        super().__init__(classes="key")
        self.key = key
        self._value = show_value(value)

    @override
    def compose(self) -> ComposeResult:
        key, widget_id = self.key, f"key-{self.key.name.replace('_', '-')}"
        with Horizontal(classes="line"):
            yield Line(classes="name")
            if key.shape == "choice":
                yield Choice(self._value, id=widget_id, name=key.name)
            else:
                yield Field(self._value, id=widget_id, name=key.name, max_length=_LONGEST)
            # One line for both: each widget more makes the page slower to open.
            default = shorten(self.show_default(), _DEFAULT_WIDTH)
            yield Line(f"{default:{_DEFAULT_WIDTH + 1}}{describe(key)}", classes="does")
        yield Mistakes()

    def on_mount(self) -> None:
        """Nothing is wrong yet."""
        self.show_mistakes(())
        self.mark()

    def read(self) -> PlanValue:
        """Its value; what cannot be read is a text, for the plan's checks to refuse."""
        field = self.query("Field")
        return read_value(self.key, self.query_one(Field).value if field else self._value)

    def turn(self) -> None:
        """The next of a few values."""
        self._value = find_next(self.key.choices, self._value)
        self.query_one(Choice).relabel(self._value)
        self.mark()

    def mark(self) -> None:
        """Whether it is set to something of its own."""
        sign = " " if self.read() == self.key.default else "*"
        self.query_one(".name", Line).show(f"{sign}{self.key.name}")

    def show_default(self) -> str:
        """For people."""
        return show_value(self.key.default) or _("not set")

    def show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """What is wrong with it, in the plan's words."""
        self.query_one(Mistakes).tell(mistake.without_key for mistake in mistakes)


class KeysDialog(FormDialog[PlanTable]):
    """Each key of a workload; left with all of them once the plan has nothing against them."""

    AUTO_FOCUS = "KeyRow Choice, KeyRow Field"

    def __init__(self, row: WorkloadRow, check: CheckTable) -> None:
        super().__init__(f" {row.label} ")
        self._keys = tuple(row.keys.values())
        self._values = row.list_values()
        self._mistakes = row.mistakes
        self._check = check
        self._checking = False

    @override
    def compose_box(self) -> ComposeResult:
        with Horizontal(classes="line title"):
            yield Line(" " + _("Key"), classes="name")
            yield Line(_("Value"), classes="value")
            default = _("Default")
            yield Line(f"{default:{_DEFAULT_WIDTH + 1}}{_('What it is')}", classes="does")
        with VerticalScroll(id="keys-of-it", can_focus=False):
            for key in self._keys:
                yield KeyRow(key, self._values.get(key.name, key.default))
        yield Line(id="about")
        yield from self.compose_end()

    def on_mount(self) -> None:
        """Go to the first mistake."""
        self.call_after_refresh(self._show_mistakes, self._mistakes)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Say more of the key that is to be set."""
        row = self._row_of(event.widget.name)
        text = explain(row.key, row.show_default()) if row is not None else ""
        self.query_one("#about", Line).show(text)

    def on_input_changed(self, event: Field.Changed) -> None:
        """A value was typed."""
        row = self._row_of(event.input.name)
        if row is not None:
            row.mark()

    @override
    def choose(self, choice_id: str) -> None:
        row = self._row_of(self.query_one(f"#{choice_id}").name)
        if row is not None:
            row.turn()
        elif not self._checking:
            self._checking = True
            self.query_one("#about", Line).show(_("Checking ..."))
            # The app's worker, not this box's: then the app tells what goes wrong in it.
            flow = self._leave_checked(self._read())
            self.app.run_worker(flow, group="check", exit_on_error=False)

    def _read(self) -> PlanTable:
        return {row.key.name: row.read() for row in self.query(KeyRow)}

    async def _leave_checked(self, table: PlanTable) -> None:
        try:
            mistakes = await self._check(table)
        finally:
            self._checking = False
        if not self.is_current:
            return  # the user left meanwhile
        if mistakes:
            self._show_mistakes(mistakes)
        elif self.is_active and self._read() == table:
            self.dismiss(table)
        else:
            # What was typed meanwhile would be lost; and under another box that one would close.
            self.query_one("#about", Line).show(_(CHANGED))

    def _show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        rows = {row.key.name: row for row in self.query(KeyRow)}
        others = [mistake.text for mistake in mistakes if mistake.key not in rows]
        wrong = [row for name, row in rows.items() if name in {mistake.key for mistake in mistakes}]
        for name, row in rows.items():
            row.show_mistakes([mistake for mistake in mistakes if mistake.key == name])
        if wrong:
            wrong[0].query_one("Field, Choice").focus()
        if others:
            self.query_one("#about", Line).show("\n".join(f"! {text}" for text in others))

    def _row_of(self, name: str | None) -> KeyRow | None:
        return next((row for row in self.query(KeyRow) if row.key.name == name), None)
