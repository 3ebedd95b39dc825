# SPDX-License-Identifier: Apache-2.0
"""The kernel writes its messages across a console: the interface on it is redrawn."""

import os
import sys
import time
from pathlib import Path

import pytest

from tests.lab.keys_inside import Typist
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD

pytestmark = pytest.mark.slow

_QUIET_S = 3.0
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
    engine.show_drives(HDD)
    engine.say()
    monkeypatch.setenv("KALTSTART_RUN", str(engine.run))
    monkeypatch.setenv("KALTSTART_DATA", str(engine.data))
    monkeypatch.setenv("KALTSTART_KMSG", str(kernel_log))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    try:
        with Typist([sys.executable, "-m", "tui"]) as typist:
            typist.time_start(HDD.serial.encode())
            for message in (_ERROR, _DEBUG + _ERROR, _ERROR * 50):
                while typist.listen(_QUIET_S):
                    pass
                os.write(kernel, _DEBUG)
                assert not typist.listen(_QUIET_S)
                os.write(kernel, message)
                typist.wait_for(
                    b"Kaltstart", HDD.serial.encode(), b"F1 help", since_s=time.monotonic()
                )
    finally:
        os.close(kernel)
