# SPDX-License-Identifier: Apache-2.0
"""For all tests. Those of tests/unit, report and tui are pure.

They start no process, and neither write to the kernel's log nor open the screen's terminal.
"""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import override

import pytest

from appliance import console
from appliance.machine import keyboard
from tests.databases import make_databases_quickly
from tests.minutes import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]  # a hook: pytest finds it by its name

TESTS = Path(__file__).parent
_PURE = {"unit", "report", "tui"}
_STARTS_A_PROCESS = {
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
    "subprocess.Popen",
}
_KERNEL = {"/dev/kmsg", "/dev/tty1"}
"""Its log, and the terminal through which its keymap is set."""
_forbidden = False


class ProcessStartedError(BaseException):
    """A test that must be pure started a process. No Exception, so nothing catches it."""

    @override
    def __str__(self) -> str:
        return f"tests/{{{','.join(sorted(_PURE))}}} start no process: {super().__str__()}"


class KernelToldError(BaseException):
    """A test that must be pure opened the kernel's log or keymap of the machine that it runs on."""

    @override
    def __str__(self) -> str:
        return f"tests/{{{','.join(sorted(_PURE))}}} have no kernel to tell: {super().__str__()}"


def _audit(event: str, args: tuple[object, ...]) -> None:
    if not _forbidden:
        return
    if event in _STARTS_A_PROCESS:
        raise ProcessStartedError(f"{event} {args[:2]}")
    if event == "open" and args[0] in _KERNEL:
        raise KernelToldError(f"{event} {args[:2]}")


sys.addaudithook(_audit)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: rubbish is not looked for among them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(autouse=True)
def no_processes(request: pytest.FixtureRequest) -> Iterator[type[ProcessStartedError]]:
    """Forbid processes, whatever starts them, in the folders that must be pure."""
    global _forbidden  # noqa: PLW0603 - an audit hook cannot be taken out again
    _forbidden = _is_pure(request)
    yield ProcessStartedError
    _forbidden = False


@pytest.fixture(autouse=True)
def no_kernel(request: pytest.FixtureRequest) -> Iterator[type[KernelToldError]]:
    """Lines of the console and definitions of keys go nowhere in the same folders."""
    with pytest.MonkeyPatch.context() as patch:
        if _is_pure(request):
            patch.setattr(console, "_KMSG", Path(os.devnull))
            patch.setattr(keyboard, "_CONSOLE", Path(os.devnull))
        yield KernelToldError


@pytest.fixture(autouse=True)
def quick_databases(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each is made as quickly as can be in the same folders."""
    with pytest.MonkeyPatch.context() as patch:
        if _is_pure(request):
            make_databases_quickly(patch)
        yield


def _is_pure(request: pytest.FixtureRequest) -> bool:
    return request.path.relative_to(TESTS).parts[0] in _PURE
