# SPDX-License-Identifier: Apache-2.0
"""A file that is replaced is the old one or the new one, whenever the power goes."""

import os
from pathlib import Path

import pytest

from appliance.workloads.raw_files import write_durably


@pytest.mark.parametrize("content", ["new \N{GREEK SMALL LETTER MU}", b"new \xff"])
def test_the_content_is_flushed_before_it_has_the_name_and_the_name_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | bytes
) -> None:
    path = tmp_path / "kept.json"
    path.write_text("old")
    raw = content.encode() if isinstance(content, str) else content
    flushed: list[tuple[str, bytes, bytes]] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        target = Path(f"/proc/self/fd/{descriptor}").readlink()
        held = target.read_bytes() if target.is_file() else b""
        flushed.append((target.name, held, path.read_bytes()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_durably(path, content)
    assert flushed == [("kept.json.new", raw, b"old"), (tmp_path.name, b"", raw)]
    assert [each.name for each in tmp_path.iterdir()] == ["kept.json"]
