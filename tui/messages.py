# SPDX-License-Identifier: Apache-2.0
"""The text of the message line, shortened to the room there is, with a sign for more. Pure."""

import textwrap

from tui.charset import drawable
from tui.language import _

MOST_LINES = 8
"""As in app.tcss."""


def fit_message(message: str, width: int) -> str:
    """`message` fit to be drawn in `width` columns; nothing of it is left out without a word."""
    lines = [drawable(line) for line in message.splitlines()]
    wrapped = [part for line in lines for part in textwrap.wrap(line, width) or [""]]
    if len(wrapped) <= MOST_LINES:
        return "\n".join(lines)
    head = wrapped[: MOST_LINES - 1]
    more = _("... and {count} more lines; page 3 lists everything refused").format(
        count=len(wrapped) - len(head)
    )
    return "\n".join([*head, more])
