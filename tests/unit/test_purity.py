# SPDX-License-Identifier: Apache-2.0
"""What unit tests are kept from doing."""

import os
import subprocess
from pathlib import Path

import pytest

from appliance import console
from appliance.machine import keyboard


def test_no_process_can_be_started(no_processes: type[BaseException]) -> None:
    with pytest.raises(no_processes, match=r"start no process: subprocess\.Popen"):
        subprocess.run(["true"], check=True)
    with pytest.raises(no_processes):
        os.system("true")  # noqa: S605 - it is not run
    with pytest.raises(no_processes):
        os.posix_spawn("/bin/true", ["true"], {})
    with pytest.raises(no_processes):
        os.fork()


def test_what_forbids_it_cannot_be_caught_by_mistake(no_processes: type[BaseException]) -> None:
    assert not issubclass(no_processes, Exception)


def test_the_kernel_is_told_nothing(
    no_kernel: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not issubclass(no_kernel, Exception)
    console.announce("ready")
    monkeypatch.setattr(console, "_KMSG", Path("/dev/kmsg"))
    with pytest.raises(no_kernel, match="have no kernel to tell: open"):
        console.announce("ready")
    keyboard.restore_layout()
    monkeypatch.setattr(keyboard, "_CONSOLE", Path("/dev/tty1"))
    with pytest.raises(no_kernel, match="/dev/tty1"):
        keyboard.restore_layout()


def test_no_two_files_of_tests_share_a_name() -> None:
    """Folders without `__init__.py` are no packages: pytest takes the second one for the first."""
    tests = Path(__file__).parents[1]
    names = [
        path.name for path in tests.rglob("test_*.py") if not (path.parent / "__init__.py").exists()
    ]
    assert sorted(names) == sorted(set(names))
