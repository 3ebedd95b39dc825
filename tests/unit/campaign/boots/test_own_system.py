# SPDX-License-Identifier: Apache-2.0
"""`path = "installed"`: the drive's own system is started, and its report is the sample."""

import re
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from appliance.campaign.boots.attempts import settle_armed
from appliance.campaign.boots.installed import find_returned, store_report
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.drives.identity_query import AskedIdentity
from appliance.report_boot import (
    ORDER_VARIABLE,
    REPORT_VARIABLE,
    BootReport,
    Order,
    format_order,
    parse_report,
)
from appliance.store.clock import parse_timestamp
from tests.unit.campaign.world import HDD, OWN_ESP, SSD, World, arm_and_start_anew

MANUAL = Path(__file__).parents[4] / "docs/manual/plan.md"
PLAN = """
version = 1
[[drive]]
serial = "LAB-HDD-1"
start = "LAB-HDD-1"
[boot]
path = "installed"
"""
TIMES = """\
FirmwareTimestampMonotonic=9000000
LoaderTimestampMonotonic=2500000
InitRDTimestampMonotonic=3000000
UserspaceTimestampMonotonic=8000000
FinishTimestampMonotonic=20500000
"""
STAT = "400 10 65536 900 50 0 800 20 0 700 920 0 0 0 0"


@pytest.fixture
def started(world: World) -> World:
    """A machine whose drive's own system was due, and that runs the appliance again."""
    _make(world)
    world.counts[HDD.path] = 7
    arm_and_start_anew(world)
    world.counts[HDD.path] = 8
    return world


def _make(world: World, *, cycles: int = 2, power: str = "cold") -> None:
    world.make_campaign(
        [HDD], path="installed", released=False, plan_toml=PLAN, cycles=cycles, power=power
    )
    world.drives = (HDD,)
    world.own_loaders[HDD.path] = "/EFI/debian/shimx64.efi"


def _report(world: World) -> BootReport:
    token = world.cycles()[0].entry
    return BootReport(
        token, "", 0x80, 0x80, "boot-own", "Debian", TIMES, STAT, world.kernel_started_at, False
    )


def _settle(world: World) -> None:
    context = world.context()
    cycle = find_returned(context, world.campaign_id)
    assert cycle is not None
    store_report(context, world.campaign_id, cycle)


def test_the_firmware_is_told_and_both_power_actions_are_counted(world: World) -> None:
    _make(world)
    before = world.campaign().power_actions
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert "order /EFI/debian/shimx64.efi" in world.log
    assert not any(line.startswith("arm ") for line in world.log)
    assert (world.boot_next, len(world.order)) == (OWN_ESP, 16)
    (row, cycles) = world.power_rows[-1]
    assert row.power_actions == before + 2, "the power-off, and the restart that follows from it"
    assert (cycles[0].state, cycles[0].entry) == ("armed", world.order)
    assert not world.unlockings, "nothing is written to the drive"


@pytest.mark.usefixtures("counting_firmware")
def test_each_attempt_has_a_token_of_its_own(world: World) -> None:
    _make(world)
    tokens = set()
    for number in range(2):
        world.boot_id = f"boot-{number}"
        assert start_next_boot(world.context(), 1) is Outcome.LEAVING
        tokens.add(world.order)
        world.boot_id = f"boot-{number}-back"
        _settle(world)
    assert len(tokens) == 2


def test_a_report_is_a_sample_told_by_the_installed_system(started: World) -> None:
    started.report = _report(started)
    _settle(started)
    (boot,) = started.boots()
    assert (boot["path"], boot["valid"], boot["boot_s"]) == ("installed", 1, 20.5)
    assert (boot["firmware_s"], boot["loader_s"], boot["session_s"]) == (6.5, 2.5, None)
    assert (boot["read_bytes"], boot["cold_proof"]) == (65536 * 512, "proven")
    assert ("own-system-reported", "LAB-HDD-1 cycle 1: Debian") in started.events()
    assert started.report is None, "it is stored"


def test_the_manuals_script_for_windows_reports_a_sample(started: World) -> None:
    """Its order and its report are the program's; what Windows does not count is not stored."""
    script = MANUAL.read_text(encoding="utf-8").partition("##### Windows")[2]
    token = started.cycles()[0].entry
    order = format_order(Order(token, 0x80, 3, "0f0f0f0f-0001-4000-8000-000000000001"))
    names = re.search(r"(\$version.*) = .*\.Split\(' '\)", script)
    assert names is not None
    values = dict(zip(names[1].split(", "), order.split(" "), strict=True))
    values |= {"$booted": "0080", "$([guid]::NewGuid())": "boot-own"}
    values |= {"$([long]$ms * 1000)": "20500000", "$($windows.Caption)": "Microsoft Windows"}
    values |= {"$($windows.Version)": "10.0.19045"}
    lines = re.findall(r'^ +"(\w+=.*)"$', script, re.MULTILINE)
    text = "\n".join(
        reduce(lambda line, each: line.replace(*each), values.items(), line) for line in lines
    )
    assert "$" not in text
    started.report = parse_report(text)
    _settle(started)
    (boot,) = started.boots()
    assert (boot["valid"], boot["boot_s"], boot["cold_proof"]) == (1, 20.5, "proven")
    unknown = ("kernel_s", "userspace_s", "initrd_s", "read_bytes", "read_ios", "wake_skew_s")
    assert [boot[name] for name in unknown] == [None] * len(unknown)
    (guid,) = re.findall(r"\$own = '{(.*)}'", script)
    variables = set(re.findall(r"Firmware\]::.et\('(Kaltstart\w+)', \$own", script))
    assert {f"{name}-{guid}" for name in variables} == {ORDER_VARIABLE, REPORT_VARIABLE}


def test_a_time_that_the_stick_has_spoilt_costs_no_reported_sample(started: World) -> None:
    started.report = _report(started)
    started.context().connection.execute("UPDATE cycle SET alarm_at = '2027-0x'")
    _settle(started)
    (boot,) = started.boots()
    assert (boot["boot_s"], boot["wake_skew_s"]) == (20.5, None)


@pytest.mark.parametrize(
    ("passed_s", "told"), [(20.0, (6.5, 2.5)), (3.0, (None, None)), (-86_400.0, (6.5, 2.5))]
)
def test_firmware_that_began_before_the_restart_is_not_believed(
    world: World, passed_s: float, told: tuple[float | None, float | None]
) -> None:
    """It counts on from the power-on before; where the clock jumped back, nothing is known."""
    _make(world, power="warm")
    arm_and_start_anew(world)
    left_at = world.cycles()[0].left_at
    assert left_at is not None
    started_s = parse_timestamp(left_at) + passed_s
    world.report = _report(world)._replace(started_at_s=started_s)
    _settle(world)
    (boot,) = world.boots()
    assert (boot["firmware_s"], boot["loader_s"]) == told
    assert (boot["valid"], boot["boot_s"]) == (1, 20.5)


def test_power_that_went_around_a_warm_boot_may_have_gone_on_the_way_back(world: World) -> None:
    _make(world, power="warm")
    world.counts[HDD.path] = 7
    arm_and_start_anew(world)
    world.counts[HDD.path] = 8
    world.report = _report(world)
    _settle(world)
    (boot,) = world.boots()
    assert boot["valid"] == 0
    assert boot["cold_reason"] == (
        "drive LAB-HDD-1 lost power before a boot that was to be warm, or on the way back"
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"booted": 2}, "did not follow BootNext"),
        ({"booted": None}, "did not follow BootNext"),
        ({"times": "FinishTimestampMonotonic="}, "lacks its figures"),
        ({"stat": "1 2"}, "lacks its figures"),
        ({"token": "another"}, "did not report"),
    ],
)
def test_a_report_that_proves_nothing_is_no_sample(
    started: World, change: dict[str, Any], why: str
) -> None:
    started.report = _report(started)._replace(**change)
    _settle(started)
    assert started.boots() == []
    cycle = started.cycles()[0]
    assert (cycle.state, cycle.attempts) == ("planned", 1)
    assert why in cycle.reason


@pytest.mark.parametrize(
    ("is_set", "why"), [(True, "did not follow BootNext"), (False, "did not report")]
)
def test_firmware_that_ignores_boot_next_is_told_from_a_silent_system(
    started: World, *, is_set: bool, why: str
) -> None:
    started.keeps_boot_next = is_set
    _settle(started)
    assert why in started.cycles()[0].reason


@pytest.mark.usefixtures("counting_firmware")
def test_a_system_that_never_answers_is_abandoned_after_three_attempts(world: World) -> None:
    _make(world, cycles=1)
    for number in range(3):
        world.boot_id = f"boot-{number}"
        assert start_next_boot(world.context(), 1) is Outcome.LEAVING
        world.boot_id = f"boot-{number}-back"
        _settle(world)
    assert start_next_boot(world.context(), 1) is Outcome.FINISHED
    assert world.states() == ["failed"]
    assert "did not report" in world.drive_rows()[0].failed_reason


def test_a_user_who_switched_it_on_again_is_told_why_it_goes_off(started: World) -> None:
    _settle(started)
    assert start_next_boot(started.context(), 1) is Outcome.LEAVING
    then = str(started.counted_down[-1][1])
    assert then.startswith("power off, then cycle 1 of LAB-HDD-1; attempt 2 of 3, as the last one ")
    assert "Kaltstart's unit is not installed there" in then


def test_a_key_in_the_installed_system_pauses_after_its_sample(started: World) -> None:
    started.report = _report(started)._replace(stopped=True)
    with pytest.raises(StoppedByPersonError):
        _settle(started)
    assert len(started.boots()) == 1


def test_a_key_in_a_system_that_could_not_report_pauses_too(started: World) -> None:
    started.report = _report(started)._replace(error="no such partition", stopped=True)
    with pytest.raises(StoppedByPersonError):
        _settle(started)
    assert started.boots() == []
    assert "could not report: no such partition" in started.cycles()[0].reason


def test_a_drive_that_has_come_since_is_not_left_to_the_system(world: World) -> None:
    _make(world)
    world.drives = (HDD, replace(SSD, size_bytes=1 << 30))
    assert start_next_boot(world.context(), 1) is Outcome.PAUSED
    assert "LAB-SSD-1" in world.campaign().reason
    assert (world.order, world.boot_next) == ("", "")


def test_drives_that_linux_does_not_show_are_not_left_to_the_system(world: World) -> None:
    """The stick was taken to a machine whose chipset hides NVMe drives."""
    _make(world)
    world.hidden = ("PCI 0000:00:17.0 (ahci): NVMe drives hidden",)
    assert start_next_boot(world.context(), 1) is Outcome.PAUSED
    assert "NVMe drives hidden" in world.campaign().reason
    assert (world.order, world.boot_next) == ("", "")


def test_the_system_of_another_disk_in_the_same_dock_is_not_started(world: World) -> None:
    _make(world, cycles=1)
    world.answers[HDD.serial] = AskedIdentity("OTHER-1", "", HDD.model, HDD.size_bytes)
    assert start_next_boot(world.context(), 1) is Outcome.FINISHED
    assert "answers as another drive" in world.cycles()[0].reason
    assert (world.order, world.boot_next) == ("", "")


def test_a_drive_without_a_loader_fails_and_starts_nothing(world: World) -> None:
    _make(world, cycles=1)
    world.own_loaders.clear()
    assert start_next_boot(world.context(), 1) is Outcome.FINISHED
    assert "no ESP" in world.cycles()[0].reason


def test_a_restarted_engine_takes_the_order_back(world: World) -> None:
    _make(world)
    start_next_boot(world.context(), 1)
    context = world.context()
    assert find_returned(context, 1) is None, "this very boot gave the order"
    settle_armed(context, 1)
    assert (world.order, world.cycles()[0].state) == ("", "planned")
