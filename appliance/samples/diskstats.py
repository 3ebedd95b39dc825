# SPDX-License-Identifier: Apache-2.0
"""Block device counters since the device appeared."""

from dataclasses import dataclass

_SECTOR_BYTES = 512


@dataclass(frozen=True, slots=True)
class DiskStats:
    """/sys/block/X/stat, the fields in use (kernel: Documentation/block/stat.rst)."""

    read_ios: int
    read_bytes: int
    write_ios: int
    write_bytes: int
    """The least that was written if `lacks_writes`."""
    busy_s: float = 0.0
    in_flight: int = 0
    """Requests the device has not answered yet."""
    wait_s: float = 0.0
    """How long all requests took, added up, from when each was queued to its answer."""
    lacks_writes: bool = False
    """An array's: what was written past its cache is in `write_ios` only. A write that bypasses is
    cut down to nothing where its range of the cache is invalidated, before its sectors are counted
    (bch_data_invalidate() and bio_complete() in drivers/md/bcache/request.c; seen with 6.12)."""

    def written_since(self, before: "DiskStats") -> int | None:
        """Bytes; None if the device does not count them all."""
        return None if self.lacks_writes else self.write_bytes - before.write_bytes


def parse_stat(text: str, *, device: str = "") -> DiskStats:
    """One line of /sys/block/DEVICE/stat; sectors there are always 512 bytes."""
    fields = [int(word) for word in text.split()]
    return DiskStats(
        read_ios=fields[0],
        read_bytes=fields[2] * _SECTOR_BYTES,
        write_ios=fields[4],
        write_bytes=fields[6] * _SECTOR_BYTES,
        busy_s=fields[9] / 1000,
        in_flight=fields[8],
        wait_s=(fields[3] + fields[7]) / 1000,
        lacks_writes=device.startswith("bcache"),
    )
