"""For all tests. Those of tests/unit, report and tui are pure: they start no process."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import override

import pytest

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
_forbidden = False


class ProcessStarted(BaseException):
    """A test that must be pure started a process. No Exception, so nothing catches it."""

    @override
    def __str__(self) -> str:
        return f"tests/{{{','.join(sorted(_PURE))}}} start no process: {super().__str__()}"


def _audit(event: str, args: tuple[object, ...]) -> None:
    if _forbidden and event in _STARTS_A_PROCESS:
        raise ProcessStarted(f"{event} {args[:2]}")


sys.addaudithook(_audit)


@pytest.fixture(autouse=True)
def no_processes(request: pytest.FixtureRequest) -> Iterator[type[ProcessStarted]]:
    """Forbid processes, whatever starts them, in the folders that must be pure."""
    global _forbidden  # noqa: PLW0603 - an audit hook cannot be taken out again
    _forbidden = request.path.relative_to(TESTS).parts[0] in _PURE
    yield ProcessStarted
    _forbidden = False
