# SPDX-License-Identifier: Apache-2.0
"""The application: reads the engine's state every second, passes it to the page, sends requests.

Owns what all pages share: the snapshot, the message line, power, and any-key-stops. It
runs no campaign: killing it costs nothing.
"""

import asyncio
import pkgutil
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, override

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.scrollbar import ScrollBar
from textual.timer import Timer
from textual.worker import Worker, WorkerState

from tui.drives.page import DrivesPage
from tui.journal import tell_bug
from tui.language import _
from tui.messages import fit_message
from tui.model.snapshot import Answer, Snapshot, has_missed_end, was_parted
from tui.page import Page, describe_busy, describe_countdown, describe_trouble
from tui.pending import Pending, describe_answer, name_request
from tui.port import DEFERRED, KaltstartError, PageState, Port, collect_garbage
from tui.port.kernel_log import KernelLog
from tui.port.watch import tell
from tui.roles import THEME
from tui.terminal import console as terminal
from tui.terminal import priority
from tui.terminal.refresh_rate import TICK_S, UNATTENDED_S, read_every_s
from tui.terminal.repaint import Repainter
from tui.widgets.dialog import Ask, Dialog
from tui.widgets.layer import Layer
from tui.widgets.scrollbar import CellScrollBar

_YOUNG_S = 10.0
# The first list of drives is drawn at full priority until then.
_LIST_AT_MOST_S = 10.0
# A stick that collects its garbage is away for some seconds at most.
_HUNG_S = 30.0
_ALIVE_S = 2.0
# What a key leads to is drawn by then, even where the processor is slow and shared.
_KEY_AT_MOST_S = 2.0
# Who presses keys presses the next one by then.
_TYPING_S = 1.0


_RUN = "run"
_STARTS = frozenset({"start", "resume"})
"""Requests after which a campaign is at work."""
# Loaded once the first page shows the drives, which need not wait for them.
_LATER_PAGES = {
    "plan": "tui.plan.page:PlanPage",
    _RUN: "tui.run.page:RunPage",
    "results": "tui.results.page:ResultsPage",
    "machine": "tui.machine.page:MachinePage",
}
_LATER = (*DEFERRED, *_LATER_PAGES.values(), "tui.machine.manual_screen")


def _make_page(where: str) -> Page:
    page: type[Page] = pkgutil.resolve_name(where)
    return page()


def _load_later() -> None:
    try:
        for where in _LATER:
            pkgutil.resolve_name(where)
    finally:
        collect_garbage()


class KaltstartApp(App[None]):
    """Five pages, one engine."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    MODES: ClassVar[dict[str, Any]] = {
        "drives": DrivesPage,
        **{name: partial(_make_page, where) for name, where in _LATER_PAGES.items()},
    }
    DEFAULT_MODE = "drives"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "page('drives')", show=False),
        Binding("2", "page('plan')", show=False),
        Binding("3", "page('run')", show=False),
        Binding("4", "page('results')", show=False),
        Binding("5", "page('machine')", show=False),
        Binding("f1,question_mark", "page_help", show=False),
        Binding("p", "power", show=False),
        Binding("ctrl+l", "repaint", show=False, priority=True),
        # Leaving would only restart it; a slip must not cost the user's page.
        Binding("ctrl+q", "repaint", show=False, priority=True),
    ]

    def __init__(
        self,
        port: Port | None = None,
        *,
        when_drawn: Callable[[], None] = lambda: None,
        driver_class: type[Driver] | None = None,
        kernel_log: KernelLog | None = None,
    ) -> None:
        """`when_drawn` is called once: when the page shows all drives or a campaign is at work.

        At the latest ten seconds after the page is there.

        The screen is redrawn if the kernel writes its messages across it (`kernel_log`).
        """
        super().__init__(driver_class=driver_class, ansi_color=True)
        self.register_theme(THEME)
        self.theme = THEME.name
        ScrollBar.renderer = CellScrollBar
        self.port = port or Port()
        self._when_drawn: Callable[[], None] | None = when_drawn
        self._is_seen = False
        self._kept = self.port.read_page_state()
        self._begun_s = time.monotonic()
        self._styled: tuple[str, frozenset[str]] | None = None
        self.snapshot = Snapshot()
        self.message = ""
        self._notice = ""
        self._reading = False
        self._pending = Pending(time.monotonic)
        self._asking: set[str] = set()
        self._stopping = False
        self._has_asked_to_start = self._has_turned_since = False
        self._read_at_s = 0.0
        self._read_at_cpu_s = 0.0
        # Textual takes an attribute named `_key_s` for what is to be done at the key s.
        self._last_key_s = float("-inf")
        self._steps_back_soon = False
        self._ticks: Timer | None = None
        self._rests = False
        """Only the slower timer runs."""
        self._repainter = Repainter(self, kernel_log) if kernel_log is not None else None

    def on_mount(self) -> None:
        """Go to the user's last page, read at once, then as often as events require."""
        if self._kept.page in self.MODES and self._kept.page != self.DEFAULT_MODE:
            self.switch_mode(self._kept.page)
        if self._kept.crash:
            self.message = _(
                "Internal error, the interface was restarted: {error}. "
                "The campaign is not affected."
            ).format(error=self._kept.crash)
        self._keep_page(self._kept.page or self.DEFAULT_MODE)
        if isinstance(self.screen, Page):
            self.screen.draw_all()
        self.read()
        self._ticks = self.set_interval(TICK_S, self._read_if_due)
        self.set_interval(_ALIVE_S, self._live)
        if self._repainter is not None:
            self._repainter.follow()

    def _live(self) -> None:
        self._say_alive()
        if self._rests:
            self._read_if_due()

    def _say_alive(self) -> None:
        # By the loop that hears keys: one that hangs is silent.
        if self._is_seen and not self.snapshot.hung:
            self.port.say_alive()

    def _read_if_due(self) -> None:
        priority.step_back_again(quiet_s=_KEY_AT_MOST_S)
        if self._reading:
            self._tell_if_hung()
            return
        status, is_counting = self.snapshot.status, self.snapshot.countdown is not None
        is_beside = status is not None and status.step is not None
        # Beside a step a whole reading may be due only when the countdown is over.
        glance = self.port.glance()
        if (glance.is_counting and not is_counting) or (is_beside and not glance.has_step):
            self.read()
            return
        since_key_s = time.monotonic() - max(self._last_key_s, self._begun_s)
        is_unattended = since_key_s >= UNATTENDED_S
        if is_beside and is_unattended and not is_counting:
            self._rest()
        else:
            self._rest_no_more()
        every_s = read_every_s(
            hurried=is_counting
            or self._pending.is_due
            or (not self.snapshot.busy and (self.snapshot.looking or not self.snapshot.is_read)),
            typing=time.monotonic() - self._last_key_s < _TYPING_S,
            unattended=is_unattended,
            beside_step=is_beside,
            cost_s=time.process_time() - self._read_at_cpu_s,
        )
        if time.monotonic() - self._read_at_s >= every_s - TICK_S / 2:
            self.read()

    def _rest(self) -> None:
        """Beside a step, with nobody at the keys, the slower of the two timers is enough."""
        if self._ticks is not None and not self._rests:
            self._rests = True
            self._ticks.pause()

    def _rest_no_more(self) -> None:
        if self._ticks is not None and self._rests:
            self._rests = False
            self._ticks.resume()

    def _tell_if_hung(self) -> None:
        if time.monotonic() - self._read_at_s > _HUNG_S and not self.snapshot.hung:
            self._take(replace(self.snapshot, hung=True, silent=True))

    def read(self) -> None:
        """Read a snapshot, unless the reading before still hangs."""
        if not self._reading:
            self._reading = True
            self._read_at_s = time.monotonic()
            self._read_at_cpu_s = time.process_time()
            self.run_worker(self._read(), group="read", exit_on_error=False)

    async def _read(self) -> None:
        try:
            snapshot = await asyncio.to_thread(self.port.read_snapshot)
        finally:
            self._reading = False
        if self._is_seen and snapshot.busy:
            self._go_on()  # first: drawing the campaign's page could disturb its measurement
        if snapshot != self.snapshot:
            self._take(snapshot)
            await asyncio.to_thread(self.port.say_ready)
            if not self._is_seen:
                self._is_seen = True
                self.call_after_refresh(self._ask_size)
                # Drives may be long in coming, and so may the next reading.
                self.set_timer(_LIST_AT_MOST_S, self._go_on)
        is_complete = snapshot.is_read and not snapshot.looking
        if self._when_drawn is not None and (snapshot.busy or is_complete):
            self.call_after_refresh(self._go_on)
        if self._pending.take_late():
            # It is shown nevertheless when it comes.
            self.say(_("The engine has not answered yet. Page 3 shows what it is doing."))

    def _ask_size(self) -> None:
        # The engine does not read the terminal of an interface that says it is alive. So it cannot
        # take the terminal's answer for a key.
        self._say_alive()
        self._write(terminal.ASK_SIZE)

    def _go_on(self) -> None:
        """Let others go first, and load what the first page did without; once."""
        when_drawn, self._when_drawn = self._when_drawn, None
        if when_drawn is not None:
            when_drawn()
            self.run_worker(asyncio.to_thread(_load_later), exit_on_error=False)

    def _take(self, snapshot: Snapshot) -> None:
        before, self.snapshot = self.snapshot, snapshot
        old_message = "" if self._has_asked_to_start else self.message
        self._settle_requests(snapshot)
        if snapshot.countdown is None:
            self._stopping = False
        if was_parted(before, snapshot) and snapshot.status is not None:
            self.say(snapshot.status.message)
        started = snapshot.busy and not before.busy
        # What an interface that ended has left its user with was seen.
        missed = has_missed_end(before, snapshot) and (before.is_read or not self._kept.page)
        if started or missed:
            # A user who started it here, and has turned to a page since, stays there.
            has_turned = self._has_turned_since
            started, missed = started and not has_turned, missed and not has_turned
            self._has_asked_to_start = self._has_turned_since = False
        counting = snapshot.countdown is not None and before.countdown is None
        # What goes on already is no reason to leave the user's page.
        goes_on = before.status is None and bool(self._kept.page)
        if not snapshot.busy or isinstance(self.screen, Page):
            self._notice = ""
        if (started or counting or missed) and not goes_on and self.current_mode != _RUN:
            if isinstance(self.screen, Page):
                if self.message == old_message:  # it is about the page that is left
                    self.say("")
                self._go_to(_RUN)
            elif not missed:
                # What the user types is meant for the dialog.
                self._notice = _("The machine is in use now: see page 3.")
                self.say(self._notice)
        self._show_page()

    def _settle_requests(self, snapshot: Snapshot) -> None:
        for answer in self._pending.settle(reversed(snapshot.answers)):
            self.say(describe_answer(answer))
            if answer.kind == "stop":
                self._stopping = False

    def _show_page(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, Page) and screen.is_mounted:
                screen.show_all()
            elif isinstance(screen, Dialog) and screen.is_mounted:
                screen.show_notice(self._find_notice())

    def _find_notice(self) -> str:
        """What must be seen though a box may hide all of the page."""
        if self.snapshot.countdown is not None:
            return describe_countdown(self.snapshot.countdown)
        return describe_trouble(self.snapshot).partition("\n")[0] or self._notice

    def say(self, message: str) -> None:
        """Put one line where the person looks for answers."""
        self.message = fit_message(message, max(40, self.size.width - 2))
        for screen in self.screen_stack:
            if isinstance(screen, Page) and screen.is_mounted:
                screen.show_message(self.message)

    def run_flow(self, flow: Coroutine[Any, Any, object]) -> None:
        """Run what asks several things in a row; a failure ends it with a message."""
        self.run_worker(flow, group="flow", exit_on_error=False)

    def run_once(self, name: str, flow: Coroutine[Any, Any, None]) -> None:
        """The same, unless one of that `name` is under way: a key that bounces asks only once."""
        if name in self._asking:
            flow.close()
            return
        self._asking.add(name)
        self.run_flow(self._run_named(name, flow))

    async def _run_named(self, name: str, flow: Coroutine[Any, Any, None]) -> None:
        try:
            await flow
        finally:
            self._asking.discard(name)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report a failed worker; it costs nothing else."""
        if event.state == WorkerState.ERROR:
            error = event.worker.error
            if error is not None:
                tell_bug(error)
            self.say(
                _("Internal error: {error!r}. The campaign is not affected.").format(error=error)
            )

    async def call_port[T](self, function: Callable[[], T]) -> T | None:
        """What the port returns, or None when it refused, which is then on the message line."""
        try:
            return await asyncio.to_thread(function)
        except KaltstartError as error:
            self.say("\n".join(map(tell, dict.fromkeys((str(error), *map(str, error.problems))))))
            return None

    async def ask_engine(
        self, kind: str, payload: Mapping[str, Any] | None = None
    ) -> asyncio.Future[Answer] | None:
        """Insert a request, which None says failed; its answer arrives with a later snapshot."""
        request_id = await self.call_port(lambda: self.port.request(kind, payload))
        if request_id is None:
            self._stopping = False
            return None
        answer = self._pending.add(request_id)
        if kind in _STARTS:
            self._has_asked_to_start, self._has_turned_since = True, False
        what = name_request(kind)
        self.say(_("{what} requested, waiting for the engine ...").format(what=what))
        self._settle_requests(self.snapshot)  # it may have been read before its number was known
        self.read()
        return answer

    @override
    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Resize):
            columns, rows = terminal.find_usable(event.size, before=self.size)
            event = events.Resize.from_dimensions((columns, rows), None)
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
            return
        self._last_key_s = time.monotonic()
        self._rest_no_more()
        if self.snapshot.countdown is not None:
            self._stop_countdown()
        # No widget of a page takes keys but by bindings: they need not go through all of them.
        elif not (isinstance(self.screen, Page) and await self._check_bindings(event.key)):
            await super().on_event(event)
        # While Textual collects changes it would draw nothing, and forget what was to be drawn.
        if isinstance(self.screen, Layer) and not self._batch_count:
            self.screen.draw_changes()
        self._step_back_soon()

    def _step_back_soon(self) -> None:
        if priority.is_forward() and not self._steps_back_soon:
            self._steps_back_soon = True
            self.set_timer(priority.KEY_S, partial(self.call_after_refresh, self._step_back))

    def _step_back(self) -> None:
        priority.step_back_again()
        self._steps_back_soon = False
        self._step_back_soon()  # after another key

    def _stop_countdown(self) -> None:
        if not self._stopping:
            self._stopping = True
            self.say(_("Stopping the countdown ..."))
            self.run_flow(self.ask_engine("stop"))

    def action_page(self, name: str) -> None:
        """Go to a page."""
        self.say("")
        self._has_turned_since = self._has_asked_to_start
        self._go_to(name)

    @override
    def delay_update(self, delay: float = 0) -> None:
        """Nothing: Textual draws no page for 50 ms lest a half one be seen; these come whole."""

    @override
    def refresh_css(self, animate: bool = True) -> None:
        """Only where there is something new.

        Textual reads all styles again at the first two visits of each page.
        """
        styled = (self.theme, self.classes)
        if styled != self._styled:
            self._styled = styled
            super().refresh_css(animate=animate)

    def _go_to(self, name: str) -> None:
        is_other = name != self.current_mode
        self.switch_mode(name)
        if is_other and isinstance(self.screen, Page) and not self._batch_count:
            self.screen.come_up()
        self.call_after_refresh(self._keep_page, name)

    def _keep_page(self, name: str, *, crash: str = "") -> None:
        self.port.write_page_state(PageState(page=name, crash=crash))

    @override
    def _handle_exception(self, error: Exception) -> None:
        """A bug ends the interface, and systemd restarts it on the page where it was.

        Not where it has just begun: the page that ends it would do so for ever.
        """
        is_young = time.monotonic() - self._begun_s < _YOUNG_S
        page = self.DEFAULT_MODE if is_young else self.current_mode
        self._keep_page(page, crash=f"{type(error).__name__}: {error}")
        tell_bug(error)
        super()._handle_exception(error)

    def action_page_help(self) -> None:
        """What this page is for."""
        page = next((s for s in self.screen_stack if isinstance(s, Page)), None)
        if page is not None:
            from tui.machine.manual_screen import Help  # noqa: PLC0415  # see _LATER

            self.push_screen(Help(f" {_(page.TITLE)} ", _(page.HELP)), self._open_manual)

    def _open_manual(self, answer: str | None) -> None:
        if answer is not None:
            from tui.machine.manual_screen import show_manual  # noqa: PLC0415  # see _LATER

            self.run_once("manual", show_manual(self))

    def action_power(self) -> None:
        """Power off or restart, after a question."""
        if self.snapshot.busy:
            self.say(describe_busy(self.snapshot))
        else:
            self.run_once("power", self._ask_power())

    async def _ask_power(self) -> None:
        text = _("Power off or restart this machine?")
        choices = (("poweroff", _("Power off")), ("reboot", _("Restart")))
        answer = await self.push_screen_wait(Ask(_(" Power "), text, choices))
        if answer is not None and await self.ask_engine(answer) is None:
            hint = _("A short press of the power button also switches the machine off cleanly.")
            self.say(f"{self.message}\n{hint}")

    def action_repaint(self) -> None:
        """Clear the terminal, draw everything, and ask how large it is."""
        self._write(terminal.CLEAR + terminal.ASK_SIZE)
        for screen in self.screen_stack:
            if isinstance(screen, Dialog):
                screen.look_below()
        self.refresh(layout=True)

    def _write(self, codes: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(codes)

    def on_cursor_position(self, event: events.CursorPosition) -> None:
        """The terminal's answer to ASK_SIZE: the corner the cursor got to."""
        if terminal.set_size(columns=event.x + 1, rows=event.y + 1):
            self.refresh(layout=True)

    @override
    def action_help_quit(self) -> None:
        self.say(_("There is nothing to quit to. p: power off or restart."))
