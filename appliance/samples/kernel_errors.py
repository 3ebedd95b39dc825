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
_PROGRAMS = 8
"""From this priority on it is a program's: the facility is in its upper bits, 0 is the kernel."""
# Where a request that took too long is no error yet (nvme_timeout() in drivers/nvme/host/pci.c).
_GRAVE = re.compile(r"timeout|reset|abort|I/O error", re.IGNORECASE)
# A SCSI drive's first answer reports its power-on, or the reset of a restart; it is attached after
# that (scsi_report_sense() in drivers/scsi/scsi_error.c). Later it is an error.
_POWER_ON = re.compile(r"(\d+:\d+:\d+:\d+): Power-on or device reset occurred")
_ATTACHED = re.compile(r"(\d+:\d+:\d+:\d+): \[\w+\] Attached SCSI ")
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
    texts: list[str] = []
    for priority, text in map(_parse_record, records):
        if priority < _PROGRAMS and (attached := _ATTACHED.search(text)):
            texts = [error for error in texts if not _is_power_on(error, attached[1])]
        elif _is_error(priority, text) and named.search(text):
            texts.append(text)
    errors = [printable(text)[:_LONGEST] for text in dict.fromkeys(texts)][:_MOST]
    more = len(texts) - len(errors)
    return "; ".join([*errors, *([f"{more} more"] if more else [])])


def _parse_record(record: str) -> tuple[int, str]:
    """Priority and text of a record of /dev/kmsg (`priority,number,microseconds,flags;text`)."""
    head, _, text = record.partition(";")
    priority = head.partition(",")[0]
    return int(priority) if priority.isdecimal() else _PROGRAMS, text.partition("\n")[0]


def _is_error(priority: int, text: str) -> bool:
    return priority <= _ERROR or (priority == _WARNING and _GRAVE.search(text) is not None)


def _is_power_on(text: str, address: str) -> bool:
    match = _POWER_ON.search(text)
    return match is not None and match[1] == address


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
