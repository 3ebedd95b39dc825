# SPDX-License-Identifier: Apache-2.0
"""Power cuts while a stick upgrades itself, on one that loses some of what was not flushed.

Each start is of the old version or the new one, with the database of before.
"""

import hashlib
import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.served_stick import ServedStick
from tests.lab.stick import Partition, find_partition, find_partitions, make_stick, put_file
from tests.lab.stick_faults import parse_stick_faults

_NAME = "kaltstart-0.1.0-amd64.img.xz"
# What is done is shown at once when something else is done, and every two seconds. To read a
# partition is to compare all of it with its hashes, as far as it is root's.
_AGENT = """\
status=/run/kaltstart/status.json
until grep -q '"phase": "idle"' $status; do sleep 1; done 2> /dev/null
database=/var/lib/kaltstart/kaltstart.sqlite
fat=$(findmnt --noheadings --output SOURCE /run/kaltstart/fat)
disk=${fat##*/}; disk=${disk%1}
say "start $(sqlite3 -readonly $database "SELECT count(*) FROM event WHERE event = 'ready'")"
say "database $(sqlite3 -readonly $database 'PRAGMA integrity_check')"
if cat /dev/mapper/root > /dev/null; then say "root $(cat /sys/class/block/${disk}4/start)"; fi
kaltstart upgrade
while sleep 0.1; do
  now=$(grep -o '"label": "[^"]*"' $status)
  if [ "$now" != "$last" ]; then last=$now; say "at $now"; fi
done
"""


def _make_setup(out: Path, firmware: str) -> MachineSetup:
    stick = make_stick(IMAGE, out / "stick.raw")
    packed = lzma.compress(IMAGE.read_bytes(), preset=0)
    put_file(stick, _NAME, packed)
    put_file(stick, "SHA256SUMS", f"{hashlib.sha256(packed).hexdigest()}  {_NAME}\n")
    return MachineSetup(
        stick=stick,
        serial_log=out / "serial.log",
        agent=_AGENT,
        firmware=firmware,
        holds_restarts=True,
    )


def _wait_for_start(machine: Machine, number: int) -> int:
    """The start of this number since the stick was made; where its root lies."""
    machine.wait_for(rf"lab-agent: start {number}\b", timeout_s=PATIENCE_S)
    machine.wait_for(r"lab-agent: database ok\b", timeout_s=PATIENCE_S)
    return int(machine.wait_for(r"lab-agent: root (\d+)", timeout_s=PATIENCE_S)[1])


def _find_root(stick: Path) -> Partition:
    (root,) = (part for part in find_partitions(stick) if part.number == 4)
    return root


@pytest.mark.long
@pytest.mark.parametrize("firmware", ["uefi", "bios"])
def test_after_a_cut_a_stick_starts_the_old_version_or_the_new_one(
    out: Path, firmware: str
) -> None:
    setup = _make_setup(out, firmware)
    old = _find_root(setup.stick).offset_bytes // 512
    faults = parse_stick_faults(["forget-unflushed some"], seed=1)
    with ServedStick(setup.stick, faults) as stick:
        setup = replace(setup, stick_socket=stick.socket)
        for number, what in enumerate(("image is checked", "new version", "is read back"), 1):
            with Machine(setup) as machine:
                assert _wait_for_start(machine, number) == old
                machine.wait_for(f'lab-agent: at "label": .*{what}', timeout_s=PATIENCE_S)
        with Machine(setup) as machine:
            assert _wait_for_start(machine, 4) == old
            machine.wait_restart(timeout_s=PATIENCE_S)
        with Machine(setup) as machine:
            assert _wait_for_start(machine, 5) > old
    assert find_partition(setup.stick, "KALTSTART") == find_partition(IMAGE, "KALTSTART")
