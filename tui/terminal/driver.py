"""Textual's terminal driver with a reader that is never delayed and raises priority on a key."""

from typing import override

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tui.terminal import priority


class Keyboard(LinuxDriver):
    """It runs in a thread of its own, before the app knows of the key."""

    @override
    def run_input_thread(self) -> None:
        priority.listen()
        super().run_input_thread()

    @override
    def process_message(self, message: Message) -> None:
        if isinstance(message, events.Key):
            priority.come_forward()
        super().process_message(message)
