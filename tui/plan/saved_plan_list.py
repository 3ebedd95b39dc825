# SPDX-License-Identifier: Apache-2.0
"""Choosing one of the plans saved on the stick."""

from collections.abc import Sequence
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal

from tui.charset import shorten
from tui.language import _
from tui.widgets.choice import Choice
from tui.widgets.dialog import Dialog

_WIDTH = 60


class KeptPlansDialog(Dialog[int]):
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
