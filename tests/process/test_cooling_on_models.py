# SPDX-License-Identifier: Apache-2.0
"""Cooling the lab's hybrids as nbdkit serves them: no machine runs, and time is the drive's own.

A clockwork like the drive's says how long each read took: by the host's clock a late host would be
a slow drive.
"""

import socket
import struct
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from appliance.caches import cooling
from appliance.caches.cooling import MOST_REMEMBERED, PROBE_READS, cool_drive, plan_cooling
from appliance.progress import ignore_progress
from appliance.samples.read_list import make_list
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.flash import Learning
from tests.lab.simulated_boots import make_clockwork
from tests.lab.timing import SeekCurve, Timing

_SIZE = 512 << 20
_READS = make_list(drive_bytes=_SIZE, set_bytes=8 << 20)
_HYBRID = ModelledDrive(
    serial="HYBRID", model="sshd", size_bytes=_SIZE, curve=SeekCurve(0.004, 0.006, 0.008)
)


class NbdReader:
    """What reads from a served drive (doc/proto.md of NBD: fixed newstyle, simple replies)."""

    def __init__(self, path: Path, drive: ModelledDrive) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._clockwork = make_clockwork(drive)
        self.seconds = 0.0
        """What its drive took for all that was read."""

    def read_clock(self) -> int:
        """Nanoseconds of the drive's own time."""
        return round(self.seconds * 1e9)

    def __enter__(self) -> Self:
        assert self._receive(18)[:16] == b"NBDMAGICIHAVEOPT"
        self._socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        (size_bytes, _flags) = struct.unpack(">QH", self._receive(10))
        assert size_bytes == _SIZE
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _receive(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            found += self._socket.recv(length - len(found))
        return found

    def read(self, _fd: int, _path: str, view: memoryview, offset: int) -> int:
        """In the place of the system's."""
        self._socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 0, 1, offset, len(view)))
        magic, error, _ = struct.unpack(">IIQ", self._receive(16))
        assert (magic, error) == (0x67446698, 0)
        self._receive(len(view))
        self.seconds += self._clockwork.read(offset, len(view), now_s=0.0).seconds
        return len(view)


@pytest.mark.parametrize(
    ("drive", "learned", "proven"),
    [
        (replace(_HYBRID, nand_bytes=16 << 20), True, True),
        (
            replace(_HYBRID, nand_bytes=16 << 20, timing=Timing(learning=Learning(2))),
            True,
            True,
        ),
        (replace(_HYBRID, nand_bytes=_SIZE), True, False),
        (replace(_HYBRID, model="hdd"), False, True),
        (replace(_HYBRID, model="ssd"), False, True),
    ],
    ids=["forgets", "learns-by-two-reads", "keeps-all", "disk", "ssd"],
)
def test_a_modelled_drive_forgets_or_is_told(
    drive: ModelledDrive,
    *,
    learned: bool,
    proven: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cooling, "FIRST_ROUND_BYTES", 32 << 20)
    monkeypatch.setattr(cooling, "LEAST_REGION_BYTES", 64 << 20)
    path = tmp_path / "drive"
    path.touch()
    with DriveBay([drive], folder=tmp_path) as bay:
        ((_, served),) = bay.attached(power_on=1)
        with NbdReader(served, drive) as reader:
            monkeypatch.setattr(cooling, "_read", reader.read)
            for each in _READS.extents * 2:
                reader.read(0, "", memoryview(bytearray(each.length_bytes)), each.offset_bytes)
            plan = plan_cooling(_READS, drive_bytes=_SIZE, seed="x", turn=0)
            found = cool_drive(str(path), plan, progress=ignore_progress, clock=reader.read_clock)
    (stats,) = bay.stats(bay.drives[0])
    print(found.rounds, [(each.remembered, each.boot_median_ns) for each in found.probes])
    assert found.is_proven is proven
    assert (found.probes[0].remembered > PROBE_READS // 2) is learned
    assert (found.probes[-1].remembered <= MOST_REMEMBERED) is proven
    assert stats["write_bytes"] + stats["trim_bytes"] == 0
    assert stats["seek_s"] == pytest.approx(reader.seconds), "the served drive took another time"
