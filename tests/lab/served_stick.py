# SPDX-License-Identifier: Apache-2.0
"""The stick behind nbdkit: a process that outlives the machine, and loses what a stick may lose.

For tests in which the power goes: QEMU alone keeps all it has taken, flushed or not.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.lab.drives import listens
from tests.lab.stick_faults import StickFaults

_REPO = Path(__file__).resolve().parents[2]
_STARTED_S = 600
_ENDED_S = 60


def stick_command(stick: Path, faults: StickFaults, *, socket: Path) -> list[str]:
    """The command that serves the file `stick` until it is stopped."""
    return [
        "nbdkit", "-f", "--exit-with-parent", "-U", str(socket),
        "python", str(_REPO / "tests/lab/stick_model.py"),
        f"file={stick}",
        f"stats={stick.with_suffix('.stats.json')}",
        f"seed={faults.seed}",
        *(f"fault={fault}" for fault in faults.texts),
    ]  # fmt: skip


class ServedStick:
    """A stick's file, served while the context lasts; read the file only after it has ended."""

    def __init__(self, stick: Path, faults: StickFaults) -> None:
        self.stick = stick
        self.faults = faults
        self._folder = tempfile.TemporaryDirectory(prefix="kaltlab-", dir="/tmp")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """Where it is served: `MachineSetup.stick_socket`."""
        return Path(self._folder.name) / "stick.sock"

    def __enter__(self) -> Self:
        errors = self.stick.with_suffix(".err")
        with errors.open("wb") as stream:
            self._process = subprocess.Popen(
                stick_command(self.stick, self.faults, socket=self.socket),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                env=os.environ | {"PYTHONPATH": str(_REPO), "PYTHONDONTWRITEBYTECODE": "1"},
            )
        deadline = time.monotonic() + _STARTED_S
        while time.monotonic() < deadline and self._process.poll() is None:
            # Not by connecting: that would count as a power-on.
            if listens(self.socket):
                return self
            time.sleep(0.05)
        self._stop()
        raise RuntimeError(f"nbdkit for the stick did not start: {errors.read_text().strip()}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def stats(self) -> dict[str, Any]:
        """Its account, exact once the context has ended; see `stick_model`."""
        account: dict[str, Any] = json.loads(self.stick.with_suffix(".stats.json").read_text())
        return account

    def _stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_ENDED_S)
        self._folder.cleanup()
