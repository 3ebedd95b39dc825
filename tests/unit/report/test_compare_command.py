# SPDX-License-Identifier: Apache-2.0
"""`compare` on the stick's command line."""

from pathlib import Path

import pytest

from appliance import cli
from appliance.report.ratios import ALLOWED
from appliance.stick import partitions as stick
from tests.databases import spoil_page
from tests.report.database import Disk, make_boots, make_database


@pytest.fixture(autouse=True)
def _database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Disk("A:1", "disk", boots=make_boots(54.0, 55.0, 54.5, 54.2, 54.8))
    fast = Disk("B", "disk", boots=make_boots(27.9, 28.1, 27.8, 28.3, 28.0))
    make_database(tmp_path / "kaltstart.sqlite", disks=[slow, fast]).close()
    monkeypatch.setattr(stick, "DATABASE", tmp_path / "kaltstart.sqlite")
    monkeypatch.setattr(stick, "RUN", tmp_path)


def test_two_drives_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "1:B", "1:A:1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("campaign 1, B against campaign 1, A:1:\n  settled boots: 1.94 times")


@pytest.mark.parametrize("word", ALLOWED)
def test_every_condition_can_be_allowed_to_differ(word: str) -> None:
    assert cli.main(["compare", "1:B", "1:A:1", "--although", word]) == 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["x", "1"], "x is not the number of a campaign"),
        (["1", "1"], "which drives to compare is ambiguous"),
        (["1:C", "1:B"], "no figures of drive C"),
        (["9", "1"], "there is no campaign 9"),
    ],
)
def test_bad_usage_ends_with_what_to_do(
    asked: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", *asked]) == 2
    assert said in capsys.readouterr().err


def test_a_database_that_the_stick_does_not_give_back_is_no_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is opened, and then a row cannot be read."""
    spoil_page(tmp_path / "kaltstart.sqlite", table="boot_sample")
    assert cli.main(["compare", "1:B", "1:A:1"]) == 5
    told = capsys.readouterr().err
    assert "database disk image is malformed" in told
    assert "`kaltstart restore` replaces it with its newest copy" in told
