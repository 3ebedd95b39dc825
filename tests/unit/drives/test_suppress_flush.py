# SPDX-License-Identifier: Apache-2.0
"""What the kernel is kept from saying to a drive at power-off; sysfs is a folder here."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.drives import suppress_flush
from appliance.drives.suppress_flush import prevent_stop, restore_flush
from tests.unit.campaign.world import HDD

_TEXTS = {
    "cache_type": "write back",
    "manage_system_start_stop": "0",
    "manage_runtime_start_stop": "1",
    "manage_shutdown": "1",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The switches of a SATA drive."""
    monkeypatch.setattr(suppress_flush, "_BLOCK", tmp_path)
    monkeypatch.setattr(suppress_flush, "_NOTES", tmp_path / "notes")
    made = tmp_path / "sda/device/scsi_disk/2:0:0:0"
    made.mkdir(parents=True)
    for name, text in _TEXTS.items():
        (made / name).write_text(f"{text}\n")
    return made


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was given to the kernel, in its order."""
    given: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "appliance.sysfs.write_text", lambda path, text: given.append((path.name, text))
    )
    return given


@pytest.mark.usefixtures("folder")
def test_the_flush_is_left_possible_until_the_last_one(written: list[tuple[str, str]]) -> None:
    switches = prevent_stop(HDD)
    assert switches is not None
    assert ("cache_type", "temporary write through") not in written
    assert ("manage_shutdown", "0") in written
    switches.suppress_flush()
    assert written[-1] == ("cache_type", "temporary write through")


@pytest.mark.usefixtures("folder")
def test_all_is_taken_back_where_the_machine_stays_on(written: list[tuple[str, str]]) -> None:
    switches = prevent_stop(HDD)
    assert switches is not None
    written.clear()
    switches.take_back()
    assert dict(written) == _TEXTS | {"cache_type": "temporary write back"}


@pytest.mark.usefixtures("folder")
def test_what_a_killed_engine_leaves_is_put_back_once(written: list[tuple[str, str]]) -> None:
    switches = prevent_stop(HDD)
    assert switches is not None
    switches.suppress_flush()
    written.clear()
    assert restore_flush() == (switches.folder,)
    assert dict(written) == _TEXTS | {"cache_type": "temporary write back"}
    assert restore_flush() == ()


@pytest.mark.usefixtures("folder")
def test_it_is_noted_before_the_first_switch_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[int] = []

    def write_text(_path: Path, _text: str) -> None:
        noted.append(len(list(suppress_flush._NOTES.glob("*.json"))))

    monkeypatch.setattr("appliance.sysfs.write_text", write_text)
    prevent_stop(HDD)
    assert noted[0] == 1


@pytest.mark.usefixtures("folder")
def test_what_the_engine_took_back_itself_is_not_put_back_again(
    written: list[tuple[str, str]],
) -> None:
    switches = prevent_stop(HDD)
    assert switches is not None
    switches.take_back()
    written.clear()
    assert restore_flush() == ()
    assert written == []


def test_a_drive_that_was_plugged_in_again_keeps_its_own_switches(
    folder: Path, written: list[tuple[str, str]]
) -> None:
    assert prevent_stop(HDD) is not None
    written.clear()
    folder.rename(folder.with_name("before"))
    folder.mkdir()
    restore_flush()
    assert written == []
    assert restore_flush() == ()


@pytest.mark.usefixtures("folder")
def test_where_nothing_can_be_noted_nothing_is_moved(
    written: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(suppress_flush, "_NOTES", tmp_path / "file/notes")
    assert prevent_stop(HDD) is None
    assert written == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("transport", ["nvme", "usb", "other"])
def test_other_buses_know_no_such_power_off(written: list[tuple[str, str]], transport: str) -> None:
    assert prevent_stop(replace(HDD, transport=transport)) is None
    assert written == []


def test_a_kernel_that_offers_no_switches_is_believed(folder: Path) -> None:
    for name in _TEXTS:
        (folder / name).unlink()
    assert prevent_stop(HDD) is None
