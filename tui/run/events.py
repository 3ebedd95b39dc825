# SPDX-License-Identifier: Apache-2.0
"""The last lines of the log on the page Run. Pure."""

import textwrap

from tui.charset import drawable, shorten
from tui.language import _
from tui.model.engine_words import say_event
from tui.model.snapshot import Event


def describe_events(events: tuple[Event, ...], width: int) -> str:
    """The last lines of the log, each with its time of day."""
    if not events:
        return _("No events yet.")
    marks = {"info": " ", "warning": "!", "error": "×"}
    lines = []
    for event in reversed(events):
        line = f"{marks.get(event.level, '?')} {event.at[11:19]} {say_event(event)}"
        # What went wrong ends with its reason, which must be readable on a narrow screen too.
        is_short = event.level == "info"
        lines += [shorten(line, width)] if is_short else _fold(line, width)
    return "\n".join([_("Events, newest first (! warning, × error)"), *lines])


def _fold(line: str, width: int) -> list[str]:
    return textwrap.wrap(
        drawable(line),
        width,
        subsequent_indent=" " * 11,
        break_on_hyphens=False,
        max_lines=3,
        placeholder="~",
    )
