# SPDX-License-Identifier: Apache-2.0
"""Page 2: the plan on the stick, starting it, and composing a campaign by hand."""

import asyncio
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, override

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from tui.charset import drawable, drawable_lines
from tui.language import N_, _
from tui.model.draft import DraftCampaign, Mistake
from tui.model.drives import DriveRow
from tui.model.engine_words import name_role, say
from tui.model.snapshot import Snapshot
from tui.model.status import PlannedDrive, StickPlan
from tui.model.templates import (
    TIED,
    FormState,
    Template,
    describe_templates,
    find_templates,
)
from tui.page import Page, describe_busy, entitle
from tui.plan.compose import ComposeActions, ComposeDialog, FormCheck
from tui.plan.saved_plans import load_plan, save_plan
from tui.plan.template_picker import TemplatesDialog, to_campaign
from tui.port.releases import find_released, starts_installed
from tui.roles import ACCENT, BAD, WARNING, paint, paint_keys
from tui.start.release import ReleaseDialog, describe_loss
from tui.start.start import find_change, find_now, start_draft
from tui.times.step_times import StepTime, describe_times, list_times
from tui.widgets.dialog import Ask
from tui.widgets.line import Line

_WAYS = (
    ("s", N_("start this plan; the drives that it erases are listed first")),
    ("t", N_("start from a template for the drives that are here")),
    ("n", N_("compose a campaign: drives, tests, arrays")),
    ("l", N_("load a plan that was saved on the stick")),
)
_TALL = 34
"""Lines of a screen that has room for more than what is to be done."""
_FRAME = 5
"""Columns of a scrolled panel beside its text: lines, padding and scrollbar."""
_NOT_RELEASED = N_("Not released. Nothing was started, nothing was written.")


class PlanPage(Page):
    """What could be started, and the two ways to start it."""

    NAME: ClassVar[str] = "plan"
    TITLE: ClassVar[str] = N_("Plan")
    AUTO_FOCUS = "VerticalScroll"
    HELP: ClassVar[str] = N_(
        "A plan says which drives are tested and how. Write it on any computer as the file "
        "plan.toml on the stick's partition KALTSTART, or compose it here.\n\n"
        "s  start the plan on the stick. The drives it erases are listed first. A plan with "
        "mistakes cannot be started; each mistake is shown with its line.\n\n"
        "n  compose a campaign: select drives and tests. Two drives can form an array, which "
        "is measured next to its parts. If a test writes, you release each drive by typing "
        "the end of its serial number; tests that only read start at once. Esc leaves at any "
        "point, and nothing happens. F2 shows how long each step takes; F5 and F6 in the "
        "form have more settings.\n\n"
        "t  the same, starting from a template for the drives that are here.\n\n"
        "l  a plan saved on the stick (folder plans; F3 in the form saves one): start it, "
        "edit it in the form, or delete it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "start", show=False),
        Binding("n", "new", show=False),
        Binding("t", "choose_template", show=False),
        Binding("l", "load", show=False),
        Binding("f2", "show_times", show=False),
    ]

    @override
    def compose_body(self) -> ComposeResult:
        with VerticalScroll():
            yield Line(id="plan")
        yield Line(id="ways", classes="panel")

    @override
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        keys: list[tuple[str, str]] = []
        if snapshot.status is None or snapshot.busy:
            return keys
        is_refused = snapshot.status.phase == "refused"
        if snapshot.status.plan.state == "valid":
            keys += [*([] if is_refused else [("s", _("start"))]), ("F2", _("how long"))]
        if not is_refused:
            keys += [("n", _("new")), ("t", _("templates")), ("l", _("load"))]
        return keys

    @override
    def show(self, snapshot: Snapshot) -> None:
        if snapshot.status is None:
            return
        entitle(self.query_one(VerticalScroll), _("The plan on the stick"))
        width = max(40, self.app.size.width - _FRAME)
        painted = paint(describe_plan(snapshot, width), has_names=True)
        painted.highlight_words((_("WILL BE ERASED"),), BAD)
        painted.highlight_words((_("NOT FOUND in this machine"), _("Before it starts:")), WARNING)
        painted.highlight_words((_("It cannot run as things are:"),), BAD)
        painted.highlight_words((_("Its drives:"),), f"bold {ACCENT}")
        if self.app.size.height >= _TALL:
            painted.append_text(_describe_more(snapshot, width))
        self.query_one("#plan", Line).show(painted)
        ways = self.query_one("#ways", Line)
        entitle(ways, _("What to do next"))
        offered = _WAYS if snapshot.status.plan.state == "valid" else _WAYS[1:]
        ways.show(paint_keys([(key, _(what)) for key, what in offered], "\n"))
        ways.display = not snapshot.busy and snapshot.status.phase != "refused"

    def action_start(self) -> None:
        """Start the plan on the stick, after one confirmation."""
        if self._may_start():
            plan = self._plan()
            if plan.state == "valid":
                self.kaltstart.run_once("start", self._start(plan))
            else:
                self.kaltstart.say(_("There is no valid plan on the stick to start."))

    def action_new(self) -> None:
        """Compose a campaign."""
        if self._may_start():
            self.kaltstart.run_once("compose", self._compose_campaign())

    def action_choose_template(self) -> None:
        """Begin with a template."""
        if self._may_start():
            self.kaltstart.run_once("templates", self._choose_template())

    def action_load(self) -> None:
        """Start, adjust or delete a plan that was kept on the stick."""
        if self._may_start():
            flow = load_plan(self.kaltstart, release=self._release, compose=self._adjust)
            self.kaltstart.run_once("load", flow)

    def _plan(self) -> StickPlan:
        status = self.kaltstart.snapshot.status
        return status.plan if status else StickPlan()

    def _may_start(self) -> bool:
        snapshot = self.kaltstart.snapshot
        if snapshot.status is None:
            self.kaltstart.say(_("The engine has not answered yet."))
        elif snapshot.status.phase == "refused":
            self.kaltstart.say(_("Nothing can be started: see above."))
        elif snapshot.busy:
            self.kaltstart.say(describe_busy(snapshot))
        else:
            return True
        return False

    async def _start(self, plan: StickPlan) -> None:
        erased = [drive for drive in plan.drives if drive.released]
        drives = self.kaltstart.snapshot.drives
        started = [drive for drive in plan.drives if drive.may_start]
        text = _('Start "{name}"?').format(name=plan.name) + "\n\n"
        if started:
            text += _("THE SYSTEMS ON THESE DRIVES ARE STARTED, AND WRITE TO THEM:") + "\n"
            text += "\n".join(f"  {_describe_live(drive, drives)}" for drive in started)
        elif erased:
            text += _("EVERYTHING ON THESE DRIVES WILL BE LOST, FOR GOOD:") + "\n"
            text += "\n".join(_describe_erased(drive, drives) for drive in erased)
        else:
            text += _("No drive is written to.")
        label = _("Start and erase") if erased else _("Start")
        ask = Ask(_(" Start the plan "), text, (("start", label),))
        answer = await self.app.push_screen_wait(ask)
        if answer == "start":
            await self.kaltstart.ask_engine("start", {"plan_toml": plan.toml})

    async def _choose_template(self) -> None:
        app = self.kaltstart
        drives = app.snapshot.drives
        templates = {template.id: template for template in find_templates(drives)}
        dialog = TemplatesDialog(tuple(templates.values()))

        async def estimate() -> None:
            durations = {}
            for template in templates.values():
                if not template.obstacle:
                    campaign = to_campaign(template, drives)
                    times = await app.call_port(partial(app.port.estimate, campaign))
                    durations[template.id] = (
                        _("not known") if times is None else describe_times(times)
                    )
            dialog.show_durations(durations)

        app.run_worker(estimate(), group="estimate", exit_on_error=False)
        chosen = await self.app.push_screen_wait(dialog)
        if chosen is not None:
            await self._compose_campaign(templates[chosen])

    def action_show_times(self) -> None:
        """How long the plan on the stick takes, step by step."""
        plan = self._plan()
        if plan.state == "valid":
            self._run_times(partial(self.kaltstart.port.estimate_plan, plan.toml))
        else:
            self.kaltstart.say(_("There is no valid plan on the stick."))

    def _show_times(self, draft: DraftCampaign) -> None:
        self._run_times(partial(self.kaltstart.port.estimate, draft))

    def _run_times(self, estimate: Callable[[], Sequence[StepTime]]) -> None:
        self.kaltstart.run_worker(self._list_times(estimate), group="times", exit_on_error=False)

    async def _list_times(self, estimate: Callable[[], Sequence[StepTime]]) -> None:
        app = self.kaltstart
        try:
            times = await app.call_port(estimate)
        except ValueError:  # a size that is none: the plan's checks say more
            times = None
        text = _("Not known: a setting cannot be read.") if times is None else list_times(times)
        ask = Ask(_(" Estimated duration "), text, (), cancel=_("Close"))
        await self.app.push_screen_wait(ask)

    async def _release(self, released: Sequence[DriveRow], *, starts: bool = False) -> bool:
        """Whether the user released each of them, one by one.

        `starts`: to be started, not to be erased.
        """
        app = self.kaltstart
        for number, drive in enumerate(released, 1):
            if self._is_changed([drive]):
                return False
            # What is on it may have changed since it was picked, or be known only now.
            dialog = ReleaseDialog(
                find_now(app, drive),
                number=number,
                count=len(released),
                others=app.snapshot.drives,
                starts=starts,
            )
            if not await self.app.push_screen_wait(dialog):
                app.say(_(_NOT_RELEASED))
                return False
        return not self._is_changed(released)

    def _is_changed(self, drives: Iterable[DriveRow]) -> bool:
        """Whether one of them may not be used any more, which is reported."""
        problems = (find_change(self.kaltstart, drive) for drive in drives)
        problem = next(filter(None, problems), "")
        if problem:
            self.kaltstart.say(f"{problem} {_('Nothing was started.')}")
        return bool(problem)

    async def _adjust(self, kept: FormState, fits: FormCheck) -> None:
        await self._compose_campaign(kept=kept, fits=fits)

    async def _compose_campaign(
        self,
        template: Template | None = None,
        *,
        kept: FormState | None = None,
        fits: FormCheck | None = None,
    ) -> None:
        app = self.kaltstart
        status = app.snapshot.status
        doing = ComposeActions(
            check=self._check,
            show_times=self._show_times,
            keep=partial(save_plan, app),
            release=self._release_draft,
        )
        draft = await self.app.push_screen_wait(
            ComposeDialog(
                kept.drives if kept else app.snapshot.drives,
                doing,
                can_wake=bool(status and status.can_wake),
                more_settings=app.port.more_settings(),
                template=template,
                kept=kept,
                fits=fits,
            )
        )
        if draft is not None:
            await start_draft(app, draft)

    async def _release_draft(self, draft: DraftCampaign) -> str:
        """Empty once each drive it writes to was released, else why it was not."""
        is_done = not self._is_changed(draft.drives) and await self._release(
            find_released(draft), starts=starts_installed(draft.boot, draft.more_settings)
        )
        # Nothing said would mean that all are.
        return "" if is_done else self.kaltstart.message or _(_NOT_RELEASED)

    async def _check(self, draft: DraftCampaign) -> Sequence[Mistake]:
        return await asyncio.to_thread(self.kaltstart.port.check_plan, draft)


def describe_plan(snapshot: Snapshot, width: int) -> str:
    """The plan on the stick in lines; those of its drives are broken at `width`."""
    plan = snapshot.status.plan if snapshot.status else StickPlan()
    if snapshot.is_early:
        return _("Starting: the engine opens the stick and looks for drives ...")
    if plan.state == "absent":
        return _(
            "There is no plan.toml on the stick's partition KALTSTART.\n\n"
            "Press t for a template, n to compose a campaign here, or write a plan elsewhere."
        )
    if plan.state == "invalid":
        count = len(plan.problems)
        head = _("The plan on the stick has mistakes and cannot be started.")
        what = _("{count} to correct in plan.toml:").format(count=count)
        return f"{head}\n{what}\n\n" + "\n".join(
            f"{number:2}. {say(text)}" for number, text in enumerate(plan.problems, 1)
        )
    autostart = _("yes, after a countdown") if plan.autostart else _("no, start it with s")
    if plan.autostart and plan.is_known:
        autostart = _("not again, it was started or stopped before; s starts it")
    lines = [
        _("Plan on the stick: {name}").format(name=plan.name),
        say(plan.summary),
        _("Starts automatically: {when}").format(when=autostart),
    ]
    if plan.problems:
        lines += [
            "",
            _("It cannot run as things are:"),
            *(f"  {say(text)}" for text in plan.problems),
        ]
    if plan.warnings:
        lines += ["", _("Before it starts:"), *(f"  {say(text)}" for text in plan.warnings)]
    lines += ["", _("Its drives:")]
    for drive in plan.drives:
        lines += _describe_planned(drive, snapshot.drives, width)
    return "\n".join(lines)


def _describe_more(snapshot: Snapshot, width: int) -> Text:
    """The plan's own lines; where there is none, what can be begun with."""
    plan = snapshot.status.plan if snapshot.status else StickPlan()
    if plan.toml:
        title = Text("\n\n").append(_("The file plan.toml"), f"bold {ACCENT}")
        return title.append("\n" + drawable_lines(plan.toml.rstrip()))
    is_refused = snapshot.status is not None and snapshot.status.phase == "refused"
    is_offered = not (snapshot.busy or is_refused)
    text = describe_templates(snapshot.drives, width)[0] if is_offered else ""
    return Text("\n\n").append_text(paint(text, has_heads=True)) if text else Text()


def _describe_planned(drive: PlannedDrive, live: tuple[DriveRow, ...], width: int) -> Sequence[str]:
    """What happens to it is never broken: it is to be seen at once."""
    does = _("WILL BE ERASED") if drive.released else _("read only")
    if drive.may_start:
        does = _("ITS SYSTEM RUNS AND WRITES TO IT")
    text = drawable(f"{_describe_live(drive, live)}, {name_role(drive.role)}, ")
    lines = textwrap.wrap(
        text + does.replace(" ", TIED),
        width,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    return [line.replace(TIED, " ") for line in lines]


def _describe_erased(drive: PlannedDrive, live: tuple[DriveRow, ...]) -> str:
    lines = [_describe_live(drive, live)]
    row = _find_live(drive, live)
    if row is not None:
        lines += [f"  {line}" for line in describe_loss(row).splitlines()]
    return "\n".join(f"  {line}" for line in lines)


def _find_live(drive: PlannedDrive, live: tuple[DriveRow, ...]) -> DriveRow | None:
    return next((d for d in live if drive.identity in {d.serial, d.wwn}), None)


def _describe_live(drive: PlannedDrive, live: tuple[DriveRow, ...]) -> str:
    row = _find_live(drive, live)
    if row is None:
        return f"{drive.identity}  {_('NOT FOUND in this machine')}"
    return f"{drive.identity}  {row.model}, {row.size}, {row.device}"
