# SPDX-License-Identifier: Apache-2.0
"""Only errors of the drive are its kernel errors, by any name that the kernel has for it."""

import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from appliance.samples.kernel_errors import (
    KernelErrors,
    KernelWatch,
    find_errors,
    find_kernel_names,
)

_ATA = "devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
_NVME = "devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1"
_SECOND = "devices/pci0000:00/0000:00:1f.1/ata1/host0/target0:0:1/0:0:1:0/block/sdb"


def describe_errors(records: Iterable[str], names: Sequence[str]) -> str:
    return find_errors(records, names).sentence


def names(tmp_path: Path, device: str) -> tuple[str, ...]:
    folder = tmp_path / device
    folder.mkdir(parents=True)
    link = tmp_path / folder.name
    link.symlink_to(folder)
    return find_kernel_names(link)


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (_ATA, "I/O error, dev sda, sector 2048 op 0x0:(READ)"),
        (_ATA, "Buffer I/O error on dev sda2, logical block 0"),
        (_ATA, "ata1.00: exception Emask 0x0 SAct 0x4 SErr 0x0 action 0x0"),
        (_ATA, "ata1: hard resetting link"),
        (_ATA, "sd 0:0:0:0: [sda] tag#2 FAILED Result: hostbyte=DID_OK"),
        (_NVME, "nvme nvme0: controller is down; will reset"),
        (_NVME, "I/O error, dev nvme0n1, sector 8"),
        (_NVME, "Buffer I/O error on dev nvme0n1p2, logical block 0"),
    ],
)
def test_errors_of_the_drive_are_told(tmp_path: Path, device: str, text: str) -> None:
    record = f"3,812,5120394,-;{text}\n SUBSYSTEM=scsi\n DEVICE=+scsi:0:0:0:0\n"
    assert describe_errors([record], names(tmp_path, device)) == text


@pytest.mark.parametrize(
    "record",
    [
        "3,1,1,-;I/O error, dev sdb, sector 2048",
        "3,1,1,-;I/O error, dev sdaa, sector 2048",
        "3,1,1,-;ata10.00: exception Emask 0x0",
        "3,1,1,-;ata1.01: failed command: READ DMA",
        "3,1,1,-;sd 10:0:0:0: [sdb] FAILED",
        "6,1,1,-;sd 0:0:0:0: [sda] Attached SCSI disk",
        "4,1,1,-;sd 0:0:0:0: [sda] No Caching mode page found",
        "11,1,1,-;a program says that sda has an I/O error",
        "not a record",
        "",
    ],
)
def test_nothing_else_is(tmp_path: Path, record: str) -> None:
    assert describe_errors([record], names(tmp_path, _ATA)) == ""


def test_of_two_drives_on_a_port_each_has_its_own_errors(tmp_path: Path) -> None:
    records = [
        f"3,1,1,-;{text}"
        for text in (
            "ata1.00: failed command: READ DMA",
            "ata1.01: failed command: WRITE DMA",
            "ata1: hard resetting link",
        )
    ]
    assert find_errors(records, names(tmp_path, _SECOND)).texts == (
        "ata1.01: failed command: WRITE DMA",
        "ata1: hard resetting link",
    )


def test_a_timeout_is_told_though_it_is_a_warning_only(tmp_path: Path) -> None:
    text = "nvme nvme0: I/O tag 5 (1005) opcode 0x2 (I/O Cmd) QID 1 timeout, completion polled"
    assert describe_errors([f"4,1,1,-;{text}"], names(tmp_path, _NVME)) == text


def test_many_are_counted_and_nothing_acts_on_a_terminal(tmp_path: Path) -> None:
    records = [f"3,{n},1,-;I/O error, dev sda, sector {n}\x1b[2J" for n in range(8)]
    told = describe_errors(records, names(tmp_path, _ATA))
    assert told.count("; ") == 5
    assert told.endswith("; 3 more")
    assert "\x1b" not in told


_SCSI = "devices/pci0000:00/0000:00:03.0/virtio0/host0/target0:0:0/0:0:0:0/block/sda"
_POWER_ON = "4,511,1,-;sd 0:0:0:0: Power-on or device reset occurred"
_ATTACHED = "5,520,2,-;sd 0:0:0:0: [sda] Attached SCSI disk"


def test_that_a_scsi_drive_was_switched_on_is_no_error(tmp_path: Path) -> None:
    early = "4,500,1,-;scsi 0:0:0:0: Power-on or device reset occurred"
    assert describe_errors([early, _POWER_ON, _ATTACHED], names(tmp_path, _SCSI)) == ""


@pytest.mark.parametrize(
    "records",
    [
        # A reset while the drive is at work, and one of which the beginning was overwritten.
        [_ATTACHED, _POWER_ON],
        [_POWER_ON],
        [_POWER_ON, _ATTACHED, _POWER_ON],
        # Another drive's, and a program's.
        [_POWER_ON, "5,520,2,-;sd 0:0:1:0: [sdb] Attached SCSI disk"],
        [_POWER_ON, "13,520,2,-;sd 0:0:0:0: [sda] Attached SCSI disk"],
    ],
)
def test_a_reset_after_that_is_one(tmp_path: Path, records: list[str]) -> None:
    told = describe_errors(records, names(tmp_path, _SCSI))
    assert told == "sd 0:0:0:0: Power-on or device reset occurred"


def test_what_happened_before_a_drive_was_attached_is_told(tmp_path: Path) -> None:
    error = "sd 0:0:0:0: [sda] Read Capacity(10) failed: Result: hostbyte=DID_OK"
    told = describe_errors([_POWER_ON, f"3,2,1,-;{error}", _ATTACHED], names(tmp_path, _SCSI))
    assert told == error


# A read that the drive could not answer, as Linux 6.12 reports it.
_FAILED_READ = (
    "3,901,88000001,-;ata2.00: exception Emask 0x0 SAct 0x1f SErr 0x0 action 0x0",
    "3,902,88000002,-;ata2.00: irq_stat 0x40000000",
    "3,903,88000003,-;ata2.00: failed command: READ FPDMA QUEUED",
    "3,904,88000004,-;ata2.00: cmd 60/00:10:00:20:03/02:00:00:00:00/40 tag 2 ncq dma 262144 in",
    "3,905,88000005,-;ata2.00: status: { DRDY ERR }",
    "3,906,88000006,-;ata2.00: error: { UNC }",
    "6,907,88000007,-;ata2.00: configured for UDMA/100",
    "6,908,88000008,-;ata2: EH complete",
)


@pytest.fixture
def kernel() -> Iterator[tuple[socket.socket, KernelWatch]]:
    """Its log, which gives a record at a time as /dev/kmsg does, and one who reads it."""
    written, read = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    read.setblocking(False)
    watch = KernelWatch({7: (r"ata2(?:\.00|(?!\.\d))",), 8: ("ata1",)}, read.detach())
    yield written, watch
    watch.close()
    written.close()


def test_a_watch_has_what_was_reported_since_the_last_time(
    kernel: tuple[socket.socket, KernelWatch],
) -> None:
    log, watch = kernel
    assert watch.take() == {7: KernelErrors(), 8: KernelErrors()}
    for record in _FAILED_READ:
        log.send(record.encode())
    found = watch.take()
    assert found[8] == KernelErrors()
    assert (found[7].messages, found[7].complete) == (6, True)
    assert found[7].texts[2] == "ata2.00: failed command: READ FPDMA QUEUED"
    assert found[7].sentence.endswith("ata2.00: status: { DRDY ERR }; 1 more")
    assert watch.take() == {7: KernelErrors(), 8: KernelErrors()}


def test_that_records_were_overwritten_is_known(
    kernel: tuple[socket.socket, KernelWatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, watch = kernel
    log.send(_FAILED_READ[2].encode())
    answers = [BrokenPipeError()]
    read = os.read

    def read_record(file: int, size: int) -> bytes:
        if answers:
            raise answers.pop()
        return read(file, size)

    monkeypatch.setattr("appliance.samples.kernel_errors.os.read", read_record)
    text = "ata2.00: failed command: READ FPDMA QUEUED"
    assert watch.take()[7] == KernelErrors(1, (text,), complete=False)
    assert watch.take()[7] == KernelErrors()


def test_of_a_log_that_cannot_be_read_nothing_is_known() -> None:
    watch = KernelWatch({7: ("sda",)}, None)
    assert watch.take() == {}
    watch.close()
