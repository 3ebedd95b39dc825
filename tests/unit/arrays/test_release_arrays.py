# SPDX-License-Identifier: Apache-2.0
"""Waiting for drives that the kernel may hold, and what is reported if it does not release them."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.arrays import running as live
from appliance.arrays.model import ArrayStuckError
from appliance.arrays.running import releasing, wait_for_release
from appliance.errors import StepFailedError


class StoppedError(Exception):
    """A person presses a key."""


@pytest.fixture
def opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The errors that opening a drive gives, one after the other; then it can be opened."""
    errors: list[int] = []

    def fail(path: str, _flags: int) -> int:
        if errors:
            raise OSError(errors.pop(0), os.strerror(errno.EIO), path)
        return 99

    flags = dict.fromkeys(("O_RDONLY", "O_EXCL", "O_CLOEXEC"), 0)
    fake = SimpleNamespace(open=fail, close=lambda _: None, **flags)
    monkeypatch.setattr(live, "os", fake)
    monkeypatch.setattr(live, "control", lambda drive: tmp_path / drive)
    monkeypatch.setattr(live, "set_folder", lambda set_uuid: tmp_path / set_uuid)
    monkeypatch.setattr(live, "RELEASE_S", 0)
    return errors


def wait() -> None:
    wait_for_release(("sda",), set_uuid="a", tell=lambda *_: None)


@pytest.mark.parametrize(
    "code", [errno.ENXIO, errno.ENOENT, errno.EIO, errno.ENODEV, errno.ENOMEDIUM]
)
def test_a_drive_that_cannot_be_opened_is_not_held(opening: list[int], code: int) -> None:
    opening += [code] * 3
    wait()


def test_a_drive_that_is_busy_is_held(opening: list[int]) -> None:
    opening += [errno.EBUSY] * 99
    with pytest.raises(ArrayStuckError, match="/dev/sda"):
        wait()


@pytest.fixture
def _stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel does not release it."""

    def fail(*_: object, **__: object) -> None:
        raise ArrayStuckError("the kernel holds it", hint="switch it off")

    monkeypatch.setattr(live, "stop_array", fail)


@pytest.mark.usefixtures("_stuck")
def test_what_the_block_failed_with_is_said_too() -> None:
    with (
        pytest.raises(ArrayStuckError) as stuck,
        releasing(("sda",), set_uuid="a"),
    ):
        raise StepFailedError("fio: Input/output error")
    assert stuck.value.message == "the kernel holds it; before that: fio: Input/output error"
    assert stuck.value.hint == "switch it off"


@pytest.mark.usefixtures("_stuck")
@pytest.mark.parametrize("error", [StoppedError(), KeyboardInterrupt()], ids=repr)
def test_what_is_no_failure_is_only_behind_it(error: BaseException) -> None:
    with (
        pytest.raises(ArrayStuckError, match=r"^the kernel holds it \(switch it off\)$") as stuck,
        releasing(("sda",), set_uuid="a"),
    ):
        raise error
    assert stuck.value.__context__ is error


def test_a_failure_stays_what_it_is_where_the_kernel_lets_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stop_array: list[tuple[str, ...]] = []
    monkeypatch.setattr(live, "stop_array", lambda drives, **_: stop_array.append(drives))
    with pytest.raises(StepFailedError, match="fio"), releasing(("sda", "sdb"), set_uuid="a"):
        raise StepFailedError("fio: Input/output error")
    with releasing(("sda",), set_uuid="a"):
        pass
    assert stop_array == [("sda", "sdb"), ("sda",)]
