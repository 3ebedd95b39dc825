# SPDX-License-Identifier: Apache-2.0
"""How long the kernel waits for a drive, and the counters that show a drive still answers.

Reads /sys only, and nothing there that waits for a drive.
"""

from collections.abc import Sequence
from pathlib import Path

from appliance import sysfs
from appliance.drive_thread import Signs

_BLOCK = Path("/sys/class/block")
_DEFAULT_S = 30.0
_TIMES = 40
"""Of the time for one try (docs/decisions/013), so that no drive is abandoned before the kernel
abandons it: for a SCSI or SATA drive 1200 s, while the kernel takes 945 s at most."""

# Documentation/block/stat.rst: requests and sectors that were read, the same written; requests
# that were discarded, and flushes. All of them count when they are answered, errors too.
_ANSWERED = (0, 2, 4, 6, 11, 15)
_UNDER_WAY = 8


def read_patience_s(names: Sequence[str]) -> float:
    """For how long these devices, by the kernel's names, may give no sign before it is for ever."""
    return _TIMES * max((_read_try_s(_BLOCK / name) for name in names), default=_DEFAULT_S)


def _read_try_s(device: Path) -> float:
    # Milliseconds: the driver's, or what was set by hand (Documentation/ABI/stable/sysfs-block).
    text = sysfs.read_text(device / "queue/io_timeout")
    return int(text) / 1000 if text.isdigit() else _DEFAULT_S


def read_signs(names: Sequence[str]) -> dict[str, Signs]:
    """What has been answered and what is under way, of those of the devices that are here."""
    return {
        name: parse_signs(text)
        for name in names
        if (text := sysfs.read_text(_BLOCK / name / "stat"))
    }


def parse_signs(stat: str) -> Signs:
    """One line of /sys/block/X/stat. Pure."""
    fields = [int(word) for word in stat.split()]
    # Older kernels have fewer.
    answered = tuple(fields[at] for at in _ANSWERED if at < len(fields))
    return Signs(answered, fields[_UNDER_WAY])
