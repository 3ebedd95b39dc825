# SPDX-License-Identifier: Apache-2.0
"""Page 4: the results of every campaign on this stick: boots, steps and their figures."""

import textwrap
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import ClassVar, override

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from appliance.store.read.overview import BootRow
from appliance.store.tables.verdicts import VerdictRow
from tui import language
from tui.charset import drawable, shorten, shorten_name
from tui.figures.boots import draw_boots
from tui.figures.comparisons import describe_comparisons, draw_comparisons
from tui.figures.contention import ContentionSentence, describe_contention
from tui.figures.sample_spreads import draw_spreads
from tui.figures.side_ratios import SideRatio, describe_boot_ratios, describe_side_ratios
from tui.format import show_number
from tui.language import N_, _
from tui.model.campaigns import Campaign, CampaignDrive, Figure, Step
from tui.model.engine_words import name_device, name_role, say
from tui.model.snapshot import Snapshot
from tui.model.verdicts import SIGNS, describe_depth, find_sign, list_reasons
from tui.page import Group, Page, describe_busy, entitle, say_none
from tui.results.compare import compare
from tui.results.import_campaigns import import_campaigns
from tui.results.raw import show_raw
from tui.results.reports import delete_report, write_all
from tui.roles import ACCENT, BAD, GOOD, QUIET, WARNING, paint
from tui.widgets.big_words import draw_words
from tui.widgets.figures import draw_bar
from tui.widgets.line import Line
from tui.widgets.table import Table, make_cell

_LISTED, _LISTED_IF_TALL, _TALL = 3, 6, 32
"""Campaigns in sight, and from so many lines of the screen on more of them."""
_WIDE, _LIST_COLUMNS = 150, 40
"""From so many columns on the campaigns are beside their results, in a list of that width."""
ROOM_FOR_ALL_KEYS = 90
"""Columns that all keys of the page take, in any language."""
_FRAME = 4
"""Columns of the results' panel beside their text: lines, padding and the scrollbar."""
_CELL = 8
_FIGURES = (
    *((N_("median"), 9), (N_("best"), 9), (N_("first/last"), 11)),
    *((N_("valid"), 7), (N_("failed"), 7)),
)
_STATES = (
    *(N_("preparing"), N_("running"), N_("paused"), N_("planned"), N_("done")),
    *(N_("RUNNING"), N_("FAILED"), N_("SKIPPED")),
)
_VERDICTS = (N_("accept"), N_("accept with remarks"), N_("REJECT"))
"""As the database has them, in capitals if the user must look."""
_OUTCOMES = (
    ("reject", N_("REJECT"), BAD),
    ("accept with remarks", N_("REMARKS"), WARNING),
    ("quick look", N_("QUICK LOOK"), ACCENT),
    ("accept", N_("ACCEPT"), GOOD),
)
"""The worst first: what is written in large letters, and its colour."""
_DEPTHS = (N_("quick look"), N_("surface read"), N_("written and read back"))
"""As the database has them: how deep a campaign looked at a drive."""


class ResultsPage(Page):
    """The campaigns above, the boots and steps of the chosen one below."""

    NAME: ClassVar[str] = "results"
    TITLE: ClassVar[str] = N_("Results")
    AUTO_FOCUS = "Table"
    HELP: ClassVar[str] = N_(
        "All campaigns on this stick: Up, Down choose; Tab goes to the results.\n\n"
        "Verdicts: whether each drive is within the limits of the policy. REJECT and remarks "
        "have their reasons below; ¼: a quick look, a part was never read.\n\n"
        "Boots: seconds, cold (after power-off) or warm, proven by the drive's own counter "
        "or not. In brackets: not valid; CHARTED: does not count. first/last above 1: it got "
        "faster. Boxplots: ├ minimum, █ middle half, │ median, ┤ maximum. Columns: one per "
        "boot, a dot if it does not count.\n\n"
        "Steps: main figures, and the state of the page cache: cold (the drive answered), "
        "warm (RAM answered), bypass, bounded, partial; unproven if there is no proof. Bars "
        "compare drives.\n\n"
        "Enter  raw output    w  rewrite report    a  all reports    d  delete it\n"
        "m  import another stick's campaigns: its kaltstart.sqlite, on KALTSTART\n"
        "c  compare a drive with one of another campaign or stick"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "report", show=False),
        Binding("a", "all_reports", show=False),
        Binding("d", "delete_report", show=False),
        Binding("m", "import_campaigns", show=False),
        Binding("c", "compare", show=False),
        Binding("enter", "raw", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._campaigns: tuple[Campaign, ...] = ()
        self._ratios: dict[_Work, tuple[SideRatio, ...]] = {}
        self._contention: dict[_Work, tuple[ContentionSentence, ...]] = {}
        self._laid_out: tuple[object, ...] = ()
        """What the list shows, and how."""

    @override
    def compose_body(self) -> ComposeResult:
        table = Table(show_header=False)
        table.add_column("campaign", key="campaign")
        with Group(id="campaigns"):
            yield table
            with Group(id="chosen"):
                with VerticalScroll():
                    yield Line(id="verdict")
                    yield Line(id="results")
                yield Line(id="report")

    @override
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        other = ("m", _("import"))
        if not snapshot.campaigns:
            return [other] if _may_ask(snapshot) else []
        is_listing = not self.query_one(VerticalScroll).has_focus
        tab = _("results") if is_listing else _("campaigns")
        keys = [("Tab", tab), (_("Enter"), _("raw"))]
        if not _may_ask(snapshot):
            return [(_("Up/Down"), _("choose") if is_listing else _("scroll")), *keys]
        # With these there is no room for what a list has anyway.
        keys += [("w", _("write report")), ("a", _("all")), other]
        has_room = self.app.size.width >= ROOM_FOR_ALL_KEYS
        return [*keys, ("c", _("compare"))] if has_room and len(snapshot.campaigns) > 1 else keys

    @override
    def show(self, snapshot: Snapshot) -> None:
        is_wide = self.app.size.width >= _WIDE
        laid_out = (snapshot.campaigns, language.current(), is_wide)
        if self._laid_out != laid_out:
            self._laid_out = laid_out
            self._fill(snapshot.campaigns, is_wide=is_wide)
        self._show_results()

    @override
    def on_mount(self) -> None:
        """Follow the cursor as page Drives does."""
        self.watch(self.query_one(Table), "cursor_coordinate", self._follow_cursor, init=False)

    def _follow_cursor(self) -> None:
        self.try_to_show(self._show_results)

    def on_descendant_focus(self) -> None:
        """Tab goes elsewhere now."""
        self.show_keys()

    def on_data_table_row_selected(self) -> None:
        """Enter."""
        self.action_raw()

    def action_raw(self) -> None:
        """Down to what the tools said."""
        campaign = self._selected()
        if campaign is not None:
            self.kaltstart.run_once("raw", show_raw(self.kaltstart, campaign))

    def action_report(self) -> None:
        """Have the engine write the report again."""
        campaign = self._selected()
        if self._may_write_reports() and campaign is not None:
            payload = {"campaign_id": campaign.id}
            self.kaltstart.run_flow(self.kaltstart.ask_engine("report", payload))

    def action_all_reports(self) -> None:
        """The same, for every campaign."""
        if self._may_write_reports():
            self.kaltstart.run_once("reports", write_all(self.kaltstart, self._campaigns))

    def action_delete_report(self) -> None:
        """Make room on KALTSTART; the campaign stays in the database."""
        campaign = self._selected()
        if campaign is None or not self._may_ask():
            return
        if campaign.report:
            self.kaltstart.run_once("reports", delete_report(self.kaltstart, campaign))
        else:
            self.kaltstart.say(_("This campaign has no report on KALTSTART."))

    def action_compare(self) -> None:
        """A drive of this campaign with one of another."""
        campaign = self._selected()
        if campaign is not None:
            self.kaltstart.run_once("compare", compare(self.kaltstart, campaign, self._campaigns))

    def action_import_campaigns(self) -> None:
        """Campaigns of another stick."""
        if self._may_ask():
            self.kaltstart.run_once("import", import_campaigns(self.kaltstart))

    def _may_write_reports(self) -> bool:
        if not self._campaigns:
            self.kaltstart.say(_("There is no campaign to report on."))
            return False
        return self._may_ask()

    def _may_ask(self) -> bool:
        """Whether the engine does such things now; if not, the reason is shown."""
        snapshot = self.kaltstart.snapshot
        if snapshot.busy:
            self.kaltstart.say(describe_busy(snapshot))
        elif not _may_ask(snapshot):
            self.kaltstart.say(_("That cannot be done now: see above."))
        return _may_ask(snapshot)

    def _fill(self, campaigns: tuple[Campaign, ...], *, is_wide: bool) -> None:
        before = self._selected()
        self._campaigns = campaigns
        table = self.query_one(Table)
        listed = _LISTED_IF_TALL if self.app.size.height >= _TALL else _LISTED
        self.query_one("#campaigns").set_class(is_wide, "wide")
        table.styles.width = _LIST_COLUMNS if is_wide else "100%"
        table.styles.height = "1fr" if is_wide else min(listed, max(1, len(campaigns))) + 2
        entitle(table, _("Campaigns"))
        table.clear()
        state = max([9, *(len(_(campaign.state)) for campaign in campaigns)])
        for campaign in campaigns:
            at = campaign.created_at[:16].replace("T", " ")
            line = f"{campaign.id:3}  {at}  {_(campaign.state):{state}}"
            if is_wide:
                name = f"     {shorten(campaign.name, _LIST_COLUMNS - _FRAME - 5)}"
                table.add_row(make_cell(line).append(f"\n{name}", QUIET), height=2)
            else:
                table.add_row(make_cell(f"{line}  {shorten(campaign.name, 51 - state)}"))
        for row, campaign in enumerate(campaigns):
            if before is not None and before.id == campaign.id:
                table.move_cursor(row=row)

    def _selected(self) -> Campaign | None:
        row = self.query_one(Table).cursor_row
        return self._campaigns[row] if 0 <= row < len(self._campaigns) else None

    def _show_results(self) -> None:
        campaign = self._selected()
        results, report = self.query_one("#results", Line), self.query_one("#report", Line)
        verdict = self.query_one("#verdict", Line)
        width = self.app.size.width
        width = max(40, width - _FRAME - (_LIST_COLUMNS if width >= _WIDE else 0))
        title = shorten(campaign.name, width - _FRAME) if campaign else _("Results")
        entitle(self.query_one(VerticalScroll), title)
        if campaign is None:
            none = _("No campaign on this stick yet.")
            results.show(say_none(self.kaltstart.snapshot, none))
            report.show("")
            verdict.display = False
            return
        where = (
            f"KALTSTART: {campaign.report}/report.html" if campaign.report else _("not written yet")
        )
        report.show(_("Report: {place}").format(place=where))
        work = _name_work(campaign)
        verdict.show(draw_verdict(campaign, width))
        verdict.display = bool(verdict.text)
        ratios, contention = self._ratios.get(work, ()), self._contention.get(work, ())
        text = describe_results(campaign, width, ratios, contention)
        results.show(paint_results(text))
        if _may_compare(campaign) and work not in self._ratios:
            self.kaltstart.run_once("ratios", self._read_ratios(campaign))

    async def _read_ratios(self, campaign: Campaign) -> None:
        """Reading all that a campaign measured takes a while: once, for the one that is looked at.

        Until then, and where it cannot be read, its figures stand alone.
        """
        app, work = self.kaltstart, _name_work(campaign)
        if any(step.kind == "contention" for step in campaign.steps):
            read_contention = partial(app.port.read_contention, campaign.id)
            self._contention[work] = await app.call_port(read_contention) or ()
        read = partial(app.port.read_side_ratios, campaign.id)
        self._ratios[work] = await app.call_port(read) or ()
        self.try_to_show(self._show_results)


type _Work = tuple[object, ...]


def _name_work(campaign: Campaign) -> _Work:
    """What changes where a campaign has measured something more."""
    return (campaign.id, campaign.created_at, *(step.state for step in campaign.steps))


def _may_compare(campaign: Campaign) -> bool:
    """Whether there is something, and nothing is measured meanwhile."""
    has_run = any(step.state != "planned" for step in campaign.steps)
    has_booted = any(drive.boots for drive in campaign.drives)
    return campaign.state in {"done", "paused"} and (has_run or has_booted)


def _may_ask(snapshot: Snapshot) -> bool:
    status = snapshot.status
    return status is not None and status.phase != "refused" and not snapshot.busy


def draw_verdict(campaign: Campaign, width: int) -> Text:
    """The worst of the campaign's verdicts in large letters, and on how many drives it is."""
    if not campaign.is_judged or campaign.judging_problem:
        return Text()
    outcomes: list[str] = [
        verdict.depth
        if (verdict.verdict, verdict.depth) == ("accept", "quick look")
        else verdict.verdict
        for verdict in campaign.verdicts
    ]
    for outcome, word, role in _OUTCOMES:
        if count := outcomes.count(outcome):
            words = draw_words(f"{SIGNS[outcome]} {count} {_(word)}", width=width, height=3)
            return Text().append(f"{words}\n", role)
    return Text()


def paint_results(told: str) -> Text:
    """The text of `describe_results` in its colours."""
    painted = paint(told, has_heads=True)
    painted.highlight_words((_("FAILED"), _("REJECT")), BAD)
    painted.highlight_words((_("RUNNING"), _("SKIPPED")), WARNING)
    return painted


def describe_results(
    campaign: Campaign,
    width: int,
    side_ratios: Sequence[SideRatio] = (),
    contention: Sequence[ContentionSentence] = (),
) -> str:
    """The table of all boots, the steps with their figures, and each drive's boots with proofs."""
    has_boots = any(drive.boots for drive in campaign.drives)
    verdicts = describe_verdicts(campaign, width)
    comes_first = campaign.is_judged or bool(campaign.judging_problem)
    blocks = [verdicts] if verdicts and comes_first else []
    blocks += [_describe_matrix(campaign.drives, width)] if has_boots else []
    if not has_boots and (campaign.planned or not campaign.steps):
        blocks.append(_("No boot of this campaign has finished yet."))
    if has_boots:
        blocks += describe_boot_ratios(campaign, width)
        apart = [part for drive in campaign.drives for part in drive.by_power]
        blocks += draw_boots(apart, width)
    if campaign.steps:
        blocks += describe_contention(contention, width)
        blocks += describe_comparisons(campaign, width)
    blocks += describe_side_ratios(side_ratios, width)
    if campaign.steps:
        blocks.append(describe_steps(campaign.steps, width))
        blocks += draw_comparisons(campaign, width)
        blocks += draw_spreads(campaign, width)
    if has_boots or campaign.skipped:
        longest = max([0.0, *(boot.boot_s or 0.0 for d in campaign.drives for boot in d.boots)])
        blocks += [
            _describe_boots(drive, longest, width)
            for drive in campaign.drives
            if drive.planned or drive.boots or drive.failed_reason
        ]
    blocks += [verdicts] if verdicts and not comes_first else []
    return "\n\n".join(blocks)


def describe_verdicts(campaign: Campaign, width: int) -> str:
    """A line per drive that was judged, and below it why it is not accepted as it is.

    Empty where none was.
    """
    if not campaign.verdicts and not campaign.judging_problem:
        return ""
    name = min(max([8, *(len(verdict.name) for verdict in campaign.verdicts)]), 28)
    is_plain = campaign.is_judged or not campaign.verdicts
    lines = [
        _("Verdicts") if is_plain else _("Verdicts, although no step that judges drives was run")
    ]
    if campaign.judging_problem:
        problems = say(campaign.judging_problem).splitlines()
        lines += _wrap("! " + _("Not judged: {reason}").format(reason="; ".join(problems)), width)
    for row in sorted(campaign.verdicts, key=_rank):
        verdict = row.verdict.upper() if row.verdict == "reject" else row.verdict
        line = f"{find_sign(row)} {shorten_name(row.name, name):{name}}  {_(verdict)}, "
        line += describe_depth(row) + (f"  {row.label}" if row.label else "")
        lines.append(f"  {shorten(line, width - 2)}")
        for reason in list_reasons(row):
            lines += _wrap(reason, width)
    return "\n".join(lines)


def _rank(verdict: VerdictRow) -> int:
    """What the user must act on comes first."""
    return list(SIGNS.values()).index(find_sign(verdict))


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(drawable(text), width, initial_indent="    ", subsequent_indent="      ")


def describe_steps(steps: tuple[Step, ...], width: int) -> str:
    """A line per step, and one per figure below it, which ends with the cache state it met."""
    figures = [figure for step in steps for figure in step.figures]
    name = min(max([4, *(len(figure.name) for figure in figures)]), 26)
    rest = width - 4 - name - 2
    fitting = [f for f in figures if len(_bracket(f)) + 2 + len(f.cache) <= rest]
    text = max([8, *(len(_bracket(figure)) for figure in fitting or figures)])
    head, cache = f"{_('Steps'):{4 + name}}  {_('Figures'):{text}}  ", _("Page cache")
    if len(head + cache) > width:
        cache = _("Cache")
    lines = [head + cache if figures else _("Steps")]
    for number, step in enumerate(steps, 1):
        reason = f": {say(step.reason)}" if step.reason else ""
        state = step.state if step.state in {"planned", "done"} else step.state.upper()
        what = _("{kind} on {device}").format(kind=step.kind, device=name_device(step.device))
        lines.append(shorten(f"{number:2}. {what}: {_(state)}{reason}", width))
        for note in step.array:
            lines += textwrap.wrap(
                drawable(note),
                width,
                initial_indent="    ",
                subsequent_indent="      ",
                max_lines=3,
            )
        for figure in step.figures:
            start = f"    {shorten(figure.name, name):{name}}  {_bracket(figure):{text}}"
            line = f"{start}  {figure.cache}"
            # The cache state is never cut off: without it a figure means nothing.
            is_wide = len(line) > width
            lines += [start.rstrip(), f"{figure.cache:>{width}}"] if is_wide else [line]
    return "\n".join(lines)


def _bracket(figure: Figure) -> str:
    return figure.text if figure.valid else f"({figure.text.strip()})"


def _describe_matrix(drives: tuple[CampaignDrive, ...], width: int) -> str:
    """Drive by cycle, in seconds; as many blocks of lines as the width demands."""
    booted = [drive for drive in drives if drive.planned or drive.boots]
    cycles = sorted({boot.cycle for d in drives for boot in d.boots if not boot.charted})
    name = min(max([6, len(_("Seconds")), *(len(drive.booted) for drive in booted)]), 28)
    at_once = max(1, (width - name - 2) // _CELL)
    blocks = []
    for start in range(0, len(cycles), at_once):
        part = cycles[start : start + at_once]
        head = "".join(f"{f'#{cycle}':>{_CELL}}" for cycle in part)
        lines = [f"{_('Seconds'):{name}}  {head}"]
        for drive in booted:
            by_cycle = {boot.cycle: boot for boot in drive.boots if not boot.charted}
            cells = "".join(f"{_show_time(by_cycle.get(cycle)):>{_CELL}}" for cycle in part)
            lines.append(f"{shorten_name(drive.booted, name):{name}}  {cells}")
        blocks.append("\n".join(lines))
    head = "".join(f"{_(word):>{columns}}" for word, columns in _FIGURES)
    apart = [part for drive in booted for part in drive.by_power]
    name = min(max(name, *(len(part.booted) for part in apart)), 28)
    lines = [f"{'':{name}}  {head}"]
    for drive in apart:
        row = "".join(
            f"{text:>{columns}}"
            for text, (_word, columns) in zip(_sum_up(drive), _FIGURES, strict=True)
        )
        lines.append(f"{shorten_name(drive.booted, name):{name}}  {row}")
    return "\n\n".join([*blocks, "\n".join(lines)])


def _sum_up(drive: CampaignDrive) -> tuple[str, ...]:
    times = drive.times_s
    is_first = any(boot.counts and boot.cycle == 1 for boot in drive.boots)
    figures = (
        (median(times), min(times), times[0] / times[-1] if is_first else None) if times else ()
    )
    timed = [boot for boot in drive.boots if not boot.trained]
    valid = sum(boot.valid for boot in timed)
    return (
        *(
            ["-" if figure is None else show_number(figure, ".2f") for figure in figures]
            or ["-"] * 3
        ),
        str(valid),
        str(len(timed) - valid),
    )


def _describe_boots(drive: CampaignDrive, longest: float, width: int) -> str:
    lines = [
        f"{drive.booted}  {drive.label or drive.model}, {_(drive.kind)}, {name_role(drive.role)}"
    ]
    if drive.failed_reason:
        lines.append("  " + _("GAVE UP: {reason}").format(reason=say(drive.failed_reason)))
    if drive.skipped:
        text = _("SKIPPED by a person: {count} of {planned} boots, not measured")
        lines.append("  " + text.format(count=drive.skipped, planned=drive.planned))
    proof = max(8, len(_("unproven")))
    for boot in drive.boots:
        how = f"{_(boot.power):4}  {_(boot.cold_proof):{proof}}"
        what = f"  {boot.cycle:4}  {how}  {_show_time(boot):>8}  "
        if boot.trained and boot.valid:
            lines.append(what.rstrip())
            continue
        if boot.boot_s is None or not boot.valid:
            lines.append(shorten(f"{what}{say(boot.cold_reason)}", width))
            continue
        charted = " " + _("CHARTED") if boot.charted else ""
        if boot.kernel_errors:
            charted += " " + _("KERNEL ERRORS")
        charted += {"proven": " " + _("cooled"), "unproven": " " + _("cooling unproven")}.get(
            boot.cooling, ""
        )
        lines.append(
            what
            + draw_bar(boot.boot_s, longest, width - len(what) - max(8, len(charted)))
            + charted
        )
    return "\n".join(lines)


def _show_time(boot: BootRow | None) -> str:
    if boot is None:
        return "-"
    if boot.trained and boot.valid:
        return _("untimed")
    if boot.boot_s is None:
        return _("FAILED")
    seconds = show_number(boot.boot_s, ".2f")
    return seconds if boot.valid else f"({seconds})"
