# SPDX-License-Identifier: Apache-2.0
"""Page 5: the machine: its facts, its abilities and its settings."""

import re
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, override

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll

from tui.charset import one_line
from tui.language import N_, _
from tui.model.machine import Lines, Machine
from tui.model.snapshot import Snapshot
from tui.page import Page, describe_busy, entitle
from tui.roles import QUIET, WARNING, paint, paint_keys
from tui.widgets.choice import Choice
from tui.widgets.dialog import Ask, Dialog
from tui.widgets.field import Field
from tui.widgets.line import Line
from tui.widgets.pick_list import LinesDialog

_SHELL = N_(
    "A root shell replaces the interface on this terminal. Type exit to return to this "
    "page.\n\n"
    "IN A SHELL NOTHING PROTECTS THE DRIVES. Kaltstart has set them read-only, but root can "
    "undo that; what you erase by hand appears in no report."
)

_WAKE = N_(
    "The machine restarts once, and is then switched off with its clock's alarm set. If it is not "
    "on again after the time that the countdown names, switch it on by hand.\n\n"
    "No drive is written. Any key stops the countdowns."
)

_UPGRADE = N_(
    "{file} is on KALTSTART. Its system is written beside the one that runs; then the machine "
    "restarts into it. Plans, reports and results stay.\n\n"
    "Until the restart s on page 3 stops it; neither that nor a power cut changes anything. Copy "
    "the reports to a computer before, as before any work on a stick."
)

_TALL = 32
"""Lines of a screen that has room for more than the facts."""
_NAME = re.compile(r"^[^\s].{14} ?", re.MULTILINE)
_TROUBLE = re.compile(r"(?<=^.{16})! .*", re.MULTILINE)
_WAYS = (
    ("k", N_("the keyboard's layout")),
    ("l", N_("the language")),
    ("t", N_("the time, of the system and of the hardware clock")),
    ("w", N_("whether the clock wakes this machine from power-off")),
    ("x", N_("a root shell in place of this page")),
)
_UPGRADE_WAY = ("u", N_("a newer version, from an image on KALTSTART"))

type _Flow = Callable[[Machine], Coroutine[Any, Any, None]]


def _paint_facts(facts: str) -> Text:
    """The names of the facts before the facts."""
    painted = paint(facts)
    painted.highlight_regex(_TROUBLE, WARNING)
    painted.highlight_words([_(", WRITE-PROTECTED")], WARNING)
    for match in _NAME.finditer(facts):
        painted.stylize(QUIET, *match.span())
    return painted


class MachinePage(Page):
    """Facts, one to a line."""

    NAME: ClassVar[str] = "machine"
    TITLE: ClassVar[str] = N_("Machine")
    AUTO_FOCUS = "VerticalScroll"
    HELP: ClassVar[str] = N_(
        "The machine that the stick is plugged into, and the stick itself.\n\n"
        "Wake-up: whether its clock was seen to switch it on. If not, cold boots need a person.\n\n"
        "Its errors: of the stick, and of its data partition. Copy and replace a stick with "
        "errors: all results are on it.\n\n"
        "While a campaign runs, nothing here is updated.\n"
        "k  the keyboard layout, stored on the stick. A serial line uses its terminal's own\n"
        "l  the language, also stored on the stick. Mistakes of plans, reports and the manual are "
        "in English\n"
        "t  set the time, in UTC, of the system and of the hardware clock\n"
        "w  try whether the clock wakes the machine, after a question\n"
        "x  a root shell, after a question\n"
        "u  upgrade the stick by an image on KALTSTART, after a question"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "keyboard", show=False),
        Binding("l", "language", show=False),
        Binding("t", "time", show=False),
        Binding("w", "wake", show=False),
        Binding("x", "shell", show=False),
        Binding("u", "upgrade", show=False),
    ]

    @override
    def compose_body(self) -> ComposeResult:
        with VerticalScroll():
            yield Line(id="facts")
        yield Line(id="ways", classes="panel")

    @override
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        if snapshot.machine is None or snapshot.busy:
            return []
        return [
            ("k", _("keyboard")),
            ("l", _("language")),
            ("t", _("time")),
            ("w", _("wake-up")),
            ("x", _("shell")),
            *([("u", _("upgrade"))] if snapshot.machine.images else []),
        ]

    @override
    def show(self, snapshot: Snapshot) -> None:
        machine = snapshot.machine
        entitle(self.query_one(VerticalScroll), _("The machine and the stick"))
        ways = self.query_one("#ways", Line)
        entitle(ways, _("What can be set and tried"))
        offered = (*_WAYS, *([_UPGRADE_WAY] if machine and machine.images else []))
        ways.show(paint_keys([(key, _(what)) for key, what in offered], "\n"))
        ways.display = self.app.size.height >= _TALL and bool(self.list_keys(snapshot))
        facts = self.query_one("#facts", Line)
        if machine is None:
            facts.show(_("The engine has not reported on the machine yet."))
            return
        width = max(40, self.app.size.width - 4)
        is_dense = self.app.size.height < _TALL
        text = machine.describe(width, is_past=snapshot.busy, is_dense=is_dense)
        facts.show(_paint_facts(text))

    def action_keyboard(self) -> None:
        """Choose what the keys mean."""
        self._set(self._choose_keyboard)

    def action_language(self) -> None:
        """Choose the interface's language."""
        self._set(self._choose_language)

    def action_time(self) -> None:
        """Set the clocks."""
        self._set(self._ask_time)

    def action_wake(self) -> None:
        """Try whether it wakes, after a question."""
        self._set(self._ask_wake)

    def action_shell(self) -> None:
        """Open a shell, after a question."""
        self._set(self._ask_shell)

    def action_upgrade(self) -> None:
        """Upgrade the stick, after a question."""
        self._set(self._ask_upgrade)

    def _set(self, flow: _Flow) -> None:
        machine = self.kaltstart.snapshot.machine
        if machine is None:
            self.kaltstart.say(_("Nothing can be set before the engine is ready."))
        elif self.kaltstart.snapshot.busy:
            self.kaltstart.say(describe_busy(self.kaltstart.snapshot))
        else:
            self.kaltstart.run_once(flow.__name__, flow(machine))

    async def _choose_keyboard(self, machine: Machine) -> None:
        layout = await self._choose(_(" Keyboard "), machine.layouts, at=machine.keyboard)
        if layout is not None:
            await self.kaltstart.ask_engine("set-keyboard", {"layout": layout})

    async def _choose_language(self, machine: Machine) -> None:
        language = await self._choose(_(" Language "), machine.languages, at=machine.language)
        if language is not None:
            await self.kaltstart.ask_engine("set-language", {"language": language})

    async def _choose(self, title: str, offered: Lines, *, at: str) -> str | None:
        """The short name of what was chosen: of a layout, a language."""
        names = [name for name, _title in offered]
        dialog = LinesDialog(
            title,
            [f"{name:8}{title}" for name, title in offered],
            at=names.index(at) if at in names else 0,
            cancel=_("Cancel"),
            keys=_("Up/Down choose  Enter take it  Esc cancel"),
        )
        chosen = await self.app.push_screen_wait(dialog)
        return None if chosen is None else names[chosen]

    async def _ask_time(self, machine: Machine) -> None:
        at = await self.app.push_screen_wait(TimeDialog(machine.at))
        if at is not None:
            await self.kaltstart.ask_engine("set-time", {"at": at})

    async def _ask_wake(self, _machine: Machine) -> None:
        choices = (("wake", _("Try it")),)
        if await self.app.push_screen_wait(Ask(_(" Wake-up "), _(_WAKE), choices)) == "wake":
            await self.kaltstart.ask_engine("try-wake")

    async def _ask_shell(self, _machine: Machine) -> None:
        terminal = self.kaltstart.port.terminal
        if not terminal:
            self.kaltstart.say(_("A shell cannot be opened on this terminal."))
            return
        choices = (("shell", _("Open a shell")),)
        if await self.app.push_screen_wait(Ask(_(" Shell "), _(_SHELL), choices)) == "shell":
            await self.kaltstart.ask_engine("shell", {"terminal": terminal})

    async def _ask_upgrade(self, machine: Machine) -> None:
        if not machine.images:
            self.kaltstart.say(
                _("There is no kaltstart-VERSION-amd64.img.xz in the top folder of KALTSTART.")
            )
            return
        file_name = machine.images[0]
        text = _(_UPGRADE).format(file=one_line(file_name))
        choices = (("upgrade", _("Upgrade")),)
        if await self.app.push_screen_wait(Ask(_(" Upgrade "), text, choices)) == "upgrade":
            await self.kaltstart.ask_engine("upgrade", {"file_name": file_name})


class TimeDialog(Dialog[str]):
    """The result is a time as it was typed; the engine judges it. None if none was typed."""

    AUTO_FOCUS = "Field"

    def __init__(self, now: str) -> None:
        super().__init__(_(" Time "))
        self._now = now

    @override
    def compose_box(self) -> ComposeResult:
        yield Line(
            _("Sets the system's time and the hardware clock, both in UTC. Reports show this time.")
        )
        with Horizontal(classes="field gap"):
            yield Line(_("Date and time, UTC:"))
            yield Field(self._now, id="at", max_length=16)
        with Horizontal(classes="buttons"):
            yield Choice(_("Cancel"), id="cancel")
            yield Choice(_("Set"), id="set")

    def on_input_submitted(self) -> None:
        """Enter in the field."""
        self.choose("set")

    @override
    def choose(self, choice_id: str) -> None:
        typed = self.query_one(Field).value
        # What the field begins with is some seconds old: taking it would set the clocks back.
        self.dismiss(None if typed.strip() == self._now else typed)
