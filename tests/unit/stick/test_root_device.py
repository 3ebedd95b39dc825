# SPDX-License-Identifier: Apache-2.0
"""dm-verity's table of the root: read, and loaded again with nothing but other devices."""

import struct
from pathlib import Path

import pytest

from appliance.errors import StickError
from appliance.stick import root_device
from appliance.stick.root_device import (
    VerityTable,
    find_mapped,
    format_request,
    give_back,
    is_gone,
    keep_in_ram,
    parse_table,
    read_root,
)

_PROOF = (
    "4096 4096 34370 1 sha256 e1ae6eaa3a3a8de432e155bd2d659c1cff7b6b7b61790514fdffdbcb1ee28f64 "
    "fc5b4be2548636f2e91695bb59a594a2d5db9c02fabaa3422d20c19513098dc1"
)
"""Of the image in the lab, Linux 6.12."""
_TABLE = VerityTable(0, 274960, ("1", "8:4", "8:5", *_PROOF.split()))
_HEAD_BYTES = 312
"""sizeof(struct dm_ioctl), which the number of each command has in it."""


def _reply(text: str = f"1 8:4 8:5 {_PROOF} ", *, kind: bytes = b"verity", count: int = 1) -> bytes:
    """As linux/dm-ioctl.h lays it out, byte by byte."""
    head = bytearray(_HEAD_BYTES)
    struct.pack_into("=6I", head, 0, 4, 48, 0, 16384, _HEAD_BYTES, count)
    target = struct.pack("=QQiI", 0, 274960, 0, 0) + kind.ljust(16, b"\0")
    return bytes(head) + target + text.encode() + b"\0"


def test_the_table_in_force_is_read() -> None:
    assert parse_table(_reply()) == _TABLE
    assert _TABLE.devices == ("8:4", "8:5")


@pytest.mark.parametrize(
    "reply",
    [_reply(kind=b"linear"), _reply(count=2), _reply(text="1 8:4")],
    ids=["another target", "two of them", "cut off"],
)
def test_what_is_no_verified_root_is_left_alone(reply: bytes) -> None:
    assert parse_table(reply) is None


def test_the_new_table_differs_in_the_two_devices_alone() -> None:
    new = _TABLE.on("8:20", "8:21")
    assert new.parameters == ("1", "8:20", "8:21", *_PROOF.split())
    request = bytes(format_request(flags=1, table=new))
    assert request[48:53] == b"root\0"
    assert parse_table(request) == new
    assert struct.unpack_from("=I", request, 28) == (1,), "loaded as read-only"


class _Kernel:
    """What is asked of it; a command that it refuses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, refuses: int = 0) -> None:
        self.asked: list[tuple[int, int, VerityTable | None]] = []
        self._refuses = refuses
        monkeypatch.setattr(root_device, "_ask", self.ask)

    def ask(self, command: int, *, flags: int, table: VerityTable | None = None) -> bytes:
        self.asked.append((command, flags, table))
        if command == self._refuses:
            raise OSError(22, "Invalid argument")
        return _reply()


def test_the_root_is_loaded_and_resumed_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = _Kernel(monkeypatch)
    give_back(_TABLE, data="8:20", hashes="8:21")
    load, resume = kernel.asked
    assert load[0] == 9
    assert load[2] == _TABLE.on("8:20", "8:21")
    assert resume[0] == 6
    assert not resume[1] & 2, "never suspended for longer than the kernel takes"


@pytest.mark.parametrize("refused", [9, 6])
def test_where_the_kernel_refuses_the_table_in_force_stays(
    monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    kernel = _Kernel(monkeypatch, refuses=refused)
    with pytest.raises(StickError, match="does not take the stick"):
        give_back(_TABLE, data="8:20", hashes="8:21")
    assert kernel.asked[-1][0] == 10, "what was loaded is cleared"


def test_it_is_gone_with_either_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_device, "_BLOCK_NUMBERS", tmp_path)
    (tmp_path / "8:4").mkdir()
    assert is_gone(_TABLE)
    (tmp_path / "8:5").mkdir()
    assert not is_gone(_TABLE)


_MAPS = """\
7f0000000000-7f0000001000 r--p 00000000 00:1b 12 /usr/lib/x86_64-linux-gnu/libc.so.6
7f0000001000-7f0000002000 r-xp 00001000 00:1b 12 /usr/lib/x86_64-linux-gnu/libc.so.6
7f0000002000-7f0000003000 rw-p 00000000 00:00 0 [heap]
7f0000003000-7f0000004000 rw-s 00000000 00:15 9 /run/kaltstart/ballast/file
7f0000004000-7f0000005000 rw-p 00000000 00:00 0
"""


def test_program_files_are_found_and_nothing_else() -> None:
    assert find_mapped([_MAPS, _MAPS]) == ("/usr/lib/x86_64-linux-gnu/libc.so.6",)


def test_a_machine_without_a_verified_root_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root_device, "_CONTROL", tmp_path / "none")
    assert read_root() is None
    assert keep_in_ram() == 0
