# SPDX-License-Identifier: Apache-2.0
"""The kernel writes its messages across a console: the interface on it is redrawn."""

import fcntl
import os
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.lab.keys_inside import Typist
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD

pytestmark = pytest.mark.slow

_REPAINT_S = 2.5
"""The interface draws the page again within two seconds."""
_DOWN, _UP = b"\x1b[B", b"\x1b[A"
_FOOTER = b"F1 help"
# As /dev/kmsg gives them: an error of a disk's, and a message no console shows.
_ERROR = b"3,1042,116855856,-;ata1.00: failed command: READ DMA\n SUBSYSTEM=scsi\n"
_DEBUG = b"7,1043,116855901,-;sd 0:0:0:0: [sda] tag#3 CDB: Read(10)\n"


def test_a_message_on_the_console_has_the_page_drawn_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel_log = tmp_path / "kmsg"
    os.mkfifo(kernel_log)
    kernel = os.open(kernel_log, os.O_RDWR)
    engine = FakeEngine(tmp_path)
    engine.show_drives(HDD, SSHD)
    engine.say()
    monkeypatch.setenv("KALTSTART_RUN", str(engine.run))
    monkeypatch.setenv("KALTSTART_DATA", str(engine.data))
    monkeypatch.setenv("KALTSTART_KMSG", str(kernel_log))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    try:
        with Typist([sys.executable, "-m", "tui"]) as typist:
            typist.time_start(HDD.serial.encode(), SSHD.serial.encode())
            for page, title in ((b"5", b"[5 Machine]"), (b"1", b"[1 Drives]")):
                typist.time_key(page, title)  # the pages have been loaded
            for message in (_ERROR, _DEBUG + _ERROR, _ERROR * 50):
                _move(typist)
                _log(kernel, _DEBUG)
                time.sleep(_REPAINT_S)
                assert _FOOTER not in _move(typist), "nothing was written over"
                typist.forget()
                _log(kernel, message)
                typist.wait_for(
                    b"Kaltstart", HDD.serial.encode(), _FOOTER, since_s=time.monotonic()
                )
    finally:
        os.close(kernel)


def _log(kernel: int, message: bytes) -> None:
    """Write it, and wait until the interface has read it."""
    os.write(kernel, message)
    while struct.unpack("i", fcntl.ioctl(kernel, termios.FIONREAD, bytes(4)))[0]:
        time.sleep(0.01)


def _move(typist: Typist) -> bytes:
    """All that is drawn until the cursor has been on the second drive and is back.

    What was to be drawn before the last key is drawn by then, however late the interface is.
    """
    drawn = b""
    for key, drive in ((_DOWN, SSHD), (_UP, HDD)):
        typist.forget()
        typist.press(key)
        typist.wait_for(f"Serial {drive.serial}".encode(), since_s=time.monotonic())
        drawn += typist.drawn
    return drawn
