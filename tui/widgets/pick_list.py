# SPDX-License-Identifier: Apache-2.0
"""A box with a list of lines to choose from."""

from collections.abc import Sequence
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal

from tui.widgets.choice import Choice
from tui.widgets.dialog import Dialog
from tui.widgets.table import Table, make_cell


class LinesDialog(Dialog[int]):
    """The result is the number of the chosen line, from 0."""

    AUTO_FOCUS = "Table"

    def __init__(self, title: str, rows: Sequence[str], *, at: int, cancel: str, keys: str) -> None:
        """`at` is the line to begin with; `keys` says what they do."""
        super().__init__(title)
        self._rows = rows
        self._at = at
        self._cancel = cancel
        self._keys = keys

    @override
    def compose_box(self) -> ComposeResult:
        table = Table(show_header=False)
        table.add_column("line", key="line")
        yield table
        with Horizontal(classes="buttons"):
            yield Choice(self._cancel, id="cancel")

    @override
    def name_keys(self) -> str:
        """As they were given."""
        return self._keys

    def on_mount(self) -> None:
        """List them."""
        table = self.query_one(Table)
        table.add_rows([(make_cell(row),) for row in self._rows])
        table.move_cursor(row=self._at)

    def on_data_table_row_selected(self, event: Table.RowSelected) -> None:
        """Enter."""
        self.dismiss(event.cursor_row)

    @override
    def choose(self, choice_id: str) -> None:
        raise AssertionError(choice_id)
