# SPDX-License-Identifier: Apache-2.0
"""A modelled drive that comes to where the power is to be cut: its process, without a machine."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.faults import parse_faults

_LIMIT, _SIZE = 256 << 10, 1 << 20
_READ = 64 << 10


@contextmanager
def _reader(bay: DriveBay, *, power_on: int) -> Iterator[subprocess.Popen[bytes]]:
    """QEMU's own tool reads the drive to its end; its power goes with the block."""
    ((_, socket),) = bay.attached(power_on=power_on)
    words = [
        word for at in range(0, _SIZE, _READ) for word in ("-c", f"read {at} {_READ}")
    ]  # fmt: skip
    tool = subprocess.Popen(
        ["qemu-io", "-f", "raw", *words, f"nbd+unix:///?socket={socket}"],
        stdout=subprocess.DEVNULL,
    )
    try:
        yield tool
    finally:
        tool.kill()
        tool.wait()


def test_it_waits_there_and_the_next_power_on_finds_it_answering(tmp_path: Path) -> None:
    cut = parse_faults([f"cut@boot2+{_LIMIT >> 10}K"])
    drive = ModelledDrive(serial="LAB-CUT-1", size_bytes=_SIZE, faults=cut)
    with DriveBay([drive], folder=tmp_path) as bay:
        with _reader(bay, power_on=1) as tool:
            assert tool.wait() == 0
            assert not bay.waits_for_cut()
        with _reader(bay, power_on=2) as tool:
            while not bay.waits_for_cut():
                assert tool.poll() is None, "it was read to its end"
                time.sleep(0.01)
            assert bay.waits_for_cut(), "until the power goes"
        with _reader(bay, power_on=3) as tool:
            assert tool.wait() == 0
            assert not bay.waits_for_cut()
    first, second, third = (each["read_bytes"] for each in bay.stats("LAB-CUT-1"))
    assert first == third >= _SIZE
    assert _LIMIT <= second < _LIMIT + _READ
