# SPDX-License-Identifier: Apache-2.0
"""Dialogs: a box over the page, which stays visible behind it.

Esc always leaves and does nothing; the focus starts where nothing happens.
"""

from abc import abstractmethod
from typing import ClassVar, override

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.strip import Strip

from tui import language
from tui.charset import shorten
from tui.language import N_, _
from tui.widgets.backdrop import Backdrop, BoxCompositor
from tui.widgets.choice import Choice
from tui.widgets.layer import Layer
from tui.widgets.line import Line

CHANGED = N_("Something changed meanwhile, so nothing was done: press the key again.")
"""Where something takes a while, and the box has the keys in that time."""

_NOTICE = 68
"""Columns of the frame's lower line that a text fits in: cut off there it would end in a sign that
the console's font lacks."""

_NEWS = 2
"""Of the engine, until what is below is no longer followed. At the first one the screen below may
not have been laid out for a new size yet."""


class Dialog[T](Layer[T | None], ModalScreen[T | None]):
    """A box; dismissed with None when left."""

    AUTO_FOCUS = "#cancel"
    TITLE_COLUMNS: ClassVar[int] = 70
    """As for `_NOTICE`, of the upper line."""
    KEYS: ClassVar[str] = N_("Tab next  Enter choose  Esc leave")
    """For the frame's lower line."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        # First of all: what is typed right after it belongs to the next field, however slow the
        # machine is (Textual's own binding acts when the key has come up through all containers).
        Binding("tab", "app.focus_next", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True),
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._backdrop = Backdrop()
        self._is_backdrop_old = True
        self._news_left = _NEWS
        self._notice = ""
        self._language = language.current()
        self._title = title

    @override
    def make_compositor(self) -> BoxCompositor:
        self._boxes = BoxCompositor()
        return self._boxes

    @override
    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = shorten(self._title.strip(), self.TITLE_COLUMNS).replace("[", r"\[")
            box.border_subtitle = self.name_keys()
            yield from self.compose_box()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """It comes up, or nothing covers it any more."""
        # All was styled when it was made, and nothing else changes the styles of what is not seen.
        event.refresh_styles = False
        self.look_below()

    def look_below(self) -> None:
        """Show what is below as it is when this is drawn the next time."""
        self._is_backdrop_old, self._news_left = True, _NEWS

    @override
    def follow_below(self) -> None:
        """Something has changed below: show it if `look_below` was called a short while ago."""
        if self._news_left and not self._hides_all:
            changed = self._take_backdrop()
            self.refresh(*changed, repaint=bool(changed))

    @property
    def _hides_all(self) -> bool:
        return self._boxes.room == self.size.region

    def _take_backdrop(self) -> list[Region]:
        self._is_backdrop_old = False
        screens = self.app.screen_stack
        below = screens[screens.index(self) - 1]
        return self._backdrop.take(below, self.size)

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        """What is behind the box."""
        if self._hides_all:
            return [Strip.blank(crop.width)] * crop.height
        if self._backdrop.size != self.size:
            self.look_below()
        if self._is_backdrop_old and self in self.app.screen_stack:
            self._take_backdrop()
        return self._backdrop.draw(crop, self._boxes.room)

    @abstractmethod
    def compose_box(self) -> ComposeResult:
        """The content of the box."""

    def name_keys(self) -> str:
        """For the frame's lower line, as long as there is no notice."""
        return _(self.KEYS)

    def show_notice(self, text: str) -> None:
        """What must be seen though the box may hide all of the page; empty where nothing must."""
        self._count_news(text)
        notice = shorten(text or self.name_keys(), _NOTICE).replace("[", r"\[")
        box = self.query_one("#box")
        if box.border_subtitle != notice:  # the box would be drawn again
            box.border_subtitle = notice
        box.set_class(bool(text), "notice")

    def _count_news(self, notice: str) -> None:
        before, self._notice = self._notice, notice
        if self._language != language.current():
            self._language, self._news_left = language.current(), _NEWS
        elif notice and not before:
            self._news_left = 0  # a countdown behind the box would stand still
        elif self._news_left:
            self._news_left -= 1

    def action_cancel(self) -> None:
        """Leave; nothing happens."""
        self.dismiss(None)

    def on_choice_pressed(self, event: Choice.Pressed) -> None:
        """Cancel is the same everywhere; the rest is the dialog's."""
        event.stop()
        if event.choice.id == "cancel":
            self.action_cancel()
        else:
            self.choose(event.choice.id or "")

    @abstractmethod
    def choose(self, choice_id: str) -> None:
        """A choice other than Cancel was pressed."""


class FormDialog[T](Dialog[T]):
    """A box with fields, left by Cancel or Done."""

    KEYS = N_("Space choose  Tab next  Esc leave")

    def compose_end(self) -> ComposeResult:
        """The last line of the box."""
        with Horizontal(classes="buttons"):
            yield Choice(_("Cancel"), id="cancel")
            yield Choice(_("Done"), id="done")

    def on_input_submitted(self) -> None:
        """Enter in a field goes to the next one."""
        self.focus_next()


class ScrolledDialog[T](Dialog[T]):
    """A box with a text that may be longer than there is room for; the choices stay in sight.

    The text is in a scroll `#text`, and its keys are named in a line `#more`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll_text(-1)", show=False),
        Binding("pagedown", "scroll_text(1)", show=False),
    ]

    def on_mount(self) -> None:
        """Name the keys as long as there is more than fits."""
        self.watch(self.query_one("#text"), "show_vertical_scrollbar", self._name_keys)

    def _name_keys(self, is_longer: bool) -> None:  # noqa: FBT001  # as Textual calls it
        self.query_one("#more").display = is_longer

    def action_scroll_text(self, pages: int) -> None:
        """On or back by a page."""
        text = self.query_one("#text", VerticalScroll)
        text.scroll_relative(y=pages * max(1, text.size.height - 1), animate=False)


class Ask(ScrolledDialog[str]):
    """A text and choices; the result is the id of the choice."""

    def __init__(
        self, title: str, text: str, choices: tuple[tuple[str, str], ...], *, cancel: str = ""
    ) -> None:
        super().__init__(title)
        self._text = text
        self._choices = choices
        self._cancel = cancel or _("Cancel")

    @override
    def name_keys(self) -> str:
        """None where there is nothing to do but to close it."""
        return super().name_keys() if self._choices else ""

    @override
    def compose_box(self) -> ComposeResult:
        with VerticalScroll(id="text", can_focus=False):
            yield Line(self._text)
        with Horizontal(classes="buttons"):
            yield Choice(self._cancel, id="cancel")
            for choice_id, label in self._choices:
                yield Choice(label, id=choice_id)
            yield Line(_("PgUp/PgDn scroll"), id="more")

    @override
    def choose(self, choice_id: str) -> None:
        self.dismiss(choice_id)
