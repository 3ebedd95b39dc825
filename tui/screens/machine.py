"""Page 5: the machine under the stick: what it is, what it can, and what may be set on it."""

from typing import ClassVar, override

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tui.screens.page import Page
from tui.state import Snapshot
from tui.widgets.line import Line


class MachinePage(Page):
    """Facts, one to a line."""

    NAME: ClassVar[str] = "machine"
    TITLE: ClassVar[str] = "Machine"
    HELP: ClassVar[str] = (
        "The machine that the stick is plugged into.\n\n"
        "Wake-up: whether its clock can switch it on again after a power-off. Without that, cold "
        "boots need a person (or a switched socket) at the machine."
    )

    @override
    def compose_body(self) -> ComposeResult:
        with VerticalScroll():
            yield Line(id="facts")

    @override
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        return []

    @override
    def show(self, snapshot: Snapshot) -> None:
        status = snapshot.status
        if status is None:
            return
        wakes = "the clock can switch it on" if status.can_wake else "not possible"
        facts = (
            ("Kaltstart", status.version),
            ("Firmware", status.firmware.upper()),
            ("Wake-up", wakes),
        )
        self.query_one("#facts", Line).show(
            "\n".join(f"{name:16}{value}" for name, value in facts)
        )
