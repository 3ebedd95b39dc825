# SPDX-License-Identifier: Apache-2.0
"""Drives not released stay as they are: whatever is on them, whatever comes in their place."""

import base64
import filecmp
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.foreign import make_foreign_images
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.plug import plug, unplug
from tests.lab.stick import get_database, make_stick, put_file

_BUSES = {"gpt": "sata", "lvm": "sata", "md12-a": "sata", "md12-b": "sata", "md10": "sata",
          "md090": "sata", "bcache-cache": "nvme", "swap": "usb"}  # fmt: skip
"""Those that are not named here are on SCSI."""
_ON_DISK = {
    "lvm": "LVM2_member", "md12-a": "linux_raid_member", "md12-b": "linux_raid_member",
    "md10": "linux_raid_member", "md090": "linux_raid_member", "bcache-backing": "bcache",
    "bcache-cache": "bcache", "zfs": "zfs_member", "btrfs": "btrfs", "btrfs-a": "btrfs",
    "btrfs-b": "btrfs", "swap": "swap", "hibernated": "swsuspend", "luks": "crypto_LUKS", "gpt": "",
}  # fmt: skip
"""What the list of drives calls what lies on the whole of each."""

_PLAN = """\
version = 1
[campaign]
name = "guard"
autostart = true
on_finish = "tui"
[[drive]]
serial = "G-MINE"
erase = "G-MINE"
[[workload]]
kind = "fio"
filesystem = "none"
size = "8M"
runtime = 3
tests = ["seq-write"]
page_cache = "bypass"
"""
# Much longer than it takes to press a key.
_LONG = _PLAN.replace("runtime = 3\n", "runtime = 600\n")
_HEAD = 'version = 1\n[campaign]\nname = "refused"\nautostart = true\n'
_STEP = '[[workload]]\nkind = "fio"\nfilesystem = "none"\nsize = "8M"\ntests = ["seq-write"]\n'
# Each is refused as a whole, though its first drive is there and released.
_REFUSED = {
    "absent": (
        _HEAD
        + '[[drive]]\nserial = "G-LVM"\nerase = "G-LVM"\n'
        + '[[drive]]\nserial = "G-NOWHERE"\nerase = "G-NOWHERE"\n'
        + _STEP,
        "G-NOWHERE",
    ),
    "unreleased": (
        _HEAD
        + '[[drive]]\nserial = "G-ZFS"\nerase = "G-ZFS"\n'
        + '[[drive]]\nserial = "G-MD12-A"\n'
        + _STEP,
        "G-MD12-A",
    ),
    "another": (_HEAD + '[[drive]]\nserial = "G-GPT"\nerase = "G-MINE"\n' + _STEP, "erase"),
}
_SCRIPT = (Path(__file__).parent / "guard.sh").read_text()


@dataclass(frozen=True, slots=True)
class _Swap:
    """What is in one SCSI slot, one after the other."""

    first: ModelledDrive
    other: ModelledDrive
    larger: ModelledDrive


_SWAP = _Swap(
    ModelledDrive(serial="G-SLOT", bus="scsi", size_bytes=64 << 20),
    ModelledDrive(serial="G-OTHER", bus="scsi", size_bytes=96 << 20),
    ModelledDrive(serial="G-SLOT", bus="scsi", size_bytes=128 << 20),
)


def test_foreign_drives_stay_as_they_are(out: Path) -> None:
    images = make_foreign_images(out / "images")
    foreign = [
        ModelledDrive(
            serial=f"G-{name.upper()}",
            bus=_BUSES.get(name, "scsi"),
            size_bytes=image.stat().st_size,
            file=image,
        )
        for name, image in images.items()
    ]
    mine = ModelledDrive(
        serial="G-MINE",
        bus="nvme",
        size_bytes=images["gpt"].stat().st_size,
        file=images["gpt"],
    )
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        processors=2,
        agent=_SCRIPT.replace("@PLANS@", _refused_plans()).replace("@LONG@", _encode(_LONG)),
    )
    put_file(setup.stick, "plan.toml", _PLAN)
    drives = [*foreign, mine, _SWAP.first, _SWAP.other, _SWAP.larger]
    with DriveBay(drives, folder=out / "drives") as bay:
        first, other, larger = bay.drives[-3:]
        plugged = [pair for pair in bay.attached(power_on=1) if pair[0] not in (other, larger)]
        with Machine(setup, drives=plugged) as machine:
            clearing = machine.wait_event("clearing", timeout_s=PATIENCE_S)
            done = machine.wait_event("campaign-done", timeout_s=PATIENCE_S)
            machine.wait_for(r"lab-agent: ready-serial", timeout_s=PATIENCE_S)
            unplug(machine, first, bay.socket(first))
            plug(machine, other, bay.socket(other))
            machine.wait_for(r"lab-agent: ready-size", timeout_s=PATIENCE_S)
            unplug(machine, other, bay.socket(other))
            plug(machine, larger, bay.socket(larger))
            said = _all_said(machine)
            # In the middle of a step; in their order, as the keyboards' events are.
            machine.press("sleep")
            machine.press_power_button()
            paused = machine.wait_event("campaign-paused", timeout_s=PATIENCE_S)
            control = machine.qmp
            machine.wait_off(timeout_s=PATIENCE_S)
            assert not control.has_told("SUSPEND"), "a machine that sleeps cuts the drives' power"
        untouched = [drive for drive in bay.drives if drive.serial != "G-MINE"]
    # The drives' processes have ended: their accounts are complete.
    for drive in untouched:
        for account in bay.stats(drive):
            assert (account["writes"], account["trims"]) == (0, 0), (drive.name, account)
    for drive in bay.drives[: len(foreign)]:
        assert drive.file is not None
        held = bay.folder / f"{drive.name}.raw"
        assert filecmp.cmp(drive.file, held, shallow=False), f"{drive.name} is not as it was"

    _check_listed(said)
    _check_refused(said)
    _check_swapped(said)
    assert done.fields["failed"] == "0"
    assert said["started"].startswith("0 "), said["started"]
    assert paused.fields["id"] == "2"
    assert clearing.fields["drive"] == "G-MINE"
    assert int(clearing.fields["steps"]) == 9  # two for each of three partitions, and its table
    _check_cleared(out, setup.stick)


def _refused_plans() -> str:
    lines = []
    for name, (text, _) in _REFUSED.items():
        lines.append(f"base64 -d <<< {_encode(text)} > /run/{name}.toml")
        lines += [
            f"code {command}-{name} python3 -m appliance {command} /run/{name}.toml"
            for command in ("check", "run")
        ]
    return "\n".join(lines)


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _all_said(machine: Machine) -> dict[str, str]:
    """What the agent said from its start to its end."""
    machine.listen(timeout_s=PATIENCE_S)
    lines = [line for line in machine.text.splitlines() if "lab-agent: " in line]
    words = [line.partition("lab-agent: ")[2].partition(" ") for line in lines]
    return {key: text for key, _, text in words}


def _check_listed(said: dict[str, str]) -> None:
    for name, kind in _ON_DISK.items():
        path, offered, reason, holders, mountpoints, found, read_only = json.loads(
            said[f"drive-G-{name.upper()}"]
        )
        assert path.startswith("/dev/")
        assert offered, (name, reason)
        # Behind USB the number is QEMU's bridge's.
        assert bool(reason) == (_BUSES.get(name) == "usb"), (name, reason)
        assert (holders, mountpoints) == ([], []), name
        assert found == kind, name
        assert read_only, name
    assert said["built"].strip() == ""
    assert said["swaps"] == "0"
    assert "noresume" in said["cmdline"].split()
    assert said["unguarded"] == ""
    for name in ("partition", "disk"):
        code, _, text = said[name].partition(" ")
        assert code != "0", name
        assert "Read-only" in text or "not permitted" in text, text
    assert not said["mounted"].startswith("0 ") or "read-only" in said["mounted"]
    # The list and the look right before unlocking both know of the loop device.
    assert "(False, 'is part of loop" in said["looped"]
    assert "is on top of it" in said["looped"]


def _check_refused(said: dict[str, str]) -> None:
    for name, (_, words) in _REFUSED.items():
        for command in ("check", "run"):
            answer = said[f"{command}-{name}"]
            assert answer.startswith("3 "), (name, answer)
            assert words in answer, (name, answer)


def _check_swapped(said: dict[str, str]) -> None:
    assert said["chosen"].endswith(f" {64 << 20} G-SLOT"), "the kernel and the drive agree"
    for what, words in (("serial", "its serial number was"), ("size", "its size was")):
        answer = said[f"swapped-{what}"]
        assert answer.startswith("RefusedError "), answer
        assert "is another drive than before" in answer
        assert words in answer
        assert said[f"guarded-{what}"] == "1", "a drive that came later is not read-only"


def _check_cleared(out: Path, stick: Path) -> None:
    database = get_database(stick, out)
    assert database is not None
    with closing(sqlite3.connect(database)) as connection:
        events = [
            event
            for (event,) in connection.execute(
                "SELECT event FROM events WHERE event IN ('clearing', 'step-done')"
                " AND campaign_id = 1 ORDER BY seq"
            )
        ]
        (shown,) = connection.execute(
            "SELECT detail FROM events WHERE event = 'clearing' AND campaign_id = 1"
        ).fetchall()
        states = connection.execute("SELECT state FROM campaign ORDER BY id").fetchall()
        (last,) = connection.execute(
            "SELECT event FROM events ORDER BY seq DESC LIMIT 1"
        ).fetchone()
    assert events == ["clearing", "step-done"]
    assert (states, last) == ([("done",), ("paused",)], "power-key")
    for what in ("G-MINE", "(ext4)", "(swap)", "(gpt, PMBR)", "forget", "3 partitions"):
        assert what in shown[0]
