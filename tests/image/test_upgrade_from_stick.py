# SPDX-License-Identifier: Apache-2.0
"""A stick that upgrades itself by an image on KALTSTART, there and back, on each firmware."""

import hashlib
import lzma
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.monitor import Monitor
from tests.lab.screens import load_look
from tests.lab.stick import (
    DATA_NAME,
    FAT_NAME,
    Partition,
    find_partition,
    find_partitions,
    make_stick,
    put_file,
)

_NAME = "kaltstart-0.1.0-amd64.img.xz"
# Twice: into the room behind the first system, and back into the place of the first one.
_AGENT = """\
until grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done 2> /dev/null
database=/var/lib/kaltstart/kaltstart.sqlite
done=$(sqlite3 -readonly $database "SELECT count(*) FROM event WHERE event = 'upgraded'")
fat=$(findmnt --noheadings --output SOURCE /run/kaltstart/fat)
disk=${fat##*/}; disk=${disk%1}
say "place $done $(cat /sys/class/block/${disk}2/start) $(cat /sys/class/block/${disk}4/start)"
for part in 4 5; do set -- "$@" $(ls /sys/class/block/$disk$part/holders | wc -l); done
say "root $*"
if [ $done -lt 2 ]; then kaltstart upgrade; say "asked $?"; else systemctl poweroff; fi
"""


def _pack(folder: Path) -> bytes:
    """The image as it is published, but less tightly."""
    packed = lzma.compress(IMAGE.read_bytes(), preset=0)
    (folder / _NAME).write_bytes(packed)
    return packed


def _read(stick: Path, part: Partition | None) -> bytes:
    assert part is not None
    with stick.open("rb") as file:
        file.seek(part.offset_bytes)
        return file.read(part.size_bytes)


@pytest.mark.long
@pytest.mark.parametrize("firmware", ["uefi", "secureboot", "bios"])
def test_a_stick_upgrades_itself_and_starts_from_where_that_is(out: Path, firmware: str) -> None:
    stick = make_stick(IMAGE, out / "stick.raw")
    before = find_partitions(stick)
    packed = _pack(out)
    put_file(stick, _NAME, packed)
    put_file(stick, "SHA256SUMS", f"{hashlib.sha256(packed).hexdigest()}  {_NAME}\n")
    setup = MachineSetup(
        stick=stick, serial_log=out / "serial.log", agent=_AGENT, firmware=firmware
    )
    places = []
    with Machine(setup) as machine:
        for number in range(3):
            found = machine.wait_for(
                rf"lab-agent: place {number} (\d+) (\d+)", timeout_s=PATIENCE_S
            )
            places.append((int(found[1]), int(found[2])))
            machine.wait_for("lab-agent: root 1 1", timeout_s=PATIENCE_S)
        machine.wait_off(timeout_s=PATIENCE_S)
    start = {part.number: part.offset_bytes // 512 for part in before}
    assert places[0] == places[2] == (start[2], start[4])
    assert places[1][0] > start[5], "behind the first system"
    # The system is the image's again, and the tables are sound to another program.
    after = find_partitions(stick)
    assert {part.name for part in after} == {part.name for part in before} | {DATA_NAME}
    for part in before:
        if part.name != FAT_NAME:
            assert _read(stick, part) == _read(IMAGE, part), part.name
    assert find_partition(stick, FAT_NAME) == find_partition(IMAGE, FAT_NAME)


@pytest.mark.long
def test_the_page_machine_asks_and_shows_how_far_it_is(out: Path) -> None:
    stick = make_stick(IMAGE, out / "stick.raw")
    put_file(stick, _NAME, _pack(out))
    setup = MachineSetup(
        stick=stick, serial_log=out / "serial.log", firmware="bios", interface=True
    )
    font, _ = load_look()
    with Machine(setup) as machine:
        machine.wait_event("ready", timeout_s=PATIENCE_S)
        monitor = Monitor(machine, font)
        monitor.press("5")
        monitor.wait_for("u upgrade")
        machine.screenshot(out / "vga-Machine.png")
        monitor.press("u")
        monitor.wait_for(_NAME)
        machine.screenshot(out / "vga-question.png")
        monitor.press("right", "ret")
        monitor.wait_for("Upgrading the stick|The new version|read back")
        machine.screenshot(out / "vga-page-while-written.png")
        monitor.press("3")
        monitor.wait_for(r"\[3 Run\]")
        machine.screenshot(out / "vga-Run-while-written.png")
        # The second start.
        machine.wait_event("ready", timeout_s=PATIENCE_S)
        monitor.wait_for(r"\[1 Drives\]")
        monitor.press("5")
        monitor.wait_for("u upgrade")
        machine.screenshot(out / "vga-after.png")
    assert find_partition(stick, "esp") != find_partition(IMAGE, "esp")
