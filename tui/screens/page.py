"""What every page has: a header, a banner for what must be seen, a message line and the keys."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, cast, override

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import Screen

from tui.charset import drawable
from tui.engine_status import Countdown
from tui.journal import tell_bug
from tui.state import Snapshot
from tui.widgets.line import Line

if TYPE_CHECKING:
    from tui.app import KaltstartApp

PAGES = (
    ("1", "drives", "Drives"),
    ("2", "plan", "Plan"),
    ("3", "run", "Run"),
    ("4", "results", "Results"),
    ("5", "machine", "Machine"),
)
_PURPOSES = {
    "autostart": "The plan on the stick starts",
    "resume": "The campaign goes on",
    "power-off": "The machine is powered off",
    "reboot": "The machine restarts",
}


def describe_countdown(countdown: Countdown) -> str:
    """What happens when, and how to stop it."""
    what = _PURPOSES.get(countdown.purpose, countdown.purpose)
    return f"{what} in {countdown.remaining_s} s - press any key to stop it"


def describe_trouble(snapshot: Snapshot) -> str:
    """What keeps the appliance from working, and what to do; empty where nothing does."""
    status = snapshot.status
    if snapshot.hung:
        return (
            "THE STICK DOES NOT ANSWER. What is shown is old.\n"
            "What to do: wait a minute; if this stays, power the machine off and on."
        )
    if status is not None and status.error is not None:
        word = "REFUSED" if status.phase == "refused" else "PROBLEM"
        hint = f"\nWhat to do: {status.error.hint}" if status.error.hint else ""
        return f"{word}: {status.error.message}{hint}"
    if snapshot.silent:
        return (
            "THE ENGINE DOES NOT ANSWER. What is shown may be out of date.\n"
            "What to do: wait a minute; if this stays, power the machine off and on."
        )
    if status is not None and status.phase == "refused":
        return f"REFUSED: {status.message}"
    if status is not None and status.phase != "starting" and snapshot.trouble:
        return f"PROBLEM: {snapshot.trouble}"
    return ""


class Page(Screen[None]):
    """One page. `show` is called with every new snapshot while the page is the one on screen."""

    NAME: ClassVar[str]
    TITLE: ClassVar[str]
    HELP: ClassVar[str]
    BINDINGS: ClassVar[list[BindingType]] = []

    _told = ""
    """The bug of this page that stands in the journal."""

    @property
    def kaltstart(self) -> "KaltstartApp":
        """The app, by its own type."""
        return cast("KaltstartApp", self.app)

    @override
    def compose(self) -> ComposeResult:
        yield Line(id="header")
        yield Line(id="banner")
        with Vertical(id="body"):
            yield from self.compose_body()
        yield Line(id="message")
        yield Line(id="keys")
        yield Line(id="modes")

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

    def on_screen_resume(self) -> None:
        """Catch up with what happened while another page was shown."""
        self.show_all()

    def on_resize(self) -> None:
        """Lay the text out anew."""
        self.show_all()

    def show_all(self) -> None:
        """The page and its surroundings."""
        app, snapshot = self.kaltstart, self.kaltstart.snapshot
        self.query_one("#header", Line).show(self._header(snapshot))
        banner = self.query_one("#banner", Line)
        text = describe_trouble(snapshot)
        if snapshot.countdown is not None:
            text = describe_countdown(snapshot.countdown)
        banner.show(text)
        banner.set_class(bool(text), "shown")
        self.show_message(app.message)
        keys = [*self.list_keys(snapshot), ("F1", "help")]
        if not snapshot.busy:
            keys.append(("p", "power"))
        if snapshot.countdown is not None:
            keys = [("ANY KEY", "stops the countdown")]
        self.query_one("#keys", Line).show("  ".join(f"{key} {label}" for key, label in keys))
        self.query_one("#modes", Line).show(
            " ".join(
                f"[{digit} {title}]" if name == self.NAME else f" {digit} {title} "
                for digit, name, title in PAGES
            )
        )
        try:
            self.show(snapshot)
        # Whatever is wrong with this page, its keys, the message and the other pages go on.
        except Exception as error:  # noqa: BLE001
            if repr(error) != self._told:  # not with each snapshot
                self._told = repr(error)
                tell_bug(error)
            self.show_message(
                f"Internal error on this page: {drawable(repr(error))}. The other pages work; "
                "the campaign is not affected."
            )

    def show_message(self, message: str) -> None:
        """Only the message line: it must work where drawing the rest has just failed."""
        self.query_one("#message", Line).show(message)

    def _header(self, snapshot: Snapshot) -> str:
        status = snapshot.status
        if status is None:
            return f" Kaltstart · {self.TITLE} · waiting for the engine"
        campaign = snapshot.current
        if snapshot.is_overtaken and campaign is not None:
            return f" Kaltstart {status.version} · {self.TITLE} · paused: {campaign.reason}"
        word = status.phase if not snapshot.silent else "not answering"
        return f" Kaltstart {status.version} · {self.TITLE} · {word}: {status.message}"
