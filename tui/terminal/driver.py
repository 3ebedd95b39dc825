# SPDX-License-Identifier: Apache-2.0
"""Textual's terminal driver: its reader is never delayed, notes each key and raises priority.

It ends with its terminal, takes any byte for a key, and writes at once what the terminal takes.
"""

import os
import select
import signal
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, override

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tui.port.run_files import say_pressed
from tui.terminal import priority
from tui.terminal.output import Output

_MOST_BYTES = 4096
# How often Textual looks whether an Esc was a key or the beginning of one.
_TICK_S = 0.1
# Textual has decided by then: it gives an Esc a tenth of a second as well. Ticks and not seconds:
# this thread may have been kept waiting in between.
_LAST_TICK = 5


class Keyboard(LinuxDriver):
    """It runs in a thread of its own, before the app knows of the key."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._ends = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        """Readable once the thread is to end: it sleeps as long as nobody types."""
        self._output = Output(sys.__stderr__ or sys.stderr)
        self._file = self._output  # type: ignore[assignment]  # all that Textual's thread calls

    @override
    def write(self, data: str) -> None:
        self._output.put(data, super().write)

    @override
    def disable_input(self) -> None:
        os.eventfd_write(self._ends, 1)
        super().disable_input()
        with suppress(BlockingIOError):
            os.eventfd_read(self._ends)

    @override
    def run_input_thread(self) -> None:
        """Read keys until the app or the terminal ends.

        Textual's own reader asks a terminal that hung up again and again without a pause, and ends
        at a byte that is no UTF-8, as a line with another speed has, and at what its parser fails
        on.
        """
        priority.listen()
        self._parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        ticks = _LAST_TICK
        while not self.exit_event.is_set():
            # Waking up ten times a second would take from what is measured.
            wait_s = _TICK_S if ticks < _LAST_TICK else None
            ready, _, _ = select.select([self.fileno, self._ends], [], [], wait_s)
            is_typed = self.fileno in ready
            typed = self._read() if is_typed else b""
            ticks = 0 if is_typed else ticks + 1
            if is_typed and not typed:
                # As the kernel ends the programs of a terminal that hangs up. Not as the app
                # ends: that would wait for what is still to be written there.
                signal.raise_signal(signal.SIGHUP)
                return
            # Half a letter is a key as well if its rest does not follow: with another encoding it
            # may have been a whole one.
            for event in self._parse(decode(typed, not is_typed)):
                self.process_message(event)

    def _parse(self, text: str) -> Iterator[Message]:
        """The keys in it, and an Esc that nothing followed.

        What the parser fails on counts as nothing: a mouse in a window that is said to have no
        size, or a key with a number that no character has. What follows is for a new parser, as
        the generator in the old one is over.
        """
        for character in text:
            try:
                yield from self._parser.feed(character)
            except Exception:  # noqa: BLE001  # whatever it is: there must be a reader
                self._parser = XTermParser(self._debug)
        yield from self._parser.tick()

    def _read(self) -> bytes:
        """What was typed; nothing if the terminal is gone."""
        try:
            return os.read(self.fileno, _MOST_BYTES)
        except OSError:
            return b""

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
