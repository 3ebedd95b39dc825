# SPDX-License-Identifier: Apache-2.0
"""What the kernel reports of a drive's errors in this boot. Reads its log; never fails a boot.

The names under which it reports a drive: its block device, its SCSI address, its ATA port and its
NVMe controller (dev_printk, sd_printk and ata_dev_printk of Linux 6.12).
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from appliance.units import printable

_KMSG = Path("/dev/kmsg")
_RECORD_BYTES = 8192
"""Longer ones the kernel does not give (PRINTK_MESSAGE_MAX)."""
_ERROR, _WARNING = 3, 4
# Where a request that took too long is no error yet (nvme_timeout() in drivers/nvme/host/pci.c).
_GRAVE = re.compile(r"timeout|reset|abort|I/O error", re.IGNORECASE)
_MOST = 5
_LONGEST = 200
_NAMED = (
    (re.compile(r"ata\d+"), r"(?:\.\d+)?"),
    (re.compile(r"\d+:\d+:\d+:\d+"), ""),
    (re.compile(r"nvme\d+"), ""),
)


def find_kernel_names(block: Path) -> tuple[str, ...]:
    """Patterns of what the kernel calls the drive shown in `block`, /sys/class/block/sda."""
    disk = re.escape(block.name) + (r"(?:p\d+)?" if block.name[-1:].isdigit() else r"\d*")
    parts = block.resolve().parts[:-1]
    return (
        disk,
        *(part + more for part in parts for kind, more in _NAMED if kind.fullmatch(part)),
    )


def read_kernel_errors(names: Sequence[str]) -> str:
    """The kernel's messages of this boot that are errors of a drive; empty without one."""
    try:
        return describe_errors(_read_records(), names)
    except OSError:
        return ""


def describe_errors(records: Iterable[str], names: Sequence[str]) -> str:
    """The first few different ones, and how many there are. Pure."""
    named = re.compile(rf"(?<![\w:.-])(?:{'|'.join(names)})(?!\w|:\d)")
    texts = [text for record in records if (text := _find_error(record)) and named.search(text)]
    errors = [printable(text)[:_LONGEST] for text in dict.fromkeys(texts)][:_MOST]
    more = len(texts) - len(errors)
    return "; ".join([*errors, *([f"{more} more"] if more else [])])


def _find_error(record: str) -> str:
    """The text of a record of /dev/kmsg (`priority,number,microseconds,flags;text`), or empty."""
    head, _, text = record.partition(";")
    priority = head.partition(",")[0]
    # The facility is in the bits above: 0 is the kernel itself, others are programs.
    level = int(priority) if priority.isdecimal() else _WARNING + 1
    text = text.partition("\n")[0]
    is_error = level <= _ERROR or (level == _WARNING and _GRAVE.search(text) is not None)
    return text if is_error else ""


def _read_records() -> Iterator[str]:
    log = os.open(_KMSG, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            try:
                yield os.read(log, _RECORD_BYTES).decode(errors="replace")
            except BlockingIOError:
                return
            except BrokenPipeError:
                continue  # the oldest records were overwritten meanwhile
    finally:
        os.close(log)
