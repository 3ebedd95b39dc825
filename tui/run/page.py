# SPDX-License-Identifier: Apache-2.0
"""Page 3: the running campaign, its boots and steps, what happens next, and stopping it."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import ClassVar, override

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from tui.charset import drawable, shorten, shorten_name
from tui.figures.boots import draw_boots
from tui.format import show_bytes, show_iops, show_rate
from tui.language import N_, _
from tui.model.campaigns import Campaign
from tui.model.engine_words import name_device, say
from tui.model.estimate import describe_time_left
from tui.model.snapshot import Rate, Snapshot
from tui.model.status import ARRAY, Progress, RunningStep, StepNow
from tui.page import Page, describe_busy, entitle, say_none
from tui.roles import paint
from tui.run.charts import draw_activity, draw_course
from tui.run.drive_dialog import DriveDialog
from tui.run.events import describe_events
from tui.run.judged import draw_judged, list_ways_on
from tui.run.lines import describe_campaign, describe_drives, name_part
from tui.run.resume import describe_resumption
from tui.run.shelf import is_shelf
from tui.run.shelf_view import Shelf
from tui.run.skip import find_skippable, find_skippable_boots
from tui.run.skip_dialog import skip_boots, skip_step
from tui.widgets.big_words import draw_words
from tui.widgets.dialog import Ask
from tui.widgets.figures import draw_progress
from tui.widgets.line import Line
from tui.widgets.table import Table

_WAKE = N_(
    "This machine was not seen to wake from power-off by its clock.\n\n"
    "By hand: someone presses its button after each power-off, or another computer switches it "
    "on (ipmitool chassis power on). The drives' own counts still prove each cold boot.\n\n"
    "Warm boots: the machine restarts, and the drives keep their power. What a drive remembers in "
    "its RAM is not forgotten.\n\n"
    "Or cancel, change the firmware's setup (ErP or deep sleep off; its own RTC alarm off, else "
    "on), and resume the campaign: it tries again."
)

_WORKS = {
    "upgrade": N_("The stick is being upgraded; then the machine restarts."),
    "dismantle": N_("An array is being dismantled."),
}
"""What is running where it is no campaign."""

_BELOW_LETTERS = 15
"""Lines of a page with large letters that are not theirs, with some for the drives themselves."""


class RunPage(Page):
    """Everything about the campaign of now on one screen."""

    NAME: ClassVar[str] = "run"
    TITLE: ClassVar[str] = N_("Run")
    AUTO_FOCUS = "VerticalScroll"
    HELP: ClassVar[str] = N_(
        "The running campaign, and what happens next. Samples are stored before each "
        "power-off, so pulling the plug loses none. A workload is a step in parts; each part is "
        "stored when it is done.\n\n"
        '"Drive now" is what the drive itself does, without what RAM answers; busy is the '
        "share of time with requests in progress; a dot in a chart: nothing is known. Three "
        "drives and more have a line each: Enter shows, pauses, stops or skips one; o, O "
        "sort. At the end large letters count the accepted ones. ¼: a quick look.\n\n"
        "Time left is an estimate: at the drive's own rate now, or what it says of its self-"
        "test, else from earlier work. In a countdown, ANY key stops it.\n\n"
        "h  pause once the current part is stored; power stays on\n"
        "s  stop now: the current part is measured again later\n"
        "k  skip what runs, or while paused what is next; asks first\n"
        "r  resume a paused campaign; asks first if that writes"
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "stop", show=False),
        Binding("h", "pause", show=False),
        Binding("k", "skip", show=False),
        Binding("r", "resume", show=False),
        Binding("w", "wake", show=False),
        Binding("o", "sort(1)", show=False),
        Binding("O", "sort(-1)", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._resuming = False

    @override
    def compose_body(self) -> ComposeResult:
        yield Line(id="rejected")
        yield Line(id="accepted")
        yield Line(id="judged")
        with VerticalScroll():
            yield Line(id="campaign")
            yield Line(id="now")
            yield Line(id="left")
            yield Line(id="course", classes="gap")
            yield Line(id="activity", classes="gap")
            yield Line(id="drives", classes="gap")
            yield Line(id="boots", classes="gap")
            yield Line(id="events", classes="gap")
        yield Shelf()

    @override
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        skip = [("k", _("skip step"))] if find_skippable(snapshot) else []
        if find_skippable_boots(snapshot):
            skip = [("k", _("skip boots"))]
        if is_shelf(snapshot.current):
            return self.query_one(Shelf).list_keys(snapshot)
        if snapshot.busy:
            return [("s", _("stop now")), *_list_pause_keys(snapshot.current), *skip]
        if snapshot.paused:
            wake = [("w", _("choose"))] if snapshot.paused.is_wake_asked else []
            return [*wake, ("r", _("resume")), *skip]
        return list_ways_on(snapshot.current)

    @override
    def show(self, snapshot: Snapshot) -> None:
        width = max(40, self.app.size.width - 4)
        campaign = snapshot.current
        about = say_none(snapshot, _("No campaign yet: start one on page 2."))
        if snapshot.work:
            about = _(_WORKS.get(snapshot.work, snapshot.work))
        elif campaign is not None:
            about = describe_campaign(campaign, width)
        paused = snapshot.paused
        if paused is not None and paused != campaign:
            about += "\n" + _('Campaign {id} "{name}" is PAUSED: r resumes it').format(
                id=paused.id, name=paused.name
            )
        entitle(self.query_one(VerticalScroll), _("Now") if snapshot.work else _("Campaign"))
        many = is_shelf(campaign)
        above = self._show_judged(campaign, width)
        self.query_one("#campaign", Line).show(about)
        now = self.query_one("#now", Line)
        now.show(paint(describe_now(snapshot, width, many=many)))
        now.display = bool(now.text)
        is_live = snapshot.busy and not snapshot.silent
        for name, text in self._describe_live(snapshot, width).items():
            line = self.query_one(name, Line)
            line.show(paint(text, has_heads=True) if is_live else "")
            line.display = bool(line.text)
        drives = self.query_one("#drives", Line)
        about_each = describe_drives(campaign, width) if campaign and not many else ""
        drives.show(paint(about_each, has_heads=True))
        drives.display = campaign is not None and not many
        events = self.query_one("#events", Line)
        log = "" if many else describe_events(snapshot.events, width)
        events.show(paint(log, has_heads=bool(snapshot.events)))
        events.display = not many
        self._show_boots(None if many else campaign, width, above=above)
        self._show_shelf(campaign, snapshot, width, many=many)

    def _show_boots(self, campaign: Campaign | None, width: int, *, above: int) -> None:
        """As many charts of the boots as there is room for without scrolling.

        `above`: lines of the page that are above the panel.
        """
        boots = self.query_one("#boots", Line)
        others = [line for line in self.query_one(VerticalScroll).query(Line) if line is not boots]
        other_lines = sum(len(line.text.splitlines()) + 1 for line in others if line.display)
        room = self.query_one("#body").size.height - 2 - above - other_lines
        timed = [part for drive in campaign.drives for part in drive.by_power] if campaign else []
        charts = []
        for chart in draw_boots(timed, width):
            room -= chart.count("\n") + 2
            if room < 0:
                break
            charts.append(chart)
        boots.show(paint("\n\n".join(charts), has_heads=True))
        boots.display = bool(charts)

    def _show_shelf(
        self, campaign: Campaign | None, snapshot: Snapshot, width: int, *, many: bool
    ) -> None:
        shelf, others = self.query_one(Shelf), self.query_one(VerticalScroll)
        was_many, shelf.display = shelf.display, many
        self.set_class(many, "many")
        if many and campaign is not None:
            shelf.show(campaign, snapshot, width)
        if was_many != many or self.focused is None:
            (shelf.query_one(Table) if many else others).focus()

    def _show_judged(self, campaign: Campaign | None, width: int) -> int:
        """How many lines it takes."""
        screen = self.app.size.height
        height = min(screen // 2, screen - _BELOW_LETTERS)
        judged = draw_judged(campaign, width=width, height=height)
        texts: dict[str, str | Text] = {
            "#rejected": judged.bad if judged else "",
            "#accepted": judged.good if judged else "",
            "#judged": judged.rest if judged else "",
        }
        is_clean = judged is not None and judged.is_clean
        count = 2 if is_clean else 0  # the frame
        for name, text in texts.items():
            line = self.query_one(name, Line)
            line.show(text)
            line.display = bool(text)
            parts = line.text.splitlines()
            count += sum(max(1, len(textwrap.wrap(part, width))) for part in parts) + bool(parts)
        self.query_one("#accepted").set_class(is_clean, "clean")
        return count

    def _describe_live(self, snapshot: Snapshot, width: int) -> dict[str, str]:
        course, activity, time_left = snapshot.course, snapshot.activity, snapshot.time_left
        height = self.app.size.height
        has_step = snapshot.status is not None and snapshot.status.step is not None
        if is_shelf(snapshot.current):
            course, activity, has_step = None, (), False
        return {
            "#left": describe_time_left(time_left, has_step=has_step) if time_left else "",
            "#course": draw_course(course, width=width, screen_height=height) if course else "",
            "#activity": draw_activity(activity, width) if activity else "",
        }

    def action_stop(self) -> None:
        """Stop safely."""
        if self.kaltstart.snapshot.busy:
            self.kaltstart.run_flow(self.kaltstart.ask_engine("stop"))
        else:
            self.kaltstart.say(_("Nothing is running."))

    def action_pause(self) -> None:
        """Hold at the next safe point."""
        app, campaign = self.kaltstart, self.kaltstart.snapshot.current
        if app.snapshot.work:
            app.say(describe_busy(app.snapshot))
        elif not app.snapshot.busy or campaign is None:
            app.say(_("Nothing is running."))
        else:
            app.run_flow(app.ask_engine("pause", {"campaign_id": campaign.id}))

    def on_shelf_cursor_moved(self) -> None:
        """Another drive may have something to skip."""
        self.show_keys()

    def on_data_table_row_selected(self) -> None:
        """Enter on a drive: all of it, and what can be done about it alone."""
        self.kaltstart.run_once("drive", self._show_drive())

    async def _show_drive(self) -> None:
        app, shelf = self.kaltstart, self.query_one(Shelf)
        line, campaign = shelf.selected, app.snapshot.current
        if line is None or campaign is None:
            return
        skippable = shelf.find_skippable(app.snapshot)
        is_busy, can_skip = app.snapshot.busy, skippable is not None
        dialog = DriveDialog(line, campaign, is_busy=is_busy, can_skip=can_skip)
        answer = await app.push_screen_wait(dialog)
        about = {"campaign_id": campaign.id, "drive_id": line.drive_id}
        match answer:
            case "pause" | "stop":
                await app.ask_engine("pause-drive", about | {"at_once": answer == "stop"})
            case "resume":
                await app.ask_engine("resume-drive", about)
            case "skip" if skippable is not None:
                await skip_step(app, skippable[0], (skippable[1],))

    def action_sort(self, step: int) -> None:
        """The lines by another column."""
        snapshot = self.kaltstart.snapshot
        if snapshot.current is not None and is_shelf(snapshot.current):
            width = max(40, self.app.size.width - 4)
            self.query_one(Shelf).sort(step, snapshot.current, snapshot, width)
            self.show_keys()

    def action_skip(self) -> None:
        """Give up the step that runs, or what comes next, after a question."""
        app, paused = self.kaltstart, self.kaltstart.snapshot.paused
        current = app.snapshot.current
        if is_shelf(current) and (paused is None or paused == current):
            self._skip_on_shelf()
            return
        drives = find_skippable_boots(app.snapshot)
        pair = find_skippable(app.snapshot)
        if paused is not None and drives:
            app.run_once("skip", skip_boots(app, paused, drives))
        elif pair is not None:
            app.run_once("skip", skip_step(app, *pair))
        else:
            app.say(_("There is no step to skip now; a paused campaign may have one."))

    def _skip_on_shelf(self) -> None:
        app = self.kaltstart
        if skippable := self.query_one(Shelf).find_skippable(app.snapshot):
            app.run_once("skip", skip_step(app, skippable[0], (skippable[1],)))
        else:
            app.say(_("This drive has no step to skip now; a paused campaign may have one."))

    def action_wake(self) -> None:
        """What follows where the machine does not wake by its clock."""
        paused = self.kaltstart.snapshot.paused
        if paused is None or not paused.is_wake_asked:
            self._say_none(_("No campaign waits for a choice."))
        else:
            self.kaltstart.run_once("wake", self._choose_wake(paused))

    def _say_none(self, none: str) -> None:
        self.kaltstart.say(say_none(self.kaltstart.snapshot, none))

    async def _choose_wake(self, campaign: Campaign) -> None:
        choices = (("people", _("By hand")), ("warm", _("Warm boots")))
        choice = await self.app.push_screen_wait(Ask(_(" Wake-up "), _(_WAKE), choices))
        if choice is not None:
            payload = {"campaign_id": campaign.id, "choice": choice}
            await self.kaltstart.ask_engine("wake-choice", payload)

    def action_resume(self) -> None:
        """Go on with a paused campaign, or after all with one that is about to pause."""
        current = self.kaltstart.snapshot.current
        if self.kaltstart.snapshot.busy and current is not None and current.is_pausing:
            payload = {"campaign_id": current.id}
            self.kaltstart.run_flow(self.kaltstart.ask_engine("keep-running", payload))
            return
        campaign = self.kaltstart.snapshot.paused
        if campaign is None:
            self._say_none(_("No campaign is paused."))
        elif not self._resuming:
            self._resuming = True
            self.kaltstart.run_flow(self._resume(campaign))

    async def _resume(self, campaign: Campaign) -> None:
        app = self.kaltstart
        try:
            app.say(_("Checking what is left to do ..."))
            names = await app.call_port(lambda: app.port.find_written(campaign.id))
            if names is None:
                return
            app.say("")
            if names:
                text = describe_resumption(campaign, names, app.snapshot.drives)
                choices = (("resume", _("Resume and write")),)
                if await app.push_screen_wait(Ask(_(" Resume "), text, choices)) is None:
                    return
            await app.ask_engine("resume", {"campaign_id": campaign.id})
        finally:
            self._resuming = False


def _list_pause_keys(campaign: Campaign | None) -> list[tuple[str, str]]:
    if campaign is None or campaign.state not in {"preparing", "running"}:
        return []
    return [("r", _("do not pause")) if campaign.is_pausing else ("h", _("pause after this part"))]


def describe_now(snapshot: Snapshot, width: int, *, many: bool = False) -> str:
    """The countdown, the running step, its progress and what happens next.

    `many`: each drive has its line below.
    """
    status = snapshot.status
    if status is None or snapshot.is_overtaken:
        return ""
    parts = []
    if snapshot.countdown is not None:
        parts.append(draw_words(str(max(0, snapshot.countdown.remaining_s)), width=width))
    if status.steps and many:
        return "\n".join(parts)
    if status.steps:
        parts.append(describe_steps(status.steps, dict(status.temperatures), width))
        return "\n".join(parts)
    if status.step is not None:
        parts.append(describe_step(status.step, width))
    if status.progress is not None:
        parts.append(describe_progress(status.progress, width))
    if status.step is not None and snapshot.rates and not many:
        parts.append(describe_rates(snapshot.rates))
    if status.step is not None and status.temperatures and not many:
        parts.append(describe_temperatures(status.temperatures, width))
    if status.next:
        parts.append(_("Next: {what}").format(what=say(status.next)))
    return "\n".join(parts)


def describe_step(step: StepNow, width: int) -> str:
    """`Step 2 of 7: lottery on LAB-SSD-1` and its part, as large as a text can be."""
    if step.kind == ARRAY:
        return _("The array is dismantled")
    place = _("Step {number} of {count}: {kind} on {device}").format(
        number=step.position, count=step.of, kind=step.kind, device=name_device(step.device)
    )
    part = _("preparing")
    if step.part:
        part = _("part {number} of {count}: {part}").format(
            number=step.part_number, count=step.parts, part=name_part(step)
        )
    both = f"{place}, {part}"
    return both if len(both) <= width else f"{shorten(place, width)}\n  {shorten(part, width - 2)}"


def describe_steps(
    steps: Sequence[RunningStep], temperatures: Mapping[str, float], width: int
) -> str:
    """A line for each of the steps that run at the same time."""
    names = [drawable(entry.step.device) for entry in steps]
    longest = min(max(map(len, names)), max(12, width - 46))
    lines = [_("{count} drives are tested at the same time:").format(count=len(steps))]
    for name, entry in zip(names, steps, strict=True):
        step, done, total = entry.step, entry.progress.done_bytes, entry.progress.total_bytes
        part = f"{step.part_number}/{step.parts}" if step.part else "-"
        share = f"{100 * done / total:.0f} %" if total > 0 else ""
        celsius = temperatures.get(step.device)
        warm = "" if celsius is None else f"{celsius:.0f} °C"
        line = (
            f"{shorten_name(name, longest):{longest}}  {step.kind:9} {part:>9} {share:>6} {warm:>6}"
        )
        # What keeps a step from going on must be seen: a drive that does not answer, for one.
        what = "" if step.part and total > 0 else say(entry.progress.label)
        if step.part and what == step.part:
            what = name_part(step)
        lines.append(shorten(f"{line}  {what}".rstrip(), width))
    return "\n".join(lines)


def describe_progress(progress: Progress, width: int) -> str:
    """What is being done, how much of it is, and a bar; without a total only what."""
    done, total = progress.done_bytes, progress.total_bytes
    if total <= 0:
        return f"{say(progress.label)} ..."
    # Workloads without bytes count something else; no step of so few bytes is worth a bar.
    amount = _("{done} of {total}").format(done=done, total=total)
    if total >= 1e6:
        amount = _("{done} of {total}").format(done=show_bytes(done), total=show_bytes(total))
    return f"{say(progress.label)}: {amount}\n{draw_progress(done, total, max(10, width - 8))}"


def describe_rates(rates: Sequence[Rate]) -> str:
    """What the drive itself does now, or the array and its two drives."""
    names = [_("{name} now:").format(name=_(rate.name)) for rate in rates]
    width = max(map(len, names))
    lines = []
    for name, rate in zip(names, rates, strict=True):
        writes = _("not known") if rate.lacks_writes else show_rate(rate.write_bytes_s)
        does = _("read {read}; write {write}").format(
            read=f"{show_rate(rate.read_bytes_s)}, {show_iops(rate.read_iops)}",
            write=f"{writes}, {show_iops(rate.write_iops)}",
        )
        lines.append(f"{name:{width}} {does}")
    return "\n".join(lines)


def describe_temperatures(temperatures: Sequence[tuple[str, float]], width: int) -> str:
    """How warm the drives of the running step are; with several each by its name."""
    if len(temperatures) == 1:
        return _("Temperature: {all}").format(all=f"{temperatures[0][1]:.0f} °C")
    texts = (f"{identity} {celsius:.0f} °C" for identity, celsius in temperatures)
    text = _("Temperature: {all}").format(all=", ".join(texts))
    return textwrap.fill(drawable(text), width, subsequent_indent="  ", break_on_hyphens=False)
