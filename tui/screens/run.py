"""Page 3: the running campaign, what happens next, and stopping it."""

from typing import ClassVar, override

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from tui.charset import shorten
from tui.screens.page import Page
from tui.state import Campaign, CampaignDrive, Event, Snapshot
from tui.widgets.figures import draw_digits, draw_progress
from tui.widgets.line import Line

_EVENTS = 8


class RunPage(Page):
    """Everything about the campaign of now on one screen."""

    NAME: ClassVar[str] = "run"
    TITLE: ClassVar[str] = "Run"
    AUTO_FOCUS = "VerticalScroll"
    HELP: ClassVar[str] = (
        "The campaign that has the machine: how far it is, the last and best boot of each drive, "
        "and what happens next.\n\n"
        "The machine powers itself off and on between boots. Samples are stored on the stick "
        "before each power-off, so pulling the plug loses none.\n\n"
        "While a countdown runs, ANY key stops it.\n\n"
        "s  stop safely: the campaign pauses and can go on later\n"
        "r  go on with a paused campaign"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "stop", show=False),
        Binding("r", "resume", show=False),
    ]

    @override
    def compose_body(self) -> ComposeResult:
        with VerticalScroll():
            yield Line(id="campaign")
            yield Line(id="now")
            yield Line(id="drives", classes="gap")
            yield Line(id="events", classes="gap")

    @override
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        if snapshot.busy:
            return [("s", "stop safely")]
        if _paused(snapshot):
            return [("r", "go on")]
        return []

    @override
    def show(self, snapshot: Snapshot) -> None:
        width = max(40, self.size.width - 4)
        campaign = snapshot.current
        self.query_one("#campaign", Line).show(
            describe_campaign(campaign) if campaign else "No campaign yet: start one on page 2."
        )
        now = self.query_one("#now", Line)
        now.show(describe_now(snapshot, width))
        now.display = bool(now.text)
        drives = self.query_one("#drives", Line)
        drives.show(describe_drives(campaign.drives, width) if campaign else "")
        drives.display = campaign is not None
        self.query_one("#events", Line).show(describe_events(snapshot.events[-_EVENTS:], width))

    def action_stop(self) -> None:
        """Stop safely."""
        if self.kaltstart.snapshot.busy:
            self.kaltstart.run_flow(self.kaltstart.ask_engine("stop"))
        else:
            self.kaltstart.say("Nothing is running.")

    def action_resume(self) -> None:
        """Go on with a paused campaign."""
        campaign = _paused(self.kaltstart.snapshot)
        if campaign is None:
            self.kaltstart.say("No campaign is paused.")
        else:
            self.kaltstart.run_flow(
                self.kaltstart.ask_engine("resume", {"campaign_id": campaign.id})
            )


def _paused(snapshot: Snapshot) -> Campaign | None:
    campaign = snapshot.current
    if snapshot.busy or campaign is None or campaign.state != "paused":
        return None
    return campaign


def describe_campaign(campaign: Campaign) -> str:
    """Name, state and how far it is."""
    behind = campaign.done + campaign.failed
    where = f"boot {min(behind + 1, campaign.planned)} of {campaign.planned}"
    if campaign.state == "done":
        where = f"{behind} of {campaign.planned} boots"
    text = (
        f'Campaign {campaign.id} "{campaign.name}": {campaign.state.upper()}, {where}'
        f" ({campaign.done} done, {campaign.failed} failed)"
    )
    return f"{text}\nReason: {campaign.reason}" if campaign.reason else text


def describe_now(snapshot: Snapshot, width: int) -> str:
    """The countdown, the progress and what happens next."""
    status = snapshot.status
    if status is None:
        return ""
    parts = []
    if snapshot.countdown is not None:
        parts.append(draw_digits(snapshot.countdown.remaining_s))
    if status.progress is not None:
        progress = status.progress
        bar = draw_progress(progress.done_bytes, progress.total_bytes, max(10, width - 8))
        parts.append(
            f"{progress.label}: {progress.done_bytes / 1e6:,.0f} of"
            f" {progress.total_bytes / 1e6:,.0f} MB\n{bar}"
        )
    if status.next:
        parts.append(f"Next: {status.next}")
    return "\n".join(parts)


def describe_drives(drives: tuple[CampaignDrive, ...], width: int) -> str:
    """A line per drive: boots done, last and best time."""
    longest = max([6, *(len(f"{d.identity} {d.model}") for d in drives)])
    name = max(6, min(longest, width - 44))
    lines = [f"{'Drive':{name}}  {'Role':7} {'Boots':>7}  {'Last s':>8} {'Best s':>8}  Failed"]
    for drive in drives:
        times = drive.times_s
        failed = sum(not boot.valid for boot in drive.boots)
        last, best = (f"{times[-1]:.2f}", f"{min(times):.2f}") if times else ("-", "-")
        lines.append(
            f"{shorten(f'{drive.identity} {drive.model}', name):{name}}  {drive.role:7}"
            f" {f'{len(drive.boots)}/{drive.planned}':>7}  {last:>8} {best:>8}  {failed or '-'}"
            f"{'  GAVE UP: ' + drive.failed_reason if drive.failed_reason else ''}"
        )
    return "\n".join(lines)


def describe_events(events: tuple[Event, ...], width: int) -> str:
    """The last lines of the log, each with its time of day."""
    if not events:
        return "No events yet."
    marks = {"info": " ", "warning": "!", "error": "E"}
    return "Events, newest first (! warning, E error):\n" + "\n".join(
        shorten(f"{event.at[11:19]} {marks.get(event.level, '?')} {event.text}", width)
        for event in reversed(events)
    )
