# SPDX-License-Identifier: Apache-2.0
"""Composing a campaign: the form is checked, saved on the stick, and left once all is released."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, override

from textual import events
from textual.binding import Binding, BindingType

from tui.language import _
from tui.model.draft import DraftCampaign, Mistake, PlanTable
from tui.model.drives import DriveRow
from tui.model.more_settings import MoreSettings
from tui.model.templates import FormState, Template
from tui.plan.all_keys import KeysDialog
from tui.plan.form import CampaignForm
from tui.plan.workload_row import WorkloadRow
from tui.widgets.dialog import CHANGED
from tui.widgets.line import Line

type FormCheck = Callable[[DraftCampaign | None], Awaitable[bool]]
"""Whether that is all of the kept plan it was begun with; None: it does not even make a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeActions:
    """What the form leaves to others."""

    check: Callable[[DraftCampaign], Awaitable[Sequence[Mistake]]]
    """What the plan's own checks have against it."""
    show_times: Callable[[DraftCampaign], None]
    """Shows how long each of its steps takes."""
    keep: Callable[[DraftCampaign], Awaitable[str]]
    """Saves it on the stick, and says where; empty if the user did not want to."""
    release: Callable[[DraftCampaign], Awaitable[str]]
    """Has each drive released that it writes to; why that was not done, or empty."""


class ComposeDialog(CampaignForm):
    """It stays as it is until the campaign may start, or the user leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "show_times", show=False),
        Binding("f3", "keep", show=False),
    ]

    def __init__(
        self,
        drives: tuple[DriveRow, ...],
        doing: ComposeActions,
        *,
        can_wake: bool,
        more_settings: MoreSettings,
        template: Template | None = None,
        kept: FormState | None = None,
        fits: FormCheck | None = None,
    ) -> None:
        """Begun with nothing, a template, or a kept plan: then with what says whether it `fits`."""
        super().__init__(
            drives, can_wake=can_wake, more_settings=more_settings, template=template, kept=kept
        )
        self._doing = doing
        self._fits = fits
        self._checking = fits is not None
        self._keeping = False
        self._releasing = False
        self._must_leave = False

    @override
    def _fill(self, template: Template) -> None:
        super()._fill(template)
        if self._fits is not None:
            flow = self._leave_unless(self._fits, None if self._find_problem() else self._read())
            self.query_one("#problem", Line).show(_("Checking ..."))
            self.app.run_worker(flow, group="check", exit_on_error=False)

    async def _leave_unless(self, fits: FormCheck, draft: DraftCampaign | None) -> None:
        """What the form cannot show must not be lost by keeping what it does show."""
        fitting = await fits(draft)
        # Until it is known to be all of it, nothing of it is kept or started.
        self._checking = not fitting
        if self.is_attached:
            self.query_one("#problem", Line).show("")
        self._must_leave = not fitting
        if self.is_active:
            self._leave_if_unfit()

    @override
    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Nothing covers it any more."""
        self._leave_if_unfit()

    def _leave_if_unfit(self) -> None:
        if self._must_leave:
            self._must_leave = False  # this may come twice
            self.dismiss(None)

    def action_show_times(self) -> None:
        """How long each step takes, as far as the form can be read."""
        problem = self._find_problem()
        self.query_one("#problem", Line).show(problem)
        if not problem:
            self._doing.show_times(self._read())

    def action_keep(self) -> None:
        """Check it and keep it on the stick, to be started another time."""
        self._leave_checked(keep=True)

    @override
    def choose(self, choice_id: str) -> None:
        if self._checking:
            return
        if choice_id == "array-settings":
            self._set_array()
            return
        self._leave_checked(keep=False)

    def on_workload_row_keys_wanted(self, event: WorkloadRow.KeysWanted) -> None:
        """All keys of a test are to be set, those that its row has no place for too."""
        event.stop()
        row = event.row

        async def check(table: PlanTable) -> Sequence[Mistake]:
            draft = self._read(only=row.shorten(table))
            mistakes = await self._doing.check(draft)
            return [mistake for mistake in mistakes if mistake.table == "workload"]

        self.app.push_screen(KeysDialog(row, check), row.take)

    @override
    def action_cancel(self) -> None:
        if not self._releasing:  # between two boxes: the next one can be left
            super().action_cancel()

    def _leave_checked(self, *, keep: bool) -> None:
        if self._checking or self._releasing:
            return
        problem = self._find_problem()
        self.query_one("#problem", Line).show(problem or _("Checking ..."))
        if not problem:
            self._checking = True
            # The app's worker, not this box's: then the app tells what goes wrong in it.
            flow = self._check_and_leave(self._read(), keep=keep)
            self.app.run_worker(flow, group="check", exit_on_error=False)

    async def _check_and_leave(self, draft: DraftCampaign, *, keep: bool) -> None:
        problem = self.query_one("#problem", Line)
        try:
            mistakes = await self._doing.check(draft)
        except Exception:
            problem.show(_("Internal error: the plan could not be checked."))
            raise
        finally:
            self._checking = False
        if not self.is_current:
            return  # the user left meanwhile
        if not self._still_shows(draft):
            problem.show(_(CHANGED))  # the mistakes may be those of other rows too
        elif mistakes:
            self._show_mistakes(mistakes)
        elif keep:
            await self._save_checked(draft)
        elif self.is_active:
            self._releasing = True
            # Not this worker: the user is asked, for as long as that takes.
            flow = self._leave_released(draft)
            self.app.run_worker(flow, group="release", exit_on_error=False)
        else:
            problem.show("")  # to be pressed again: the user looks at a box over it

    async def _save_checked(self, draft: DraftCampaign) -> None:
        if self._keeping:
            return
        self._keeping = True
        problem = self.query_one("#problem", Line)
        try:
            problem.show(_("Saving ..."))
            outcome = await self._doing.keep(draft)
        finally:
            self._keeping = False
        if self.is_attached:
            problem.show(outcome)

    async def _leave_released(self, draft: DraftCampaign) -> None:
        """Nothing of the form is lost by not releasing a drive."""
        try:
            reason = await self._doing.release(draft)
        finally:
            self._releasing = False
        # Between two boxes the form has the keys. To leave it under another box would close that.
        if not reason and not (self.is_active and self._still_shows(draft)):
            reason = _(CHANGED)
        self.query_one("#problem", Line).show(reason)
        if not reason:
            self.dismiss(draft)

    def _still_shows(self, draft: DraftCampaign) -> bool:
        """Nothing is kept or started but what can be read on the screen."""
        return not self._find_problem() and self._read() == draft
