# SPDX-License-Identifier: Apache-2.0
"""Speeds held against limits: what link, processor and a virtual machine make of them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.drives.condition_values import list_drive_values, list_machine_values
from appliance.drives.block_settings import BlockSettings
from appliance.machine.facts import FixedFacts
from appliance.samples.model import Result
from appliance.samples.processor_load import LoadSample
from appliance.store.tables.conditions import find_changes, insert_conditions, select_conditions
from appliance.store.tables.processor_load import add_load
from appliance.store.tables.verdicts import LimitRow
from appliance.verdict.gather import gather_evidence
from appliance.verdict.judge import Judged, judge
from appliance.verdict.policy_file import parse_policy
from tests.report.database import Disk, make_database
from tests.report.judged import BYPASS, add_health, add_surface, drive_id, read_smart, with_counts
from tests.report.workloads import add_results, add_step, end_step
from tests.unit.drives.single import Single, load_single

SERIAL = "LAB-1"
MACHINE = FixedFacts(
    vendor="Dell Inc.",
    model="OptiPlex 7010",
    serial="",
    board="",
    firmware="uefi",
    firmware_version="A29",
    secure_boot="off",
    processor="Core",
    processors=4,
    is_virtual=False,
    ram_bytes=8 << 30,
)
SETTINGS = BlockSettings(("ahci",), "mq-deadline", 128 << 10, 64, 32, "write back")
CAPTURED = {"sata": "sata-disk", "nvme": "nvme", "usb": "usb"}


class Bench:
    """A campaign of one drive, connected with what a captured one was, or a slower one."""

    def __init__(self, folder: Path, transport: str, *, rotational: int) -> None:
        self.folder = folder
        self.captured: Single = load_single(CAPTURED[transport], folder / "sys")
        disk = Disk(SERIAL, "Lab", rotational=rotational, transport=transport, size_bytes=10**12)
        self.disk = disk
        self.connection: sqlite3.Connection = make_database(folder / "rows.sqlite", disks=[disk])
        health = read_smart("nvme-1035" if transport == "nvme" else "ata-412")
        known = tuple(each for each in health.counters if not each.doubt)
        health = replace(health, counters=known)
        add_health(self.connection, SERIAL, health, health)

    def connect(self, **kernel: object) -> None:
        """Note the drive's conditions, with `kernel` in what /sys had of it."""
        texts = replace(self.captured.kernel, **kernel)  # type: ignore[arg-type]
        values = list_drive_values(self.captured.drive, settings=SETTINGS, kernel=texts, smart="")
        self._note(drive_id(self.connection, SERIAL), values)

    def note_machine(self, fixed: FixedFacts = MACHINE) -> None:
        """Note the machine's conditions."""
        self._note(None, list_machine_values(fixed, governors=[], frequency_drivers=[]))

    def _note(self, owner: int | None, values: dict[str, str]) -> None:
        changes = find_changes(select_conditions(self.connection, 1, owner), values)
        insert_conditions(self.connection, 1, owner, changes)

    def scan(self, mean_mb_s: float) -> int:
        """A whole surface without a fault; its step."""
        return add_surface(self.connection, self.disk, position=0, mean_mb_s=mean_mb_s)

    def judge(self, policy: str = "") -> Judged:
        """What the built-in policy, or that one, makes of it."""
        (judged,) = judge(parse_policy(policy), gather_evidence(self.connection, 1))
        return judged


def make_bench(folder: Path, transport: str, *, rotational: int = 0) -> Iterator[Bench]:
    bench = Bench(folder, transport, rotational=rotational)
    with closing(bench.connection):
        bench.note_machine()
        yield bench


@pytest.fixture
def ssd(tmp_path: Path) -> Iterator[Bench]:
    yield from make_bench(tmp_path, "sata")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Bench]:
    yield from make_bench(tmp_path, "sata", rotational=1)


@pytest.fixture
def nvme(tmp_path: Path) -> Iterator[Bench]:
    yield from make_bench(tmp_path, "nvme")


@pytest.fixture
def usb(tmp_path: Path) -> Iterator[Bench]:
    yield from make_bench(tmp_path, "usb", rotational=1)


def row_of(judged: Judged, name: str) -> LimitRow:
    (row,) = [row for row in judged.limits if row.name == name]
    return row


def test_an_ssd_on_an_old_port_is_accepted_as_it_is(ssd: Bench) -> None:
    ssd.connect(sata_speed="1.5 Gbps")
    ssd.scan(130)  # all that goes through; 200 are asked for
    judged = ssd.judge()
    assert (judged.verdict, judged.reasons) == ("accept", "")
    row = row_of(judged, "surface_mean_mb_s")
    assert (row.outcome, row.measured) == ("kept", "130 MB/s")
    assert row.allowed == "remark below 60 MB/s"
    assert row.detail == (
        "held against 60 MB/s instead of 200 MB/s: 40 % (to reject: 20 %) of the 150 MB/s that "
        "SATA at 1.5 Gb/s carries"
    )


def test_where_the_link_is_not_the_bound_the_built_in_limit_holds(ssd: Bench) -> None:
    ssd.connect(sata_speed="6.0 Gbps")
    ssd.scan(130)
    judged = ssd.judge()
    assert judged.verdict == "accept with remarks"
    row = row_of(judged, "surface_mean_mb_s")
    assert (row.outcome, row.allowed) == ("remark", "remark below 200 MB/s")


def test_a_drive_that_is_slow_even_for_its_link_gets_its_remark(ssd: Bench) -> None:
    ssd.connect(sata_speed="1.5 Gbps")
    ssd.scan(40)
    assert row_of(ssd.judge(), "surface_mean_mb_s").outcome == "remark"


def test_the_slowest_link_of_a_campaign_counts(ssd: Bench) -> None:
    ssd.connect(sata_speed="6.0 Gbps")
    ssd.connect(sata_speed="1.5 Gbps")
    ssd.connect(sata_speed="6.0 Gbps")
    ssd.scan(130)
    assert ssd.judge().verdict == "accept"


def test_an_nvme_drive_in_a_slot_of_one_lane(nvme: Bench) -> None:
    lane = ("2.5 GT/s PCIe", "1", "8.0 GT/s PCIe", "4")
    nvme.connect(pci=lane)
    nvme.scan(205)  # 800 are asked for
    judged = nvme.judge("version = 1\n[nvme]\nsurface_mean_mb_s = { remark = 800, reject = 300 }\n")
    assert judged.verdict == "accept"
    assert row_of(judged, "surface_mean_mb_s").detail == (
        "held against 100 MB/s and 50 MB/s instead of 800 MB/s and 300 MB/s: "
        "40 % (to reject: 20 %) of the 250 MB/s that PCI Express at 2.5 GT/s x1 carries"
    )


def test_a_disk_behind_usb_2(usb: Bench) -> None:
    usb.connect(usb_speed="480")
    usb.scan(28)
    asked = "version = 1\n[usb]\nsurface_mean_mb_s = { remark = 100, reject = 60 }\n"
    judged = usb.judge(asked)
    assert judged.verdict == "accept"
    assert row_of(judged, "surface_mean_mb_s").allowed == (
        "remark below 21.3 MB/s, reject below 10.6 MB/s"
    )


def test_a_latency_is_no_shorter_than_the_way(usb: Bench) -> None:
    """Four requests of 1 MiB that are under way take 79 ms over USB 2, one after the other."""
    usb.connect(usb_speed="480")
    usb.scan(28)
    usb.connection.execute(
        "UPDATE result SET checksum = NULL, value = 1.2e8 WHERE metric = 'lat_p99_ns'"
    )
    row = row_of(usb.judge("version = 1\n[usb]\nsurface_lat_p99_ms = { remark = 50 }\n"),
                 "surface_lat_p99_ms")  # fmt: skip
    assert (row.outcome, row.measured) == ("kept", "120 ms")
    assert row.detail == (
        "held against 196.9 ms instead of 50 ms: 2.5 (to reject: 5) times the 78.8 ms that what is "
        "asked for at a time takes through USB 2"
    )


def test_random_requests_over_usb_2_take_their_frames(usb: Bench) -> None:
    usb.connect(usb_speed="480")
    step = add_step(usb.connection, "fio", SERIAL, position=1)
    add_results(usb.connection, step, [Result("rand-read", "iops", 1500, BYPASS)])
    end_step(usb.connection, step, "done")
    row = row_of(
        usb.judge("version = 1\n[usb]\nfio_rand_read_iops = { reject = 20000 }\n"),
        "fio_rand_read_iops",
    )
    assert row.outcome == "kept"
    assert row.detail.startswith("held against 533.3 1/s instead of 20000 1/s: 40 %")


def test_a_link_that_no_one_knows_holds_no_speed_against_a_drive(ssd: Bench) -> None:
    ssd.scan(40)
    judged = ssd.judge()
    row = row_of(judged, "surface_mean_mb_s")
    assert (row.outcome, row.measured) == ("not measured", "40 MB/s")
    assert row.detail == "the speed of its link is not known"
    assert judged.verdict == "accept"
    assert row_of(judged, "surface_slowest_slice_percent").outcome == "kept"


def test_a_virtual_machine_holds_no_time_against_a_drive(ssd: Bench) -> None:
    ssd.connect(sata_speed="6.0 Gbps")
    ssd.note_machine(replace(MACHINE, is_virtual=True))
    step = ssd.scan(4)
    ssd.connection.execute(
        "UPDATE result SET checksum = NULL, value = 9000"
        " WHERE step_id = ? AND metric = 'slow_ranges'",
        [step],
    )
    judged = ssd.judge()
    for name in (
        "surface_mean_mb_s",
        "surface_lat_p99_ms",
        "surface_slow_ranges",
        "surface_slowest_slice_percent",
    ):
        row = row_of(judged, name)
        assert (row.outcome, row.detail.split("; ")[-1]) == (
            "not measured",
            "timed in a virtual machine, whose host decides how fast it is",
        ), name
    assert judged.verdict == "accept"


@pytest.mark.parametrize(("full", "outcome"), [(60, "not measured"), (40, "remark")])
def test_a_processor_at_its_limit_had_decided_the_speed(
    disk: Bench, full: int, outcome: str
) -> None:
    disk.connect(sata_speed="6.0 Gbps")
    step = disk.scan(50)
    for number in range(100):
        busy = LoadSample(1.0, is_full=number < full)
        add_load(disk.connection, step, f"{number:03}", [busy])
    add_load(disk.connection, step, "", [LoadSample(900.0, is_full=True)])  # between the slices
    row = row_of(disk.judge(), "surface_mean_mb_s")
    assert row.outcome == outcome
    said = "for 60 % of the time a processor was at its limit"
    assert (said in row.detail) == (outcome == "not measured")


def test_only_the_parts_behind_a_figure_count(disk: Bench) -> None:
    disk.connect(sata_speed="6.0 Gbps")
    step = add_step(disk.connection, "fio", SERIAL, position=0)
    results = [Result(test, "bw_bytes_s", 5e7, BYPASS) for test in ("seq-read", "seq-write")]
    add_results(disk.connection, step, results)
    end_step(disk.connection, step, "done")
    add_load(disk.connection, step, "seq-read", [LoadSample(30.0, is_full=False)])
    add_load(disk.connection, step, "seq-write", [LoadSample(30.0, is_full=True)])
    limit = "{ remark = 100 }"
    judged = disk.judge(
        f"version = 1\n[all]\nfio_seq_read_mb_s = {limit}\nfio_seq_write_mb_s = {limit}\n"
    )
    assert row_of(judged, "fio_seq_read_mb_s").outcome == "remark"
    assert row_of(judged, "fio_seq_write_mb_s").outcome == "not measured"


def test_heat_is_measured_by_what_the_drive_is_made_for(disk: Bench) -> None:
    health = replace(with_counts(read_smart("ata-412")), limit_celsius=70.0)
    disk.connection.execute("DELETE FROM health_counter")
    disk.connection.execute("DELETE FROM health_reading")
    add_health(disk.connection, SERIAL, health, health)
    step = disk.scan(150)
    disk.connection.execute(
        "INSERT INTO temperature_sample (step_id, drive_id, t_s, celsius) VALUES (?, ?, 0, 58)",
        (step, drive_id(disk.connection, SERIAL)),
    )
    row = row_of(disk.judge(), "highest_celsius")
    assert (row.outcome, row.measured) == ("kept", "58 °C")
    assert row.allowed == "remark above 60 °C"
    assert row.detail == (
        "of the drive, and of the air around it; held against 60 °C instead of "
        "50 °C: its own limit is 70 °C, and a remark begins at most "
        "10 °C below"
    )


@pytest.mark.parametrize(
    ("lanes", "outcome", "measured"), [("4", "kept", "passed"), ("2", "remark", "failed")]
)
def test_a_link_below_what_both_its_ends_can_is_a_remark(
    nvme: Bench, lanes: str, outcome: str, measured: str
) -> None:
    speed = "8.0 GT/s PCIe"
    nvme.connect(pci=(speed, lanes, speed, "4"), pci_port=(speed, "16"))
    nvme.scan(2000)
    row = row_of(nvme.judge(), "slow_link")
    assert (row.outcome, row.measured) == (outcome, measured)
    assert row.detail.startswith(f"PCI Express at 8.0 GT/s x{lanes}; drive and port can do")


def test_a_link_of_two_lanes_between_a_fast_end_and_a_wide_one_is_as_fast_as_it_can_be(
    nvme: Bench,
) -> None:
    nvme.connect(pci=("8.0 GT/s PCIe", "2", "16.0 GT/s PCIe", "2"), pci_port=("8.0 GT/s PCIe", "4"))
    nvme.scan(1500)
    row = row_of(nvme.judge(), "slow_link")
    assert (row.outcome, row.measured) == ("kept", "passed")
    assert row.detail.endswith("drive and port can do PCI Express at 8.0 GT/s x2")


def test_a_drive_in_another_slot_is_held_against_that_slot(nvme: Bench) -> None:
    slow, fast = "5.0 GT/s PCIe", "8.0 GT/s PCIe"
    nvme.connect(pci=(slow, "4", fast, "4"), pci_port=(slow, "4"))
    nvme.connect(pci=(fast, "4", fast, "4"), pci_port=(fast, "4"))
    nvme.scan(1500)
    assert row_of(nvme.judge(), "slow_link").outcome == "kept"
    nvme.connect(pci=(slow, "4", fast, "4"), pci_port=(fast, "4"))
    assert row_of(nvme.judge(), "slow_link").outcome == "remark"


def test_a_link_whose_ends_are_not_known_is_not_judged(disk: Bench) -> None:
    disk.connect(sata_speed="3.0 Gbps", ahci_capabilities="")
    disk.scan(150)
    assert row_of(disk.judge(), "slow_link").outcome == "not measured"
