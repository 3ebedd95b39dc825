# SPDX-License-Identifier: Apache-2.0
"""Who slows down whom when all drives work: the report's sentences. Pure."""

from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

from tui.charset import drawable
from tui.language import _
from tui.model.engine_words import say


class ContentionSentence(NamedTuple):
    """One sentence."""

    subject: str
    """Serial numbers of the drives that it is about, or `contention`: all of them."""
    text: str
    is_remark: bool


def describe_contention(said: Sequence[ContentionSentence], width: int) -> list[str]:
    """A block with all sentences, or none."""
    if not said:
        return []
    lines = [_("Contention")]
    for each in said:
        about = "" if each.subject == "contention" else f"{each.subject}: "
        sign = "!" if each.is_remark else "+"
        told = drawable(f"{sign} {about}{say(each.text)}")
        lines += wrap(told, width, initial_indent="  ", subsequent_indent="    ")
    return ["\n".join(lines)]
