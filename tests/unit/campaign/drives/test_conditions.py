# SPDX-License-Identifier: Apache-2.0
"""What decides about a campaign's figures is noted once, and again only where it is another."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.drives.conditions import store_conditions, store_memory_errors
from appliance.drives.facts.health import parse_health
from appliance.machine.facts import FixedFacts, read_fixed
from appliance.store.connect import open_database, transaction
from appliance.store.tables.health import insert_health
from tests.unit.campaign.world import HDD, SSD, World

SMART = Path(__file__).parents[3] / "fixtures" / "smart"
MACHINE = {
    "class/dmi/id/sys_vendor": "Dell Inc.",
    "class/dmi/id/product_name": "OptiPlex 7010",
    "class/dmi/id/board_vendor": "Dell Inc.",
    "class/dmi/id/board_name": "0WR7PY",
    "class/dmi/id/bios_version": "A29",
    "class/dmi/id/bios_date": "06/28/2018",
    "devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave",
    "devices/system/cpu/cpufreq/policy1/scaling_governor": "powersave",
    "devices/system/cpu/cpufreq/policy0/scaling_driver": "intel_pstate",
    "module/pcie_aspm/parameters/policy": "default [performance] powersave powersupersave ",
    "block/sda/queue/scheduler": "none [mq-deadline] ",
    "block/sda/queue/read_ahead_kb": "128",
    "block/sda/queue/nr_requests": "64",
    "block/sda/queue/write_cache": "write back",
    "block/sda/device/queue_depth": "32",
    "block/sdb/queue/scheduler": "[none] mq-deadline ",
}


@pytest.fixture
def sys(tmp_path: Path) -> Path:
    folder = tmp_path / "sys"
    write(folder, MACHINE)
    return folder


@pytest.fixture
def fixed(sys: Path, tmp_path: Path) -> FixedFacts:
    proc = tmp_path / "proc"
    write(
        proc,
        {
            "cpuinfo": "processor\t: 0\nmodel name\t: Core\nflags\t\t: fpu vme\n",
            "meminfo": "MemTotal:        8046212 kB\n",
            "sys/kernel/osrelease": "6.12.57+deb13-amd64",
            "cmdline": "BOOT_IMAGE=/kaltstart/vmlinuz roothash=4f2a console=tty1 mitigations=off"
            " kaltstart.set=9",
        },
    )
    versions = {"fio": "3.39-1", "Python": "3.13.5", "database schema": "11"}
    return read_fixed(firmware="uefi", versions=versions, sys=sys, proc=proc)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def rows_of(world: World, name: str = "%") -> list[tuple[str, str, str]]:
    with world.looking() as connection:
        return [
            (row["drive_serial"], row["name"], row["value"])
            for row in connection.execute("SELECT * FROM conditions WHERE name LIKE ?", [name])
        ]


def note(world: World, fixed: FixedFacts, sys: Path) -> None:
    store_conditions(
        world.context(), 1, fixed=fixed, drives=world.drives, sys=sys, proc=sys.parent / "proc"
    )


def test_machine_programs_and_each_drive_are_noted(
    world: World, fixed: FixedFacts, sys: Path
) -> None:
    world.make_campaign()
    note(world, fixed, sys)
    found = {(serial, name): value for serial, name, value in rows_of(world)}
    assert {name: value for (serial, name), value in found.items() if not serial} == {
        "machine_vendor": "Dell Inc.",
        "machine_model": "OptiPlex 7010",
        "machine_board": "Dell Inc. 0WR7PY",
        "virtual_machine": "no",
        "firmware_type": "uefi",
        "firmware_version": "A29 06/28/2018",
        "processor": "Core",
        "processors": "1",
        "memory_bytes": str(491 * (16 << 20)),
        "governor": "powersave",
        "frequency_driver": "intel_pstate",
        "aspm_policy": "performance",
        "kernel_options": "console=tty1 mitigations=off",
        "kernel": "6.12.57+deb13-amd64",
        "fio": "3.39-1",
        "python": "3.13.5",
    }
    assert {name: value for (serial, name), value in found.items() if serial == HDD.serial} == {
        "model": "hdd",
        "firmware": "1",
        "transport": "sata",
        "scheduler": "mq-deadline",
        "read_ahead_bytes": str(128 << 10),
        "nr_requests": "64",
        "queue_depth": "32",
        "write_cache": "write back",
    }
    assert found[SSD.serial, "scheduler"] == "none"


def test_another_value_is_another_row_and_a_warning(
    world: World, fixed: FixedFacts, sys: Path
) -> None:
    world.make_campaign()
    for governor in ("powersave", "powersave", "performance", "powersave"):
        for policy in ("policy0", "policy1"):
            write(sys, {f"devices/system/cpu/cpufreq/{policy}/scaling_governor": governor})
        note(world, fixed, sys)
    assert [value for _, _, value in rows_of(world, "governor")] == [
        "powersave",
        "performance",
        "powersave",
    ]
    assert [detail for event, detail in world.events() if event == "conditions-changed"] == [
        "the machine: governor was powersave and is performance now",
        "the machine: governor was performance and is powersave now",
    ]


def test_new_firmware_leaves_what_an_earlier_campaign_noted(
    world: World, fixed: FixedFacts, sys: Path
) -> None:
    world.make_campaign()
    note(world, fixed, sys)
    world.drives = tuple(replace(drive, firmware="2") for drive in world.drives)
    store_conditions(
        world.context(), world.make_campaign([HDD]), fixed=fixed, drives=world.drives, sys=sys
    )
    with world.looking() as connection:
        found = connection.execute(
            "SELECT campaign_id, value FROM conditions WHERE name = 'firmware'"
            " AND drive_serial = ? ORDER BY campaign_id",
            [HDD.serial],
        )
        assert [tuple(row) for row in found] == [(1, "1"), (2, "1")]


@pytest.mark.parametrize(
    "case",
    [
        ("device/power", "100000", "wake within 100000 µs"),
        ("device/nvme0/power", "0", "none"),
        ("device/power", "any", "any"),
        ("device/other", "0", None),
    ],
)
def test_how_an_nvme_drive_rests_between_requests_is_noted(
    world: World, fixed: FixedFacts, sys: Path, case: tuple[str, str, str | None]
) -> None:
    file, text, value = case
    write(sys, {f"block/sda/{file}/pm_qos_latency_tolerance_us": text})
    world.make_campaign()
    note(world, fixed, sys)
    found = {name: value for serial, name, value in rows_of(world) if serial == HDD.serial}
    assert found.get("idle_power_states") == value


def test_errors_of_the_memory_are_noted_as_they_come(world: World) -> None:
    world.make_campaign()

    def look(corrected: str) -> None:
        world.memory_errors = {"memory_corrected": corrected, "memory_uncorrected": "0"}
        context = world.context()
        with closing(context.connection), transaction(context.connection):
            store_memory_errors(context, 1)

    for corrected in ("2", "2", "5", "0", "1"):
        look(corrected)
    found = [value for _, name, value in rows_of(world) if name == "memory_corrected"]
    assert found == ["2", "5", "0", "1"]
    said = [detail for event, detail in world.events() if event == "conditions-changed"]
    # The machine was restarted in between: that a count is 0 again is no news.
    assert said == [
        "the machine: memory_corrected was 2 and is 5 now",
        "the machine: memory_corrected was 0 and is 1 now",
    ]


def test_a_drive_that_is_away_or_another_one_keeps_what_was_noted(
    world: World, fixed: FixedFacts, sys: Path
) -> None:
    world.make_campaign()
    note(world, fixed, sys)
    before = rows_of(world)
    world.drives = (replace(SSD, model="other", firmware="9"),)
    note(world, fixed, sys)
    assert rows_of(world) == before
    assert "conditions-changed" not in [event for event, _ in world.events()]


def test_a_drives_own_answer_is_of_the_start_alone(
    world: World, fixed: FixedFacts, sys: Path
) -> None:
    """A SAS link is reported by the drive only, and its answer is not asked for again."""
    world.make_campaign()
    smart = json.loads((SMART / "sas-57.json").read_text())
    phy = {"negotiated_logical_link_rate": "phy enabled; 6 Gbps"}
    smart["scsi_sas_port_0"] = {"phy_0": phy}
    connection = open_database(world.path)
    raw = json.dumps(smart)
    insert_health(connection, campaign_id=1, drive_id=1, moment="before",
                  health=parse_health(raw), raw=raw)  # fmt: skip
    note(world, fixed, sys)
    assert rows_of(world, "link") == [(HDD.serial, "link", "6.0 Gb/s")]
    other = raw.replace("6 Gbps", "3 Gbps")
    connection.execute("UPDATE health_reading SET checksum = NULL, raw = ?", [other])
    connection.close()
    note(world, fixed, sys)
    assert rows_of(world, "link") == [(HDD.serial, "link", "6.0 Gb/s")]
