# SPDX-License-Identifier: Apache-2.0
"""Importing campaigns of another stick: choosing its database and seeing what is new."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from tui.charset import shorten
from tui.format import show_bytes
from tui.language import _, ngettext
from tui.port import KaltstartError
from tui.port.databases import FoundDatabase, Offered
from tui.widgets.dialog import Ask
from tui.widgets.pick_list import LinesDialog

if TYPE_CHECKING:
    from tui.app import KaltstartApp

_NAME, _SIZE, _WIDTH = 28, 10, 71
_TITLE = 50


class DatabasesDialog(LinesDialog):
    """The number of the chosen one, from 0."""


async def import_campaigns(app: "KaltstartApp") -> None:
    """Choose a database, look at what it has, agree; then the engine imports it."""
    app.say(_("Reading KALTSTART ..."))
    databases = await app.call_port(app.port.list_databases)
    if databases is None:
        return
    if not databases:
        app.say(
            _(
                "KALTSTART holds no database of another stick. On another computer, copy "
                "kaltstart.sqlite from that stick's folder reports to KALTSTART, under any "
                "name that ends in .sqlite."
            )
        )
        return
    app.say("")
    number: int | None = 0
    while number is not None:
        number = await app.push_screen_wait(_make_list(databases, at=number))
        if number is not None and await _agree(app, databases[number]):
            await app.ask_engine("merge", {"file_name": databases[number].raw_name})
            return


def _make_list(found: tuple[FoundDatabase, ...], *, at: int) -> DatabasesDialog:
    return DatabasesDialog(
        _(" Databases on KALTSTART "),
        [_describe(database) for database in found],
        at=at,
        cancel=_("Cancel"),
        keys=_("Up/Down choose  Enter look  Esc close"),
    )


def _describe(found: FoundDatabase) -> str:
    summary = found.problem or ngettext("{count} campaign", "{count} campaigns", found.campaigns)
    start = f"{shorten(found.name, _NAME):{_NAME}}{show_bytes(found.size_bytes):>{_SIZE}}  "
    return start + shorten(summary.format(count=found.campaigns), _WIDTH - len(start))


async def _agree(app: "KaltstartApp", found: FoundDatabase) -> bool:
    title = f" {shorten(found.name, _TITLE)} "
    try:
        offered = await asyncio.to_thread(partial(app.port.read_offer, found.raw_name))
    except KaltstartError as error:
        hint = _("What to do: {hint}").format(hint=error.hint) if error.hint else ""
        text = "\n\n".join(filter(None, (error.message, hint)))
        await app.push_screen_wait(Ask(title, text, (), cancel=_("Close")))
        return False
    choices = (("merge", _("Import")),) if offered.campaigns else ()
    ask = Ask(title, describe_offer(offered), choices, cancel="" if choices else _("Close"))
    return await app.push_screen_wait(ask) is not None


def describe_offer(offered: Offered) -> str:
    """What would be imported, and what not and why."""
    count = len(offered.campaigns)
    heading = _("Nothing in it is new here.")
    if count:
        heading = ngettext(
            "{count} campaign is imported, under a new number:",
            "{count} campaigns are imported, under new numbers:",
            count,
        ).format(count=count)
    lines = [
        f"  {created_at[:16].replace('T', ' ')}  {shorten(name, 50)}"
        for created_at, name in offered.campaigns
    ]
    rest = []
    if offered.already_here:
        rest.append(
            ngettext(
                "{count} campaign is on this stick already.",
                "{count} campaigns are on this stick already.",
                offered.already_here,
            ).format(count=offered.already_here)
        )
    if offered.unfinished:
        rest.append(
            ngettext(
                "{count} unfinished campaign is not imported: continue it on its own stick.",
                "{count} unfinished campaigns are not imported: continue them on their own stick.",
                offered.unfinished,
            ).format(count=offered.unfinished)
        )
    if count:
        rest.append(_("The file is not changed. Raw output stays on the other stick."))
    return "\n".join([heading, *lines, "", *rest]).rstrip()
