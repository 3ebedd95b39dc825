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
    for sentence in said:
        about = "" if sentence.subject == "contention" else f"{sentence.subject}: "
        sign = "!" if sentence.is_remark else "+"
        text = drawable(f"{sign} {about}{say(sentence.text)}")
        lines += wrap(text, width, initial_indent="  ", subsequent_indent="    ")
    return ["\n".join(lines)]
