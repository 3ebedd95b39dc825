# SPDX-License-Identifier: Apache-2.0
"""Textual's terminal driver: its reader is never delayed, notes each key and raises priority."""

from typing import override

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tui.port.run_files import say_pressed
from tui.terminal import priority


class Keyboard(LinuxDriver):
    """It runs in a thread of its own, before the app knows of the key."""

    @override
    def run_input_thread(self) -> None:
        priority.listen()
        super().run_input_thread()

    @override
    def process_message(self, message: Message) -> None:
        is_key = isinstance(message, events.Key)
        if is_key:
            priority.come_forward()
        try:
            super().process_message(message)
        finally:
            # Also where the app is about to end: during a countdown the engine looks for it.
            if is_key:
                say_pressed()
