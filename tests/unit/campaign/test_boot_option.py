# SPDX-License-Identifier: Apache-2.0
"""The firmware's entry for the loader on a drive, and BootNext; its variables are files here."""

from pathlib import Path

import pytest

from appliance import sysfs
from appliance.campaign import boot_option, power
from appliance.campaign.boot_option import EspPlace, format_option, is_own
from appliance.campaign.this_boot import ThisBoot
from appliance.errors import StepFailedError
from appliance.reference_os.install import esp_partuuid
from appliance.run import Finished

UEFI = ThisBoot(boot_id="boot-0", slot=None, charted=False, firmware="uefi")
BIOS = ThisBoot(boot_id="boot-0", slot=None, charted=False, firmware="bios")
ESP = EspPlace(3, 1_333_248, 589_824, esp_partuuid(1))
_GUID = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
# An installed Debian's, as efibootmgr makes it.
_FOREIGN = bytes.fromhex(
    "0700000001000000620064006500620069006100 6e000000"
    "04012a00010000000008000000000000000010000000000001020304050607080910111213141516"
    "0202040434005c004500460049005c00640065006200690061006e005c007300680069006d0078003600"
    "34002e0065006600690000007fff0400".replace(" ", "")
)


@pytest.fixture
def variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the firmware keeps its own."""
    folder = tmp_path / "efivars"
    folder.mkdir()
    monkeypatch.setattr(boot_option, "_EFIVARS", folder)
    (folder / f"BootOrder-{_GUID}").write_bytes(b"\x07\0\0\0\x00\x00")
    (folder / f"Boot0000-{_GUID}").write_bytes(_FOREIGN)
    return folder


def _names(variables: Path) -> set[str]:
    return {path.name.partition("-")[0] for path in variables.iterdir()}


def test_an_option_is_as_the_specification_has_it() -> None:
    content = format_option(ESP)
    assert content[:8] == b"\x07\0\0\0\x01\0\0\0"
    path_bytes = int.from_bytes(content[8:10], "little")
    name, _, _ = content[10:].decode("utf-16-le", "replace").partition("\0")
    assert name == "Kaltstart: drive under test"
    path = content[10 + 2 * (len(name) + 1) :]
    assert len(path) == path_bytes, "nothing behind it, which shim would take for a loader"
    assert path[:4] == b"\x04\x01\x2a\x00"
    assert [int.from_bytes(path[a:b], "little") for a, b in ((4, 8), (8, 16), (16, 24))] == [
        3,
        1_333_248,
        589_824,
    ]
    # A GUID's first three fields have their lowest byte first.
    assert path[24:40].hex() == "746c616b" + "0600" + "0040" + "8000" + "000000000001"
    assert path[40:42] == b"\x02\x02"
    length = int.from_bytes(path[44:46], "little")
    assert path[42:44] == b"\x04\x04"
    assert path[46 : 42 + length].decode("utf-16-le") == "\\EFI\\kaltstart\\shimx64.efi\0"
    assert path[42 + length :] == b"\x7f\xff\x04\x00"


def test_another_systems_option_is_not_taken_for_one() -> None:
    assert is_own(format_option(ESP))
    assert not is_own(_FOREIGN)
    named_alike = _FOREIGN[:10] + "Kaltstart: drive under test\0".encode("utf-16-le")
    assert not is_own(named_alike)
    assert not is_own(b"")


def test_boot_next_starts_it_and_nothing_of_it_is_left(variables: Path) -> None:
    order = (variables / f"BootOrder-{_GUID}").read_bytes()
    boot_option.arm(ESP)
    assert (variables / f"Boot0080-{_GUID}").read_bytes() == format_option(ESP)
    assert (variables / f"BootNext-{_GUID}").read_bytes() == b"\x07\0\0\0\x80\0"
    assert boot_option.is_armed()
    (variables / f"BootNext-{_GUID}").unlink()  # the firmware followed it
    assert not boot_option.is_armed()
    boot_option.arm(ESP)
    boot_option.disarm()
    assert _names(variables) == {"BootOrder", "Boot0000"}
    assert (variables / f"BootOrder-{_GUID}").read_bytes() == order


def test_the_next_drive_gets_the_same_number(variables: Path) -> None:
    other = EspPlace(3, 99, 589_824, esp_partuuid(2))
    boot_option.arm(ESP)
    boot_option.arm(other)
    assert (variables / f"Boot0080-{_GUID}").read_bytes() == format_option(other)
    assert _names(variables) == {"BootOrder", "Boot0000", "Boot0080", "BootNext"}


def test_what_is_the_same_is_not_written_again(
    variables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot_option.arm(ESP)
    written: list[str] = []

    def write(path: Path, content: bytes) -> None:
        written.append(path.name.partition("-")[0])
        path.write_bytes(content)

    monkeypatch.setattr(sysfs, "write_variable", write)
    boot_option.arm(ESP)
    assert written == ["BootNext"], "flash memory wears out"


def test_a_boot_next_of_another_system_is_left_alone(variables: Path) -> None:
    boot_option.arm(ESP)
    (variables / f"BootNext-{_GUID}").write_bytes(b"\x07\0\0\0\x00\0")
    assert not boot_option.is_armed()
    boot_option.disarm()
    assert _names(variables) == {"BootOrder", "Boot0000", "BootNext"}


@pytest.mark.parametrize("kept", ["BootNext", "Boot0080"])
def test_firmware_that_keeps_none_is_found_out(
    variables: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    def write(path: Path, content: bytes) -> None:
        if path.name.startswith(kept):
            path.write_bytes(content)

    monkeypatch.setattr(sysfs, "write_variable", write)
    with pytest.raises(StepFailedError, match="BootNext"):
        boot_option.arm(ESP)


@pytest.mark.parametrize(("block_bytes", "start", "blocks"), [(512, 2048, 8000), (4096, 256, 1000)])
def test_a_place_is_in_the_drives_own_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, start: int, blocks: int
) -> None:
    partition = tmp_path / "devices/sda/sda3"
    partition.mkdir(parents=True)
    for name, value in (("partition", 3), ("start", 2048), ("size", 8000)):
        (partition / name).write_text(f"{value}\n")
    (tmp_path / "devices/sda/queue").mkdir()
    (tmp_path / "devices/sda/queue/logical_block_size").write_text(f"{block_bytes}\n")
    (tmp_path / "class").mkdir()
    (tmp_path / "class/sda3").symlink_to(partition)
    (tmp_path / "by-partuuid").mkdir()
    (tmp_path / "by-partuuid" / esp_partuuid(1)).symlink_to("/dev/sda3")
    monkeypatch.setattr(boot_option, "_BY_PARTUUID", tmp_path / "by-partuuid")
    monkeypatch.setattr(boot_option, "_BLOCKS", tmp_path / "class")
    place = boot_option.read_esp_place(esp_partuuid(1))
    assert place == EspPlace(3, start, blocks, esp_partuuid(1))
    with pytest.raises(StepFailedError, match="is not here"):
        boot_option.read_esp_place(esp_partuuid(2))


def test_power_arms_it_and_takes_it_back(variables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_shot = ""

    def run(command: list[str], **_: object) -> Finished:
        nonlocal one_shot
        one_shot = command[2]
        return Finished(tuple(command), 0, "", "")

    monkeypatch.setattr(power, "run", run)
    monkeypatch.setattr(power, "_SET_VARIABLE", variables / "set")
    monkeypatch.setattr(power, "read_loader_variable", lambda _: one_shot)
    monkeypatch.setattr(boot_option, "read_esp_place", lambda _: ESP)
    power.arm_entry(UEFI, "measure-01", esp_partuuid=esp_partuuid(1))
    assert one_shot == "measure-01.conf"
    assert boot_option.is_armed()
    one_shot = ""
    assert power.entry_is_armed(UEFI), "the firmware would still start it"
    power.arm_entry(UEFI, "measure-01", esp_partuuid=esp_partuuid(1))
    power.disarm_entry(UEFI)
    assert not power.entry_is_armed(UEFI)
    assert _names(variables) == {"BootOrder", "Boot0000"}
    power.arm_entry(UEFI, "measure-01", esp_partuuid=esp_partuuid(1))
    power.arm_entry(UEFI, "measure-02")
    assert _names(variables) == {"BootOrder", "Boot0000"}, "the stick's own loader is due"


def test_a_bios_machine_has_no_such_path() -> None:
    assert "needs UEFI" in power.explain_no_entry(BIOS, path="drive")
    assert not power.explain_no_entry(UEFI, path="drive")
    with pytest.raises(StepFailedError, match="needs UEFI"):
        power.arm_entry(BIOS, "measure-01", esp_partuuid=esp_partuuid(1))
