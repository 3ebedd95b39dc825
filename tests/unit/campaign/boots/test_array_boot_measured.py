# SPDX-License-Identifier: Apache-2.0
"""A measured boot from an array: the sample is its backing drive's, the proof is of both drives."""

from dataclasses import replace

import pytest

from appliance.arrays.model import array_set_uuid
from appliance.campaign.boots import measured_boot
from appliance.campaign.boots import sample as boot_sample
from appliance.drives.model import Drive
from appliance.errors import StepFailedError
from appliance.plan.model import ArrayPlan
from appliance.reference_os.install import root_partuuid
from appliance.store.tables.arrays import insert_array, update_array
from tests.unit.campaign.world import HDD, SSD, World, install_uuid

ARRAY_PLAN = """
version = 1
[[drive]]
serial = "LAB-HDD-1"
role = "backing"
erase = "LAB-HDD-1"
[[drive]]
serial = "LAB-SSD-1"
role = "cache"
erase = "LAB-SSD-1"
[array]
cache_mode = "writethrough"
[boot]
"""


@pytest.fixture
def booted_array(booted: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The first measured boot of a campaign, from an array."""
    set_uuid = array_set_uuid(1)
    connection = booted.context().connection
    connection.execute("UPDATE campaign SET plan_toml = ?", (ARRAY_PLAN,))
    connection.execute("UPDATE campaign_drive SET role = 'cache' WHERE slot = 2")
    connection.execute("UPDATE campaign_drive SET role = 'backing' WHERE slot = 1")
    connection.execute("DELETE FROM cycle WHERE drive_id = 2")
    insert_array(connection, campaign_id=1, backing_drive_id=1, cache_drive_id=2, set_uuid=set_uuid)
    update_array(connection, set_uuid, "made")
    # The kernel shows the array's partitions below both drives.
    booted.drives = (
        replace(HDD, holders=("bcache0 (bcache)",), partition_uuids=(root_partuuid(1),)),
        replace(SSD, holders=("bcache0 (bcache)",), partition_uuids=(root_partuuid(1),)),
    )
    booted.sets = {HDD.path: set_uuid, SSD.path: set_uuid}
    for module in (boot_sample, measured_boot):
        monkeypatch.setattr(module, "find_root_disk", lambda _: "bcache0")
    monkeypatch.setattr(measured_boot, "check_root", lambda *_: None)
    monkeypatch.setattr(measured_boot, "check_settings", lambda *_, **__: None)
    monkeypatch.setattr(measured_boot, "read_table_uuid", lambda _: install_uuid(1))
    return booted


def test_a_boot_from_an_array_is_its_backing_drives(booted_array: World) -> None:
    booted_array.measure()
    (boot,) = booted_array.boots()
    assert (boot["drive_serial"], boot["drive_role"], boot["valid"]) == ("LAB-HDD-1", "backing", 1)


HDD_ROSE, SSD_ROSE = (f"ATA attribute 12 rose by one: {rise}" for rise in ("3 → 4", "7 → 8"))
_STOOD = "ATA attribute 12 did not rise over the restart"
SSD_STOOD = "count did not rise although the machine was powered off: 7 → 7"


@pytest.mark.parametrize(
    ("after", "proof", "reason"),
    [
        ((4, 8), "proven", f"LAB-HDD-1: {HDD_ROSE}; LAB-SSD-1: {SSD_ROSE}"),
        ((4, 7), "unproven", f"LAB-SSD-1: {SSD_STOOD}"),
        ((5, 8), "unproven", "LAB-HDD-1: count rose by 2 over one power-off: 3 → 5"),
        (
            (5, 7),
            "unproven",
            f"LAB-HDD-1: count rose by 2 over one power-off: 3 → 5; LAB-SSD-1: {SSD_STOOD}",
        ),
        ((4, None), "unproven", "LAB-SSD-1: the drive has no power-cycle count"),
    ],
)
def test_an_array_was_cold_only_where_both_its_drives_were(
    booted_array: World, after: tuple[int, int | None], proof: str, reason: str
) -> None:
    booted_array.context().connection.execute(
        "UPDATE cycle SET power_cycles_before = 3, cache_power_cycles_before = 7"
    )
    paths = (HDD.path, SSD.path)
    booted_array.counts = {
        path: count for path, count in zip(paths, after, strict=True) if count is not None
    }
    booted_array.measure()
    (boot,) = booted_array.boots()
    assert (boot["cold_proof"], boot["cold_reason"], boot["valid"]) == (proof, reason, 1)
    with booted_array.looking() as connection:
        counts = connection.execute(
            "SELECT power_cycles_after, cache_power_cycles_after FROM boot_sample"
        ).fetchone()
    assert tuple(counts) == after


def test_an_array_of_two_drives_with_the_same_serial_number_was_cold_only_where_both_were(
    booted_array: World,
) -> None:
    """The plan names them by their WWNs; the proof of one is not the proof of the other."""
    connection = booted_array.context().connection
    connection.execute("UPDATE cycle SET power_cycles_before = 3, cache_power_cycles_before = 7")
    connection.execute("UPDATE drive SET serial = 'LAB-SSD-1', wwn = '0x5001' WHERE id = 1")
    booted_array.drives = (
        replace(booted_array.drives[0], serial="LAB-SSD-1", wwn="0x5001"),
        booted_array.drives[1],
    )
    booted_array.counts = {HDD.path: 3, SSD.path: 8}
    booted_array.measure()
    (boot,) = booted_array.boots()
    stood = "0x5001: count did not rise although the machine was powered off: 3 → 3"
    assert (boot["cold_proof"], boot["cold_reason"]) == ("unproven", stood)


@pytest.mark.parametrize(
    ("after", "proof", "valid", "reason"),
    [
        ((3, 7), "warm", 1, f"LAB-HDD-1: {_STOOD}: 3 → 3; LAB-SSD-1: {_STOOD}: 7 → 7"),
        ((3, 8), "unproven", 0, "drive LAB-SSD-1 lost power before a boot that was to be warm"),
    ],
)
def test_an_array_was_warm_only_where_both_its_drives_were(
    booted_array: World, after: tuple[int, int], proof: str, valid: int, reason: str
) -> None:
    booted_array.context().connection.execute(
        "UPDATE cycle SET power = 'warm', power_cycles_before = 3, cache_power_cycles_before = 7"
    )
    booted_array.counts = dict(zip((HDD.path, SSD.path), after, strict=True))
    booted_array.measure()
    (boot,) = booted_array.boots()
    assert (boot["cold_proof"], boot["cold_reason"], boot["valid"]) == (proof, reason, valid)


def test_a_boot_from_another_installation_on_the_array_is_not_stored(
    booted_array: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured_boot, "read_table_uuid", lambda _: install_uuid(2))
    booted_array.measure()
    assert booted_array.boots() == []
    attempts = [detail for event, detail in booted_array.events() if event == "attempt-failed"]
    assert attempts[0].endswith("the array of drive LAB-HDD-1 carries another reference OS")


def test_a_boot_with_other_settings_than_the_plans_is_not_stored(
    booted_array: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_settings(backing: Drive, *, set_uuid: str, plan: ArrayPlan) -> None:
        raise StepFailedError(f"{backing.name} {set_uuid} does not run in {plan.cache_mode}")

    monkeypatch.setattr(measured_boot, "check_settings", check_settings)
    booted_array.measure()
    assert booted_array.boots() == []
    attempts = [detail for event, detail in booted_array.events() if event == "attempt-failed"]
    set_uuid = booted_array.sets[HDD.path]
    assert attempts[0].endswith(f": sda {set_uuid} does not run in writethrough")
