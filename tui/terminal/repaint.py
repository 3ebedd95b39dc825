# SPDX-License-Identifier: Apache-2.0
"""Kernel messages overwrite a console: detecting that and redrawing the screen.

Messages come in swarms, and the serial line takes a while for a whole screen.
"""

import asyncio
import time
from typing import Any

from textual.app import App

from tui.port.kernel_log import KernelLog

_KERNEL_MAY_TAKE_S = 0.3
_REPAINT_EVERY_S = 2.0


class Repainter:
    """Draws `app` over what the kernel wrote, seldom enough for a serial line."""

    def __init__(self, app: App[Any], kernel_log: KernelLog) -> None:
        self._app = app
        self._kernel_log = kernel_log
        self._is_written_over = False
        self._repainted_s = float("-inf")

    def follow(self) -> None:
        """From now on; to be called in the app's own loop."""
        asyncio.get_running_loop().add_reader(self._kernel_log, self._look)

    def _look(self) -> None:
        if not self._kernel_log.take() or self._is_written_over:
            return
        self._is_written_over = True
        waits_s = self._repainted_s + _REPAINT_EVERY_S - time.monotonic()
        self._app.set_timer(max(_KERNEL_MAY_TAKE_S, waits_s), self._draw)

    def _draw(self) -> None:
        self._is_written_over = False
        self._repainted_s = time.monotonic()
        self._app.refresh()
