# SPDX-License-Identifier: Apache-2.0
"""A sample that the database did not take waits on KALTSTART for the next start."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.arrays import control as kernel
from appliance.arrays.model import array_set_uuid
from appliance.campaign.boots import measured_boot, pending_sample
from appliance.campaign.boots.attempts import settle_armed
from appliance.campaign.boots.next_boot import start_next_boot
from appliance.campaign.boots.pending_sample import (
    BootSource,
    PendingSample,
    read_pending,
    save_pending,
)
from appliance.campaign.context import pause
from appliance.errors import StepFailedError, StickError
from appliance.reference_os.install import make_install_uuid
from appliance.stick.partitions import Stick
from appliance.store.connect import open_database
from appliance.workloads.raw_files import seal
from tests.unit.campaign.boots.test_array_boot_measured import booted_array
from tests.unit.campaign.world import HDD, STICK, World, install_uuid

__all__ = ["booted_array"]

_FULL = "nothing can be stored any more: database or disk is full"


@pytest.fixture
def fat(booted: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """KALTSTART beside a database that takes nothing."""
    fat = tmp_path / "fat"
    fat.mkdir()

    @contextmanager
    def writable_fat() -> Iterator[Path]:
        yield fat

    monkeypatch.setattr(pending_sample, "FAT", fat)
    monkeypatch.setattr(pending_sample, "writable_fat", writable_fat)
    return fat


def _refuse(*_: object, **__: object) -> None:
    raise StickError(_FULL)


def _settle(world: World, boot_id: str = "boot-2") -> None:
    world.entry = ""
    world.boot_id = boot_id
    settle_armed(world.context(), 1)


def _unused(world: World) -> list[str]:
    return [detail for event, detail in world.events() if event == "sample-unused"]


@pytest.mark.parametrize("what", ["mount_data", "open_database", "store_sample"])
def test_a_sample_that_is_not_taken_is_there_after_the_next_start(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(measured_boot, what, _refuse)
    booted.measure()
    assert booted.log[-1] == "reboot"
    assert booted.boots() == []
    assert len(list((fat / "kaltstart").iterdir())) == 1
    _settle(booted)
    assert booted.states() == ["done", "planned", "planned", "planned"]
    (boot,) = booted.boots()
    assert boot["boot_s"] == pytest.approx(20.5, abs=1)
    assert boot["cold_proof"] == "unproven"
    assert str(boot["cold_reason"]).startswith(f"the sample was kept on KALTSTART ({_FULL})")
    assert [event for event, _ in booted.events()].count("sample-kept") == 1
    assert list((fat / "kaltstart").iterdir()) == []


def test_a_boot_that_comes_again_does_not_replace_the_sample_that_waits(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Firmware, or a stick, that keeps the boot entry: the first of the two was the one due."""
    monkeypatch.setattr(measured_boot, "mount_data", _refuse)
    booted.measure()
    first = read_pending()
    assert first is not None
    booted.boot_id = "boot-again"
    booted.measure()
    assert read_pending() == first
    monkeypatch.setattr(measured_boot, "take_sample", _refuse)
    booted.measure()
    assert read_pending() == first
    _settle(booted)
    assert booted.states()[0] == "done"
    assert list((fat / "kaltstart").iterdir()) == []


@pytest.mark.parametrize(("text", "bit"), [("NOT NULL", 7), ("released_model", 0)])
@pytest.mark.usefixtures("fat")
def test_a_schema_that_the_stick_has_spoilt_costs_no_sample(
    booted: World, monkeypatch: pytest.MonkeyPatch, text: str, bit: int
) -> None:
    content = bytearray(booted.path.read_bytes())
    content[content.index(text.encode()) + 2] ^= 1 << bit
    spoilt = booted.path.with_name("spoilt.sqlite")
    spoilt.write_bytes(content)
    monkeypatch.setattr(measured_boot, "open_database", lambda _, **__: open_database(spoilt))
    booted.measure()
    assert booted.log[-1] == "reboot"
    pending = read_pending()
    assert pending is not None
    assert pending.sample is not None
    assert pending.sample.boot_s == pytest.approx(20.5, abs=1)


@pytest.mark.usefixtures("fat")
def test_whatever_sqlite_has_against_a_sample_it_is_kept(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("no such column: boot_s")

    monkeypatch.setattr(measured_boot, "store_sample", fail)
    counted = booted.campaign().power_actions
    booted.measure()
    assert booted.log[-1] == "reboot"
    assert booted.campaign().power_actions == counted + 1
    pending = read_pending()
    assert pending is not None
    assert pending.sample is not None
    assert pending.reason == "no such column: boot_s"


def test_a_boot_without_a_sample_leaves_the_true_reason(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured_boot, "mount_data", _refuse)
    monkeypatch.setattr(measured_boot, "take_sample", lambda *_: _refuse())
    booted.measure()
    _settle(booted)
    assert booted.boots() == []
    assert booted.cycles()[0].reason == f"its sample could not be stored: {_FULL}"
    assert list((fat / "kaltstart").iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda pending: replace(pending, entry="measure-02"),
        lambda pending: replace(pending, boot_id="boot-0"),
    ],
    ids=["of another entry", "of the boot that armed it"],
)
def test_what_is_not_of_the_armed_boot_is_not_taken(
    booted: World,
    fat: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[PendingSample], PendingSample],
) -> None:
    monkeypatch.setattr(measured_boot, "store_sample", _refuse)
    booted.measure()
    pending = read_pending()
    assert pending is not None
    save_pending(change(pending))
    _settle(booted)
    assert booted.boots() == []
    assert booted.cycles()[0].reason.startswith("the measured boot did not come back")
    (unused,) = _unused(booted)
    assert '"boot_s": 20.5' in unused
    assert list((fat / "kaltstart").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"disk_uuid": install_uuid(7)}, "another reference OS"),
        ({"size_bytes": 8_000_000_000}, "not started from drive LAB-HDD-1"),
        ({"model": "other"}, "not started from drive LAB-HDD-1"),
        ({"serial": "LAB-SSD-1"}, "not started from drive LAB-HDD-1"),
        ({"wwn": "0x5000000000000009"}, "not started from drive LAB-HDD-1"),
        ({"path": "/dev/sdq"}, "what it was started from is not known"),
    ],
)
def test_a_sample_of_another_disk_is_not_taken(
    booted: World,
    fat: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, str],
    doubt: str,
) -> None:
    """A dock gives its own number for every disk."""
    monkeypatch.setattr(measured_boot, "mount_data", _refuse)
    booted.drives = (replace(booted.drives[0], **change), booted.drives[1])  # type: ignore[arg-type]
    booted.measure()
    _settle(booted)
    assert booted.boots() == []
    assert doubt in booted.cycles()[0].reason
    (unused,) = _unused(booted)
    assert '"boot_s": 20.5' in unused
    assert list((fat / "kaltstart").iterdir()) == []


@pytest.mark.usefixtures("fat")
def test_a_boot_that_does_not_come_gets_no_sample_of_an_earlier_one(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start after it paused before it could be taken."""
    monkeypatch.setattr(measured_boot, "store_sample", _refuse)
    booted.measure()
    booted.boot_id = "boot-2"
    context = booted.context()
    pause(context, 1, "trouble")
    context.connection.execute("UPDATE campaign SET state = 'running'")
    context.connection.execute("UPDATE cycle SET state = 'done' WHERE position < 2")
    start_next_boot(context, 1)
    (unused,) = _unused(booted)
    assert '"boot_id": "boot-1"' in unused
    _settle(booted, "boot-8")
    assert booted.cycles()[2].reason.startswith("the measured boot did not come back")
    assert {boot["boot_s"] for boot in booted.boots()} == {None}


def test_while_an_earlier_sample_cannot_be_removed_no_boot_is_armed(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fat / "kaltstart").mkdir()
    (fat / "kaltstart/kept-sample.json").write_text("{}")
    monkeypatch.setattr(pending_sample, "writable_fat", _refuse)
    context = booted.context()
    pause(context, 1, "trouble")
    context.connection.execute("UPDATE campaign SET state = 'running'")
    with pytest.raises(StickError):
        start_next_boot(context, 1)
    assert booted.states() == ["planned"] * 4
    assert booted.entry == ""


@pytest.mark.usefixtures("fat")
def test_of_a_warm_boot_whose_sample_was_kept_nothing_shows_that_it_was_warm(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted.context().connection.execute("UPDATE cycle SET power = 'warm', power_cycles_before = 3")
    booted.counts = {HDD.path: 4}
    monkeypatch.setattr(measured_boot, "mount_data", _refuse)
    booted.measure()
    _settle(booted)
    (boot,) = booted.boots()
    assert boot["cold_proof"] == "unproven"
    assert "the drive's power-cycle count was not read" in str(boot["cold_reason"])


SETTINGS = {
    "block/sda/bcache/cache_mode": "[writethrough] writeback writearound none",
    "block/sda/bcache/sequential_cutoff": "0.0k",
    "block/sda/bcache/writeback_percent": "10",
    "bcache/SET/congested_read_threshold_us": "0",
    "bcache/SET/congested_write_threshold_us": "0",
}


@pytest.fixture
def kept_array(
    request: pytest.FixtureRequest, fat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> World:
    """A boot from an array, whose sample the database does not take, with the kernel's files."""
    del fat
    world: World = request.getfixturevalue("booted_array")
    set_uuid = world.sets[HDD.path]
    for name, text in SETTINGS.items():
        path = tmp_path / name.replace("SET", set_uuid)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    for link, target in (
        ("sda/bcache/dev", "../../bcache0"),
        ("sda/bcache/cache", f"../../fs/bcache/{set_uuid}"),
        ("sdb/bcache/set", f"../../fs/bcache/{set_uuid}"),
    ):
        (tmp_path / "block" / link).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "block" / link).symlink_to(target)
    monkeypatch.setattr(kernel, "BLOCK", tmp_path / "block")
    monkeypatch.setattr(kernel, "SETS", tmp_path / "bcache")
    monkeypatch.setattr(measured_boot, "store_sample", _refuse)
    return world


def test_a_sample_of_an_array_is_there_after_the_next_start(kept_array: World) -> None:
    kept_array.measure()
    _settle(kept_array)
    (boot,) = kept_array.boots()
    assert boot["boot_s"] == pytest.approx(20.5, abs=1)
    assert (boot["drive_serial"], boot["drive_role"]) == ("LAB-HDD-1", "backing")


def test_the_true_reason_of_an_array_boot_is_there_after_the_next_start(
    kept_array: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured_boot, "mount_data", _refuse)
    monkeypatch.setattr(measured_boot, "take_sample", lambda *_: _refuse())
    kept_array.measure()
    _settle(kept_array)
    assert kept_array.cycles()[0].reason == f"its sample could not be stored: {_FULL}"


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        (lambda root: replace(root, table_uuid=install_uuid(2)), "another reference OS"),
        (lambda root: replace(root, set_uuid=array_set_uuid(1)), "not started from the array"),
        (lambda root: replace(root, cache=None), "not started from the array"),
        (
            lambda root: replace(root, cache=replace(root.cache, size_bytes=1)),
            "not started from drive LAB-SSD-1",
        ),
        (
            lambda root: replace(root, settings={**root.settings, "cache_mode": "none"}),
            "the array did not boot with the plan's settings: cache_mode is 'none'",
        ),
    ],
)
def test_a_sample_of_another_array_is_not_taken(
    kept_array: World, change: Callable[[BootSource], BootSource], doubt: str
) -> None:
    kept_array.measure()
    pending = read_pending()
    assert pending is not None
    assert pending.root is not None
    save_pending(replace(pending, root=change(pending.root)))
    _settle(kept_array)
    assert kept_array.boots() == []
    assert doubt in kept_array.cycles()[0].reason


def test_a_boot_from_an_array_is_none_of_a_single_drive(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fat
    monkeypatch.setattr(measured_boot, "store_sample", _refuse)
    booted.measure()
    pending = read_pending()
    assert pending is not None
    assert pending.root is not None
    save_pending(
        replace(
            pending,
            root=replace(pending.root, cache=pending.root.drive, set_uuid=array_set_uuid(1)),
        )
    )
    _settle(booted)
    assert "it was started from an array" in booted.cycles()[0].reason


def test_a_root_that_is_not_known_leaves_its_reason(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fat

    def fail(*_: object) -> None:
        raise StepFailedError("two drives carry it")

    monkeypatch.setattr(measured_boot, "mount_data", _refuse)
    monkeypatch.setattr(measured_boot, "take_sample", fail)
    monkeypatch.setattr(measured_boot, "find_root_disk", fail)
    booted.measure()
    _settle(booted)
    assert booted.cycles()[0].reason == "its sample could not be stored: two drives carry it"


def test_a_sample_is_taken_once(booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured_boot, "store_sample", _refuse)
    booted.measure()
    content = (fat / "kaltstart/kept-sample.json").read_text()
    _settle(booted)
    (fat / "kaltstart/kept-sample.json").write_text(content)
    booted.context().connection.execute(
        "UPDATE cycle SET state = 'armed' WHERE id = (SELECT cycle_id FROM boot_sample)"
    )
    _settle(booted)
    assert booted.cycles()[0].reason.startswith("the measured boot did not come back")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"boot_id": 1}', "\0" * 99, "[" * 60_000, '"\\ud800"']
)
def test_what_is_no_kept_sample_is_none(fat: Path, text: str) -> None:
    (fat / "kaltstart").mkdir()
    (fat / "kaltstart/kept-sample.json").write_text(text)
    assert read_pending() is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("boot_s", value) for value in ("12", None, -1, True, 1e999, float("nan"), 10**400)),
        ("read_bytes", 1.5),
        ("read_ios", 1 << 63),
        ("boot_id", "\ud800"),
    ],
)
def test_a_figure_that_is_none_is_not_believed(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch, field: str, value: object
) -> None:
    monkeypatch.setattr(measured_boot, "store_sample", _refuse)
    booted.measure()
    assert booted.boots() == []
    path = fat / "kaltstart/kept-sample.json"
    found = json.loads(path.read_text())
    found["sample"][field] = value
    del found["crc32"]
    path.write_text(seal(found))
    assert read_pending() is None


@pytest.mark.parametrize("field", ["boot_s", "read_bytes", "session_s"])
def test_a_figure_in_which_a_bit_has_turned_is_not_stored_and_not_lost(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.setattr(measured_boot, "store_sample", _refuse)
    booted.measure()
    path = fat / "kaltstart/kept-sample.json"
    text = path.read_text()
    at = text.index(f'"{field}": ') + len(field) + 4
    turned = text[:at] + chr(ord(text[at]) ^ 2) + text[at + 1 :]
    path.write_text(turned)
    _settle(booted)
    assert booted.boots() == []
    [told] = _unused(booted)
    assert turned in told


@pytest.mark.parametrize(
    "trouble", ["the Kaltstart stick was not found", "there are 2 Kaltstart sticks"]
)
def test_a_sample_waits_until_it_is_clear_which_stick_is_its_own(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """The stick resets itself; or the user has plugged in another one, and takes it out again."""
    del fat
    looks = 0

    def find_stick(_: object) -> Stick:
        nonlocal looks
        looks += 1
        if looks < 4:
            raise StickError(trouble)
        return STICK

    monkeypatch.setattr(measured_boot, "find_stick", find_stick)
    booted.measure()
    assert booted.states()[0] == "done"
    assert booted.boots()[0]["boot_s"] == pytest.approx(20.5, abs=1)
    told = [fields["reason"] for event, fields in booted.lines if event == "refused"]
    assert told == [f"{trouble}: the sample waits for its stick"]


_OWN = replace(STICK, drive=replace(STICK.drive, transport="usb"), data_uuid="0f6b")


@pytest.mark.parametrize(
    "other",
    [
        replace(_OWN, data_uuid="another"),
        # A copy of the stick, on a user's disk.
        replace(_OWN, drive=replace(_OWN.drive, transport="sata")),
    ],
)
@pytest.mark.parametrize("is_found", [True, False])
def test_nothing_is_written_to_another_stick_that_shows_first(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch, other: Stick, *, is_found: bool
) -> None:
    """It was plugged in while the power was off; Linux is slow to find the one it started from."""
    table_uuid = make_install_uuid(_OWN.mark)
    booted.context().connection.execute(
        "UPDATE campaign_drive SET install_uuid = ? WHERE slot = 1", (table_uuid,)
    )
    booted.drives = (replace(booted.drives[0], disk_uuid=table_uuid), booted.drives[1])
    shown = iter([other, other, *([_OWN] if is_found else [])])
    mounted: list[Stick] = []
    monkeypatch.setattr(measured_boot, "find_stick", lambda _: next(shown, other))
    monkeypatch.setattr(measured_boot, "mount_data", lambda stick, **_: mounted.append(stick))
    booted.measure()
    assert mounted == ([_OWN] if is_found else [])
    assert booted.states()[0] == ("done" if is_found else "armed")
    told = [fields["reason"] for event, fields in booted.lines if event == "refused"]
    first = f"the Kaltstart stick {STICK.drive.path} is not the one that this boot belongs to"
    assert told[0] == f"{first}: the sample waits for its stick"
    assert list(fat.iterdir()) == []


def test_a_stick_is_not_waited_for_for_ever(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fat

    def find_stick(_: object) -> Stick:
        raise StickError("there are 2 Kaltstart sticks")

    monkeypatch.setattr(measured_boot, "find_stick", find_stick)
    began_s = booted.now_s
    booted.measure()
    assert booted.log[-1] == "reboot"
    assert 300 <= booted.now_s - began_s < 310


def test_nothing_is_kept_by_a_boot_that_is_stored(booted: World, fat: Path) -> None:

    booted.measure()
    assert len(booted.boots()) == 1
    assert list(fat.iterdir()) == []
