# SPDX-License-Identifier: Apache-2.0
"""Saving a plan on the stick, and starting, editing or deleting a saved one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, override

from textual.app import ComposeResult
from textual.containers import Horizontal

from tui.charset import shorten
from tui.language import _
from tui.model.draft import DraftCampaign
from tui.model.drives import DriveRow
from tui.model.engine_words import say
from tui.model.templates import FormState
from tui.pending import describe_answer
from tui.plan.compose import FormCheck
from tui.port.plans import SavedPlan
from tui.widgets.choice import Choice
from tui.widgets.dialog import Ask, Dialog

if TYPE_CHECKING:
    from tui.app import KaltstartApp


class Release(Protocol):
    """Whether the user released each of them, one by one; `starts`: not to be erased."""

    def __call__(self, released: Sequence[DriveRow], *, starts: bool) -> Awaitable[bool]:
        """Ask for each of them."""
        ...


type Compose = Callable[[FormState, FormCheck], Awaitable[None]]
"""Lets the user adjust it in the form, and start what comes of it."""


async def save_plan(app: "KaltstartApp", draft: DraftCampaign) -> str:
    """Have the engine keep it; what came of that."""
    toml = await app.call_port(partial(app.port.compose_plan, draft, released=False))
    if toml is None:
        return f"{_('It cannot be saved.')} {app.message}"
    file_name = await asyncio.to_thread(app.port.name_plan, draft.name)
    names = await asyncio.to_thread(app.port.list_plans)
    is_there = file_name in map(str.casefold, names)
    if is_there:
        text = _("plans/{name} is on the stick already. Replace it?").format(name=file_name)
        choices = (("replace", _("Replace")),)
        if await app.push_screen_wait(Ask(_(" Save the plan "), text, choices)) is None:
            return _("Not saved.")
    payload = {"name": draft.name, "plan_toml": toml, "replace": is_there}
    request = await app.ask_engine("keep-plan", payload)
    if request is None:
        return f"{_('It cannot be saved.')} {app.message}"
    # The page's own message lies under the form.
    answer = await request
    if answer.state != "accepted":
        return describe_answer(answer)
    return _("Saved as plans/{name} without releases. l on the page loads it.").format(
        name=file_name
    )


async def load_plan(app: "KaltstartApp", *, release: Release, compose: Compose) -> None:
    """Choose one, then what is to be done with it."""
    names = await asyncio.to_thread(app.port.list_plans)
    if not names:
        app.say(_("No plan is saved on the stick. F3 saves one that you compose here."))
        return
    number = await app.push_screen_wait(SavedPlansDialog(names))
    if number is None:
        return
    app.say(_("Checking ..."))
    plan = await asyncio.to_thread(app.port.read_saved_plan, names[number])
    app.say("")
    matches = [
        [drive for drive in app.snapshot.drives if identity in drive.raw_names]
        for identity in plan.raw_released
    ]
    answer = await app.push_screen_wait(_ask_what(plan, matches))
    if answer == "start":
        if await release([drive for group in matches for drive in group], starts=plan.starts):
            toml = await app.call_port(partial(app.port.release_in, plan.toml, plan.raw_released))
            await app.ask_engine("start", {"plan_toml": toml})
    elif answer == "adjust":
        await _adjust(app, plan, compose)
    elif answer == "delete":
        await _delete(app, names[number], plan.name)


def _ask_what(plan: SavedPlan, written: Sequence[Sequence[DriveRow]]) -> Ask:
    delete = ("delete", _("Delete"))
    adjust = ("adjust", _("Edit"))
    if plan.problems:
        text = "\n".join(
            f"{number:2}. {problem}" for number, problem in enumerate(plan.problems, 1)
        )
        title = _(" plans/{name} cannot be started ").format(name=plan.name)
        return Ask(title, text, (delete,), cancel=_("Close"))
    title = f" plans/{plan.name} "
    if any(len(group) != 1 for group in written):
        note = _("A drive that this plan writes to appears more than once in this machine.")
        if [] in written:
            note = _("A drive that this plan writes to is not in this machine.")
        text = f"{say(plan.summary)}.\n\n{note} {_('It cannot be started.')}"
        return Ask(title, text, (delete,), cancel=_("Close"))
    note = (
        _("Each drive must be released before the plan writes to it.")
        if written
        else _("It only reads.")
    )
    label = _("Continue") if written else _("Start")
    return Ask(title, f"{say(plan.summary)}.\n\n{note}", (("start", label), adjust, delete))


async def _adjust(app: "KaltstartApp", plan: SavedPlan, compose: Compose) -> None:
    """In the form, if that can show all of it."""
    state = await asyncio.to_thread(app.port.parse_form_state, plan.toml, app.snapshot.drives)
    lost = list(state.obstacles)

    async def fits(draft: DraftCampaign | None) -> bool:
        if draft is None:
            lost.append(_("its boots"))
            return False
        losses = await app.call_port(partial(app.port.find_lost, plan.toml, draft))
        lost.extend((_("it is no longer a plan"),) if losses is None else losses)
        return not lost

    if not lost:
        await compose(state, fits)
    if lost:
        heading = _("The form cannot show all of this plan; the rest would be lost:")
        hint = _("Change the file on another computer. Nothing was changed here.")
        text = "\n".join([heading, *(f"  {part}" for part in lost), "", hint])
        title = _(" plans/{name} cannot be edited here ").format(name=plan.name)
        await app.push_screen_wait(Ask(title, text, (), cancel=_("Close")))


async def _delete(app: "KaltstartApp", file_name: str, shown: str) -> None:
    text = _("Delete plans/{name} from the stick? This cannot be undone.").format(name=shown)
    choices = (("delete", _("Delete")),)
    if await app.push_screen_wait(Ask(_(" Delete a plan "), text, choices)) is not None:
        await app.ask_engine("delete-plan", {"file_name": file_name})


_WIDTH = 60


class SavedPlansDialog(Dialog[int]):
    """The number of the chosen name, from 0."""

    AUTO_FOCUS = "Choice"

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(_(" Plans saved on the stick "))
        self._names = names

    @override
    def compose_box(self) -> ComposeResult:
        for number, name in enumerate(self._names):
            yield Choice(shorten(name, _WIDTH), id=f"plan-{number}")
        with Horizontal(classes="buttons"):
            yield Choice(_("Cancel"), id="cancel")

    @override
    def choose(self, choice_id: str) -> None:
        self.dismiss(int(choice_id.removeprefix("plan-")))
