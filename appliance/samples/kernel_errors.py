# SPDX-License-Identifier: Apache-2.0
"""What the kernel reports of a drive's errors in a boot or a step. Reads its log; never fails them.

The names under which it reports a drive: its block device, its SCSI address, its ATA port and its
NVMe controller (dev_printk, sd_printk and ata_dev_printk of Linux 6.12).
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.units import printable

_KMSG = Path("/dev/kmsg")
_RECORD_BYTES = 8192
"""Longer ones the kernel does not give (PRINTK_MESSAGE_MAX)."""
_MOST_RECORDS = 100_000
"""Read at a time: more than its buffer holds, unless it is filled as fast as it is read."""
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
_SCSI_ADDRESS = re.compile(r"\d+:(\d+):(\d+):\d+")
_NVME = re.compile(r"nvme\d+")
_ATA_PORT = re.compile(r"ata\d+")


@dataclass(frozen=True, slots=True)
class KernelErrors:
    """The kernel's messages about errors of one drive."""

    messages: int = 0
    texts: tuple[str, ...] = ()
    """The first few different ones."""
    complete: bool = True
    """Whether none was overwritten before it was read."""

    @property
    def sentence(self) -> str:
        """For people; empty without a message."""
        more = self.messages - len(self.texts)
        return "; ".join([*self.texts, *([f"{more} more"] if more else [])])


class KernelWatch:
    """What the kernel reports of some drives' errors from here on.

    Its log is opened at once and read when that is asked for: meanwhile nothing is done.
    """

    def __init__(self, names: Mapping[int, Sequence[str]], log: int | None) -> None:
        """`names`: by drive, those of `find_kernel_names`. `log`: a file; None: it has none."""
        self._names = names
        self._log = log

    def take(self) -> dict[int, KernelErrors]:
        """By drive, since the last time; empty if the log cannot be read."""
        if self._log is None:
            return {}
        try:
            records, complete = _read_records(self._log)
        except OSError:
            return {}
        return {
            drive: find_errors(records, names, complete=complete)
            for drive, names in self._names.items()
        }

    def close(self) -> None:
        """Nothing is read any more."""
        if self._log is not None:
            os.close(self._log)
            self._log = None


def watch_kernel(blocks: Mapping[int, Path]) -> KernelWatch:
    """From now on, of the drives shown in `blocks`, /sys/class/block/sda."""
    names = {drive: find_kernel_names(block) for drive, block in blocks.items()}
    try:
        log = os.open(_KMSG, os.O_RDONLY | os.O_NONBLOCK)
        # Behind the last record (devkmsg_llseek() in kernel/printk/printk.c).
        os.lseek(log, 0, os.SEEK_END)
    except OSError:
        return KernelWatch(names, None)
    return KernelWatch(names, log)


def find_kernel_names(block: Path) -> tuple[str, ...]:
    """Patterns of what the kernel calls the drive shown in `block`, /sys/class/block/sda."""
    disk = re.escape(block.name) + (r"(?:p\d+)?" if block.name[-1:].isdigit() else r"\d*")
    parts = block.resolve().parts[:-1]
    addresses = [match for part in parts if (match := _SCSI_ADDRESS.fullmatch(part))]
    # The other drive of a port has another number (ata_scsi_scan_host() in libata-scsi.c).
    number = r"\d+"
    if addresses:
        number = f"{sum(map(int, addresses[-1].groups())):02d}"
    return (
        disk,
        *(match[0] for match in addresses),
        *(part for part in parts if _NVME.fullmatch(part)),
        *(rf"{part}(?:\.{number}|(?!\.\d))" for part in parts if _ATA_PORT.fullmatch(part)),
    )


def read_kernel_errors(names: Sequence[str]) -> str:
    """The kernel's messages of this boot that are errors of a drive; empty without one."""
    try:
        log = os.open(_KMSG, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        return find_errors(_read_records(log)[0], names).sentence
    except OSError:
        return ""
    finally:
        os.close(log)


def find_errors(
    records: Iterable[str], names: Sequence[str], *, complete: bool = True
) -> KernelErrors:
    """Those of a drive among records of the kernel's log. Pure."""
    named = re.compile(rf"(?<![\w:.-])(?:{'|'.join(names)})(?!\w|:\d)")
    texts: list[str] = []
    for priority, text in map(_parse_record, records):
        if priority < _PROGRAMS and (attached := _ATTACHED.search(text)):
            texts = [error for error in texts if not _is_power_on(error, attached[1])]
        elif _is_error(priority, text) and named.search(text):
            texts.append(text)
    first = tuple(printable(text)[:_LONGEST] for text in dict.fromkeys(texts))[:_MOST]
    return KernelErrors(len(texts), first, complete)


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


def _read_records(log: int) -> tuple[list[str], bool]:
    """Those that are there now, and whether none was overwritten before. Raises OSError."""
    records: list[str] = []
    complete = True
    for _ in range(_MOST_RECORDS):
        try:
            record = os.read(log, _RECORD_BYTES)
        except BlockingIOError:
            break
        except BrokenPipeError:
            complete = False
            continue
        records.append(record.decode(errors="replace"))
    return records, complete
