# SPDX-License-Identifier: Apache-2.0
"""The command line of a bounded page cache."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance.caches import memory_limit
from appliance.caches.memory_limit import UNIT, bounded_command, release_bounded

SERVICE = Path("mkosi.extra/usr/lib/systemd/system/kaltstart-engine.service")


def test_each_command_runs_in_a_scope_of_its_own() -> None:
    """One that hangs at its drive keeps its scope, and its name."""
    units = [bounded_command(["fio"], memory_max_bytes=1 << 28).pop(4) for _ in range(2)]
    assert len(set(units)) == 2
    command = bounded_command(["fio", "--name=a b"], memory_max_bytes=1 << 28)
    assert re.fullmatch(r"--unit=kaltstart-bounded-\d+-\d+", command.pop(4))
    assert command == [
        "systemd-run",
        "--scope",
        "--quiet",
        "--collect",
        "--property=MemoryMax=268435456",
        "--property=MemorySwapMax=0",
        "--",
        "fio",
        "--name=a b",
    ]


@pytest.mark.parametrize("bound", [0, -1])
def test_no_bound_is_a_bug(bound: int) -> None:
    with pytest.raises(ValueError, match="not a valid limit"):
        bounded_command(["true"], memory_max_bytes=bound)


def test_what_a_crash_left_is_stopped_by_the_name_of_the_scope(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands: list[Sequence[str]] = []
    monkeypatch.setattr(memory_limit, "run", lambda command, **_: commands.append(command))
    release_bounded()
    assert commands == [["systemctl", "stop", "kaltstart-bounded*.scope"]]
    unit = (Path(__file__).parents[3] / SERVICE).read_text()
    assert f"ExecStopPost=-/usr/bin/systemctl stop {UNIT}*.scope\n" in unit
