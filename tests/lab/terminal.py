# SPDX-License-Identifier: Apache-2.0
"""A terminal emulator at the end of the serial line: tmux."""

import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.lab.machine import PATIENCE_S, SerialLine

_POLL_S = 0.2
"""A countdown shows its text for seconds only."""


class Terminal:
    """80×24 characters; the text can be read, and keys be sent."""

    def __init__(self) -> None:
        # A socket's path holds at most 107 bytes (unix(7)); a test's folder may lie deeper.
        self._folder = Path(tempfile.mkdtemp(prefix="kaltlab-"))
        self._tmux = ["tmux", "-S", str(self._folder / "tmux.sock"), "-f", "/dev/null"]

    def attach(self, line: SerialLine) -> None:
        """Show what comes from here on, and send what is typed."""
        at = line.log.stat().st_size + 1
        log, keys = shlex.quote(str(line.log)), shlex.quote(str(line.keys))
        # What runs in the background of a shell without a terminal's jobs reads nothing of its own.
        typing = f"exec 3<&0; cat <&3 > {keys} &"
        self._run(
            "new-session", "-d", "-x", "80", "-y", "24",
            f"stty raw -echo; {typing} exec tail --bytes=+{at} --follow {log}",
        )  # fmt: skip

    def send(self, *keys: str) -> None:
        """Press keys by tmux's names, or type text."""
        # One at a time, as fingers do: a serial line at full speed could tear an escape sequence.
        for key in keys:
            self._run("send-keys", "--", key)
            time.sleep(0.2)

    def screen(self, *, styled: bool = False) -> str:
        """The text on the screen now; `styled`: with SGR sequences and with trailing blanks."""
        return self._run("capture-pane", "-p", *(["-e", "-N"] if styled else []))

    def wait_for(self, text: str) -> None:
        """Wait until a text is on the screen."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.screen():
            assert time.monotonic() < deadline, f"no {text!r} on the terminal:\n{self.screen()}"
            time.sleep(_POLL_S)

    def wait_gone(self, text: str) -> None:
        """Wait until it no longer exists."""
        deadline = time.monotonic() + PATIENCE_S
        while text in self.screen():
            assert time.monotonic() < deadline, f"{text!r} stays on the terminal"
            time.sleep(_POLL_S)

    def close(self) -> None:
        """Hang up."""
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True)
        return done.stdout
