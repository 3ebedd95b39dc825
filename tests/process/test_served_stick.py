# SPDX-License-Identifier: Apache-2.0
"""The stick's process: what is left of its file when the power goes, without a machine."""

import subprocess
from pathlib import Path

import pytest

from tests.lab.served_stick import ServedStick
from tests.lab.stick_faults import parse_stick_faults

_OLD, _FLUSHED, _LATE = b"o", b"f", b"l"


def _write_and_lose_power(served: ServedStick, *commands: str) -> str:
    """Let QEMU's own tool write, and kill it: it flushes when it ends normally."""
    words = [word for command in (*commands, "read 0 512") for word in ("-c", command)]
    words += ["-c", "sleep 60000", f"nbd+unix:///?socket={served.socket}"]
    tool = subprocess.Popen(
        ["stdbuf", "-oL", "qemu-io", "-t", "writeback", "-f", "raw", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = ""
    try:
        assert tool.stdout is not None
        for line in tool.stdout:
            said += line
            if "read 512/512" in said:
                break
    finally:
        tool.kill()
        tool.communicate()
    return said


def _serve(folder: Path, fault: str) -> ServedStick:
    stick = folder / "stick.raw"
    stick.write_bytes(_OLD * (1 << 20))
    return ServedStick(stick, parse_stick_faults([fault], seed=1))


def _kinds(served: ServedStick) -> bytes:
    content = served.stick.read_bytes()
    return bytes(content[at] for at in (0, 4096, 8192))


_WRITES = ("write -P 0x66 0 4096", "flush", "write -P 0x6c 4096 4096")


@pytest.mark.parametrize(
    ("fault", "left"),
    [
        ("forget-unflushed none", _FLUSHED + _LATE + _OLD),
        ("forget-unflushed", _FLUSHED + _OLD + _OLD),
        ("forget-all", _OLD + _OLD + _OLD),
    ],
)
def test_what_a_power_cut_leaves(tmp_path: Path, fault: str, left: bytes) -> None:
    with _serve(tmp_path, fault) as served:
        _write_and_lose_power(served, *_WRITES)
    assert _kinds(served) == left
    assert served.stats()["flushes"] >= 1
    if fault == "forget-unflushed":
        assert served.stats()["cuts"] == [1]


def test_a_stick_turns_read_only_and_one_fills_up(tmp_path: Path) -> None:
    with _serve(tmp_path, "read-only@0s") as served:
        said = _write_and_lose_power(served, *_WRITES)
    assert "Input/output error" in said
    assert _kinds(served) == _OLD * 3
    with _serve(tmp_path, "full@4K") as served:
        said = _write_and_lose_power(served, *_WRITES, "write -P 0x6c 0 4096")
    assert said.count("Input/output error") == 1
    assert _kinds(served) == _LATE + _OLD * 2
    assert served.stats()["errors"] == 1
