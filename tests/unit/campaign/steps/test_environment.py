# SPDX-License-Identifier: Apache-2.0
"""A drive that is only read is asked who it is before its step, as one that is written to."""

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from appliance.campaign.steps import environment
from appliance.campaign.steps.environment import _held
from appliance.drives.identity_query import AskedIdentity, AskIdentity
from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError
from appliance.run import StillRunningError
from tests.unit.campaign.world import HDD

_OWN = AskedIdentity("LAB-HDD-1", "", "hdd", HDD.size_bytes)
_OTHER = replace(_OWN, serial="OTHER-1")


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    """A file, which the kernel takes for the disk."""
    (tmp_path / "sda").touch()
    monkeypatch.setattr(environment, "check_identity", lambda drive: drive)
    return replace(HDD, path=str(tmp_path / "sda"))


def _answers(asked: AskedIdentity | None) -> AskIdentity:
    """A drive that says so."""

    def ask(drive: Drive, *, timeout_s: float | None = None) -> AskedIdentity | None:
        return asked

    return ask


@pytest.mark.parametrize("noted", [_OWN, None])
def test_the_drive_itself_is_read(drive: Drive, noted: AskedIdentity | None) -> None:
    with _held(drive, noted, _answers(_OWN)):
        pass


@pytest.mark.parametrize(
    ("noted", "now", "words"),
    [
        (_OWN, _OTHER, "answers as another drive"),
        (_OWN, None, "no longer reports its identity"),
        (None, _OTHER, "answers as another drive"),
    ],
)
def test_another_disk_behind_the_bridge_is_not_read_in_its_name(
    drive: Drive,
    noted: AskedIdentity | None,
    now: AskedIdentity | None,
    words: str,
) -> None:
    with pytest.raises(RefusedError, match=words), _held(drive, noted, _answers(now)):
        pytest.fail("it is read")


def test_one_that_never_answered_is_read_by_the_kernels_number(drive: Drive) -> None:
    with _held(drive, None, _answers(None)):
        pass


def test_one_that_hangs_fails_its_own_step(drive: Drive) -> None:
    def hang(drive: Drive, **_: object) -> NoReturn:
        raise StillRunningError("smartctl does not end")

    with (
        pytest.raises(StepFailedError, match="does not report its identity") as raised,
        _held(drive, None, hang),
    ):
        pytest.fail("it is read")
    assert raised.value.blame == "drive"
