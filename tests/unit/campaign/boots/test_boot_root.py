# SPDX-License-Identifier: Apache-2.0
"""What a measured boot reads of its disk: which one the root is on, and when it fell quiet."""

from pathlib import Path

import pytest

from appliance.campaign.boots import sample as boot_sample
from appliance.campaign.host import Clock
from appliance.errors import StepFailedError
from appliance.reference_os.install import root_partuuid
from appliance.samples.diskstats import DiskStats

# The root


class Machine:
    """What udev, systemd and the kernel show of partitions and of the root."""

    def __init__(self, path: Path) -> None:
        self.mounted = path / "volatile-root"
        self.named = path / "by-partuuid"
        self.devices = path / "sys/dev/block"
        self.named.mkdir()
        self.devices.mkdir(parents=True)
        for number, partition in (("8:1", "sda/sda1"), ("254:1", "bcache0/bcache0p1")):
            (path / "sys/devices" / partition).mkdir(parents=True)
            (self.devices / number).symlink_to(f"../../devices/{partition}")

    def mount(self, number: str, *, named: str) -> None:
        """The root was mounted from `number`; its UUID leads to `named`."""
        self.mounted.symlink_to(f"/dev/block/{number}")
        (self.named / root_partuuid(1)).symlink_to(f"../../{named}")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    monkeypatch.setattr(boot_sample, "_MOUNTED_ROOT", machine.mounted)
    monkeypatch.setattr(boot_sample, "_BY_PARTUUID", machine.named)
    monkeypatch.setattr(boot_sample, "_DEVICES", machine.devices)
    return machine


@pytest.mark.parametrize(
    ("number", "named", "disk"), [("8:1", "sda1", "sda"), ("254:1", "bcache0p1", "bcache0")]
)
def test_the_disk_is_the_one_the_root_was_mounted_from(
    machine: Machine, number: str, named: str, disk: str
) -> None:
    machine.mount(number, named=named)
    assert boot_sample.find_root_disk(1) == disk


def test_a_root_whose_uuid_leads_elsewhere_gives_no_sample(machine: Machine) -> None:
    machine.mount("254:1", named="sda1")
    with pytest.raises(
        StepFailedError, match=r"mounted from bcache0p1, and its UUID leads to .*/sda1"
    ):
        boot_sample.find_root_disk(1)


def test_a_root_that_is_gone_or_not_known_gives_no_sample(machine: Machine) -> None:
    unknown = "what this boot's root was mounted from is not known: "
    with pytest.raises(StepFailedError, match=f"{unknown}.*/volatile-root: No such file"):
        boot_sample.find_root_disk(1)
    machine.mount("8:17", named="sda1")
    with pytest.raises(StepFailedError, match=f"{unknown}.*/8:17: No such file"):
        boot_sample.find_root_disk(1)


# I/O quiet


class Disk:
    """A disk with a clock: `reads` has the seconds at which it reads."""

    def __init__(self, reads: list[float]) -> None:
        self.now_s = 100.0
        self.reads = reads

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds

    def read_stats(self, _disk: str) -> DiskStats:
        """Count the reads so far."""
        done = sum(at <= self.now_s - 100 for at in self.reads)
        return DiskStats(done, done * 4096, 0, 0)


@pytest.mark.parametrize(
    ("reads", "quiet_s"),
    [
        ([], 0.0),
        ([0.5, 1.1], 1.1),
        ([0.9, 1.8, 2.7, 3.6], 3.6),
        ([0.1, 5.0], 0.1),  # what comes after a quiet second is no longer the start-up's
        ([each / 10 for each in range(200)], None),
    ],
)
def test_quiet_is_the_last_read_before_a_quiet_second(
    monkeypatch: pytest.MonkeyPatch, reads: list[float], quiet_s: float | None
) -> None:
    disk = Disk(reads)
    monkeypatch.setattr(boot_sample, "_read_stats", disk.read_stats)
    clock = Clock(monotonic_s=lambda: disk.now_s, time_s=lambda: disk.now_s, sleep=disk.sleep)
    measured_s = boot_sample._wait_for_quiet("sda", clock)
    if quiet_s is None:
        assert measured_s is None
    else:
        # Seen at the next look.
        assert measured_s is not None
        assert quiet_s <= measured_s - 100 <= quiet_s + 0.21


def test_a_sensor_that_cannot_be_had_costs_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StepFailedError("modprobe does not answer")

    monkeypatch.setattr(boot_sample, "run", fail)
    boot_sample._load_sensors()
