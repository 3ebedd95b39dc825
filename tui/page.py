# SPDX-License-Identifier: Apache-2.0
"""The base of every page: header, tabs, a banner for urgent matters, panels, message and keys."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast, override

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.widget import Widget

from tui import language
from tui.charset import drawable, shorten
from tui.journal import tell_bug
from tui.language import N_, _
from tui.model.engine_words import say, say_state
from tui.model.snapshot import Snapshot
from tui.model.status import Countdown
from tui.roles import ACCENT, paint_keys
from tui.widgets.layer import Layer
from tui.widgets.line import Line

if TYPE_CHECKING:
    from tui.app import KaltstartApp

PAGES = (
    ("1", "drives", N_("Drives")),
    ("2", "plan", N_("Plan")),
    ("3", "run", N_("Run")),
    ("4", "results", N_("Results")),
    ("5", "machine", N_("Machine")),
)
NOT_READ = N_("Reading the campaigns on the stick ...")
"""What pages say where they have no campaign to show, and `Snapshot.is_read` is not true yet."""
_UNREADABLE = N_("The campaigns on the stick cannot be read.")
_PURPOSES = {
    "autostart": N_("The plan on the stick starts in {count} s - press any key to stop it"),
    "resume": N_("The campaign continues in {count} s - press any key to stop it"),
    "power-off": N_("The machine is powered off in {count} s - press any key to stop it"),
    "temperature": N_("Waiting for a drive's temperature: {count} s - press any key to stop it"),
    "light": N_("The drive's light blinks for {count} s - press any key to stop it"),
    "reboot": N_("The machine restarts in {count} s - press any key to stop it"),
}
_PHASES = (
    *(N_("starting"), N_("idle"), N_("preparing"), N_("running"), N_("countdown")),
    *(N_("finishing"), N_("refused")),
)
"""As the engine calls them."""

_BUSY = {
    "": N_("A campaign is running: stop it first (page 3, s)."),
    "upgrade": N_("The stick is being upgraded: wait for the restart, or stop it (page 3, s)."),
    "dismantle": N_("An array is being dismantled: wait, or stop it first (page 3, s)."),
}
"""By what is running."""

_GAP = 2
"""Columns between the header's two ends."""

_WAIT = N_("What to do: wait a minute; if this remains, power the machine off and on.")


def describe_countdown(countdown: Countdown) -> str:
    """What happens when, and how to stop it."""
    what = _(_PURPOSES.get(countdown.purpose, countdown.purpose))
    return what.format(count=countdown.remaining_s)


def describe_trouble(snapshot: Snapshot) -> str:
    """What keeps the appliance from working, and what to do; empty where nothing does."""
    status = snapshot.status
    if snapshot.hung:
        return _("THE STICK DOES NOT ANSWER. What is shown is old.") + "\n" + _(_WAIT)
    if status is not None and status.error is not None:
        word = _("REFUSED") if status.phase == "refused" else _("PROBLEM")
        hint = ""
        if status.error.hint:
            hint = "\n" + _("What to do: {hint}").format(hint=say(status.error.hint))
        return f"{word}: {say(status.error.message)}{hint}"
    if snapshot.silent:
        old = _("THE ENGINE DOES NOT ANSWER. What is shown may be out of date.")
        return old + "\n" + _(_WAIT)
    if status is not None and status.phase == "refused":
        return f"{_('REFUSED')}: {say(status.message)}"
    trouble = language.find_trouble()
    if status is not None and status.phase != "starting":
        trouble = snapshot.trouble or trouble
    return f"{_('PROBLEM')}: {trouble}" if trouble else ""


def describe_busy(snapshot: Snapshot) -> str:
    """Why what was asked for cannot be done while the engine is busy."""
    return _(_BUSY.get(snapshot.work, _BUSY[""]))


def say_none(snapshot: Snapshot, none: str) -> str:
    """What a page says where it has no campaign to show: `none` only if that is known."""
    is_awaited = snapshot.is_early and not snapshot.silent
    if not snapshot.is_read or (snapshot.is_unreadable and is_awaited):
        return _(NOT_READ)
    return _(_UNREADABLE) if snapshot.is_unreadable else none


def entitle(panel: Widget, title: str) -> None:
    """Write a title into a panel's frame."""
    text = drawable(title).strip().replace("[", r"\[")
    if panel.border_title != text:
        panel.border_title = text


class Group(Vertical):
    """Widgets in a column, with nothing of its own to be drawn: neither frame nor background."""

    BLANK = True


class Page(Layer[None]):
    """One page. `show` is called with every new snapshot while the page is the one on screen."""

    BLANK = True
    NAME: ClassVar[str]
    TITLE: ClassVar[str]
    HELP: ClassVar[str]
    BINDINGS: ClassVar[list[BindingType]] = []

    _told = ""
    """The bug of this page that is in the journal."""
    _is_drawn_unseen = False
    """It was brought up to date while a dialog covered it."""
    _shown: tuple[object, ...] = ()
    """What the page shows, and the place it has for it."""
    _keys: tuple[tuple[str, str], ...] = ()
    """Those in its last line."""
    _is_up = False
    """It was drawn already when the user turned to it."""

    @property
    def kaltstart(self) -> "KaltstartApp":
        """The app, by its own type."""
        return cast("KaltstartApp", self.app)

    @override
    def compose(self) -> ComposeResult:
        yield Line(id="header")
        yield Line(id="modes")
        yield Line(id="banner")
        with Group(id="body"):
            yield from self.compose_body()
        yield Line(id="message")
        yield Line(id="keys")

    @abstractmethod
    def compose_body(self) -> ComposeResult:
        """The page's own widgets."""

    @abstractmethod
    def show(self, snapshot: Snapshot) -> None:
        """Bring the page's own widgets up to date."""

    @abstractmethod
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        """The keys that do something on this page now."""

    def on_mount(self) -> None:
        """Draw what is known already."""
        self.show_all()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Catch up with what happened while another page was shown."""
        # Nothing changes the styles of a page that is not seen.
        event.refresh_styles = False
        if self._is_up:
            # What Textual does then, without drawing the page once more.
            self._is_up = False
            event.prevent_default()
            self.stack_updates += 1
            self._update_auto_focus()
        self._catch_up()

    def on_resize(self) -> None:
        """Lay the text out again."""
        self._catch_up()

    def _catch_up(self) -> None:
        if self._shown == self._list_shown():
            self.show_message(self.kaltstart.message)
        else:
            self.show_all()
        self._measure_again()

    def _measure_again(self) -> None:
        """What was drawn under a dialog may have been laid out for a size that has gone since.

        A panel would keep the scrollbar of a text that it does not hold any more.
        """
        if self._is_drawn_unseen and self.is_active:
            self._is_drawn_unseen = False
            for line in self.query(Line):
                line.refresh(layout=True)

    def _list_shown(self) -> tuple[object, ...]:
        place = self.query_one("#body").size
        language_now = language.current(), language.find_trouble()
        return self.kaltstart.snapshot, self.app.size, place, language_now

    def show_all(self) -> None:
        """The page and its surroundings."""
        app, snapshot = self.kaltstart, self.kaltstart.snapshot
        self._is_drawn_unseen = self._is_drawn_unseen or not self.is_active
        header = self.query_one("#header", Line)
        header.show(self._header(snapshot))
        is_refused = snapshot.status is not None and snapshot.status.phase == "refused"
        header.set_class(snapshot.busy, "busy")
        header.set_class(is_refused or snapshot.silent, "bad")
        banner = self.query_one("#banner", Line)
        text = describe_trouble(snapshot)
        if snapshot.countdown is not None:
            text = describe_countdown(snapshot.countdown)
        banner.show(text)
        banner.set_class(bool(text), "shown")
        self.show_message(app.message)
        self.show_keys()
        self.query_one("#modes", Line).show(self._list_tabs())
        self._shown = ()
        if self.try_to_show(lambda: self.show(snapshot)):
            self._shown = self._list_shown()

    def come_up(self) -> None:
        """Draw it as the user turns to it. Textual would do so some messages later."""
        if self.is_mounted:
            self._catch_up()
            self.refresh()
            self._is_up = self.draw_changes()

    @override
    def _screen_resized(self, size: Size) -> None:
        """Textual lays out each page that a user turns to, also where nothing has changed."""
        if self.needs_layout:
            super()._screen_resized(size)

    def draw_all(self) -> None:
        """Draw the whole page with the next frame.

        Textual draws the first one before it writes to the terminal, and then only what is new.
        """
        self._compositor.update_widgets({self.refresh()})

    def try_to_show(self, part: Callable[[], None]) -> bool:
        """Whatever is wrong with this page, its keys, the message and the other pages go on."""
        try:
            part()
        # No error of what is shown may end the interface.
        except Exception as error:  # noqa: BLE001
            if repr(error) != self._told:  # not with each snapshot
                self._told = repr(error)
                tell_bug(error)
            self.show_message(
                _(
                    "Internal error on this page: {error}. The other pages work; "
                    "the campaign is not affected."
                ).format(error=repr(error))
            )
            return False
        return True

    def show_message(self, message: str) -> None:
        """Only the message line: it must work where drawing the rest has just failed."""
        self.query_one("#message", Line).show(message)

    def show_keys(self) -> None:
        """Only the line of keys: what they do may change with the cursor."""
        snapshot = self.kaltstart.snapshot
        keys = [*self.list_keys(snapshot), ("F1", _("help"))]
        if not snapshot.busy:
            keys.append(("p", _("power")))
        if snapshot.countdown is not None:
            keys = [(_("ANY KEY"), _("stops the countdown"))]
        if self._keys != (pairs := tuple(keys)):
            self._keys = pairs
            self.query_one("#keys", Line).show(paint_keys(keys, "  "))

    def _list_tabs(self) -> Text:
        tabs = [
            Text(f"[{digit} {_(title)}]", f"bold {ACCENT}")
            if name == self.NAME
            else Text.assemble((f" {digit}", ACCENT), f" {_(title)} ")
            for digit, name, title in PAGES
        ]
        return Text(" ").join(tabs)

    def _header(self, snapshot: Snapshot) -> str:
        """What this is and what it does, and at the other end of the line the machine it is in."""
        text = drawable(self._tell_state(snapshot))
        machine = drawable(snapshot.machine.name) if snapshot.machine else ""
        width = self.app.size.width
        room = width - len(text) - _GAP - 1
        if machine and room > _GAP:
            text += f"{shorten(machine, room):>{room + _GAP}} "
        return f"{shorten(text, width):{width}}"

    @staticmethod
    def _tell_state(snapshot: Snapshot) -> str:
        status, campaign = snapshot.status, snapshot.current
        if status is None:
            return f" Kaltstart · {_('waiting for the engine')}"
        if snapshot.is_overtaken and campaign is not None:
            return f" Kaltstart {status.kaltstart_version} · {_('paused')}: {say(campaign.reason)}"
        word = _(status.phase) if not snapshot.silent else _("not answering")
        # While it starts there is no more to say than that.
        if status.message.lower() != status.phase:
            word += f": {say_state(status.message)}"
        return f" Kaltstart {status.kaltstart_version} · {word}"
