# SPDX-License-Identifier: Apache-2.0
"""What is written back is what was named, and no other device of the machine."""

import os
from pathlib import Path

import pytest

from appliance import flush as module
from appliance.flush import flush


def test_each_file_system_is_written_back_once_and_sync_is_never_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").touch()
    flushed: list[int] = []
    monkeypatch.setattr(module, "_syncfs", flushed.append)
    monkeypatch.setattr(os, "sync", lambda: pytest.fail("it waits for every device there is"))
    flush([tmp_path, tmp_path / "a", tmp_path / "absent"])
    assert len(flushed) == 1


def test_nothing_in_the_engine_waits_for_every_device() -> None:
    sources = (Path(__file__).parents[2] / "appliance").rglob("*.py")
    assert [each.name for each in sources if "os.sync(" in each.read_text()] == []
