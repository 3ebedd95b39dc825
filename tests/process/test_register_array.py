# SPDX-License-Identifier: Apache-2.0
"""Which drives the initrd of a measured boot hands to bcache: its own script, in our folders."""

import subprocess
from pathlib import Path
from uuid import UUID

import pytest

_SCRIPT = (
    Path(__file__).parents[2] / "mkosi.images/initrd/mkosi.extra/usr/lib/kaltstart/register-array"
).read_text()
_OWN = "6b616c74-0003-4001-8f04-0ff8d2b0786a"
_OF_ANOTHER_STICK = "6b616c74-0003-4001-8f04-0ff8d2b0786b"
_MAGIC = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")


def _superblock(set_uuid: str, *, magic: bytes = _MAGIC) -> bytes:
    """As struct cache_sb_disk has it: csum, offset, version; magic, uuid, set_uuid; at 4096."""
    block = bytes(range(24)) + magic + b"\xaa" * 16 + UUID(set_uuid).bytes + b"\xbb" * 100
    return bytes(4096) + block.ljust(4096, b"\0")


def _register(
    folder: Path, drive: bytes, *, variable: bytes | None = None, options: str = ""
) -> str:
    """What bcache is asked to register; `variable` None: started by BIOS."""
    (folder / "drive").write_bytes(drive)
    (folder / "cmdline").write_text(f"{options}\n")
    register = folder / "register"
    register.write_text("")
    efivars = folder / "efivars"
    if variable is not None:
        efivars.mkdir()
        (efivars / "KaltstartSet-0d6ff8a1-6d0b-4b6f-9a55-2f1f6e1c7a34").write_bytes(variable)
    script = (
        _SCRIPT.replace("/sys/firmware/efi/efivars", str(efivars))
        .replace("/proc/cmdline", str(folder / "cmdline"))
        .replace("/sys/fs/bcache/register_quiet", str(register))
        .replace("iflag=direct ", "")
    )
    subprocess.run(["sh", "-c", script, "register-array", str(folder / "drive")], check=True)
    return register.read_text()


@pytest.mark.parametrize("firmware", ["uefi", "bios"])
@pytest.mark.parametrize(
    ("drive", "registered"),
    [
        (_superblock(_OWN), True),
        (_superblock(_OF_ANOTHER_STICK), False),
        (_superblock(_OWN, magic=bytes(16)), False),
        (b"", False),
    ],
)
def test_only_the_array_that_was_handed_over_is_registered(
    tmp_path: Path, firmware: str, drive: bytes, *, registered: bool
) -> None:
    if firmware == "uefi":
        told = _register(tmp_path, drive, variable=b"\x07\0\0\0" + UUID(_OWN).bytes)
    else:
        told = _register(tmp_path, drive, options=f"ro kaltstart.slot=1 kaltstart.set={_OWN} quiet")
    assert told == (str(tmp_path / "drive") if registered else "")


@pytest.mark.parametrize("options", ["kaltstart.slot=1", "kaltstart.slot=1 kaltstart.set="])
def test_a_boot_that_was_told_no_array_registers_none(tmp_path: Path, options: str) -> None:
    assert _register(tmp_path, _superblock(_OWN), options=options) == ""


def test_uefi_that_kept_nothing_registers_none(tmp_path: Path) -> None:
    assert _register(tmp_path, _superblock(_OWN), variable=b"\x07\0\0\0") == ""
