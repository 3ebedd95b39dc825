# SPDX-License-Identifier: Apache-2.0
"""Boots of a modelled drive without a machine: the reads of a real one, timed by its model. Pure.

The reads are those of one boot of the image in the lab, of the drive that was booted, and those of
a drive that was only there. They were taken out of a drive's log, and are taken again by:

    python3 -m tests.lab.simulated_boots LOG POWER-ON POWER-ON > tests/fixtures/boots/reads.txt

with the power-on in which that drive was booted, and one in which another one was.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.drives import ModelledDrive
from tests.lab.requestlog import parse_requests
from tests.lab.timing import Clockwork

_SECTOR_BYTES = 512
WORK_S = 12.0
"""What the same boot takes on a drive that takes no time: the processor's part."""
_REST_S = 8.0
"""From the last read to the power-off: the sample is stored, and a countdown runs."""


@dataclass(frozen=True, slots=True)
class BootReads:
    """What is read from power-on to power-off, as (offset, length)."""

    booted: tuple[tuple[int, int], ...]
    beside: tuple[tuple[int, int], ...]
    """By firmware and Linux from a drive that is not booted."""


def parse_boot_reads(text: str) -> BootReads:
    """The fixture: `booted OFFSET LENGTH` or `beside OFFSET LENGTH` a line, in sectors."""
    found: dict[str, list[tuple[int, int]]] = {"booted": [], "beside": []}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, offset, length = line.split()
            found[name].append((int(offset) * _SECTOR_BYTES, int(length) * _SECTOR_BYTES))
    return BootReads(tuple(found["booted"]), tuple(found["beside"]))


def format_boot_reads(log: str, *, booted: int, beside: int) -> Iterator[str]:
    """The fixture's lines out of a drive's log, by the power-ons that are meant, from 1."""
    names = {booted: "booted", beside: "beside"}
    for request in parse_requests(log):
        if request.kind == "Read" and request.connection in names:
            offset, length = (each // _SECTOR_BYTES for each in (request.offset, request.length))
            yield f"{names[request.connection]} {offset} {length}"


def make_clockwork(drive: ModelledDrive) -> Clockwork:
    """What decides about the drive's time, new."""
    return Clockwork(
        size_bytes=drive.size_bytes,
        curve=None if drive.model == "ssd" else drive.curve,
        flash_bytes=drive.nand_bytes if drive.model == "sshd" else None,
        timing=drive.timing,
    )


def simulate_boots(
    drive: ModelledDrive, reads: BootReads, *, boots: int, others: int = 0
) -> Iterator[float]:
    """Seconds of each boot after an installation; `others` drives are booted in between."""
    clockwork, now_s = make_clockwork(drive), 0.0
    for offset, length in sorted(set(reads.booted)):
        now_s += clockwork.write(offset, length, now_s=now_s).seconds
    for _ in range(boots):
        now_s += _REST_S
        clockwork.power_on()
        boot_s = _read(clockwork, reads.booted, now_s=now_s)
        yield boot_s
        now_s += boot_s
        for _ in range(others):
            now_s += _REST_S
            clockwork.power_on()
            now_s += _read(clockwork, reads.beside, now_s=now_s)


def _read(clockwork: Clockwork, reads: Sequence[tuple[int, int]], *, now_s: float) -> float:
    """Seconds until all is read, the processor's work spread between the reads."""
    start_s = now_s
    for offset, length in reads:
        now_s += clockwork.read(offset, length, now_s=now_s).seconds + WORK_S / len(reads)
    return now_s - start_s


def _main(words: Sequence[str]) -> None:
    log, booted, beside = words
    lines = format_boot_reads(Path(log).read_text(), booted=int(booted), beside=int(beside))
    print("# Reads of a drive in sectors: see tests/lab/simulated_boots.py")
    print("\n".join(lines))


if __name__ == "__main__":
    _main(sys.argv[1:])
