# SPDX-License-Identifier: Apache-2.0
"""Plans kept on the stick: written whole, and never over another one unasked."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance.campaign.requests import saved_plans
from appliance.campaign.requests.saved_plans import delete_plan, save_plan
from appliance.errors import RefusedError, StickError
from appliance.plan.read import MAX_PLAN_BYTES


@pytest.fixture
def fat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    @contextmanager
    def writable_fat() -> Iterator[Path]:
        yield tmp_path

    monkeypatch.setattr(saved_plans, "writable_fat", writable_fat)
    return tmp_path


def test_a_plan_is_kept_under_a_name_that_fat_takes(fat: Path) -> None:
    assert save_plan("Rack 4: ../incoming", "version = 1\n", replace=False) == (
        "plans/rack-4-incoming.toml"
    )
    assert (fat / "plans/rack-4-incoming.toml").read_text() == "version = 1\n"
    assert [each.name for each in (fat / "plans").iterdir()] == ["rack-4-incoming.toml"]


def test_a_plan_that_is_there_is_replaced_only_when_asked(fat: Path) -> None:
    save_plan("a", "one", replace=False)
    with pytest.raises(RefusedError, match=r"plans/a\.toml is there already"):
        save_plan("A", "two", replace=False)
    assert (fat / "plans/a.toml").read_text() == "one"
    save_plan("A", "two", replace=True)
    assert (fat / "plans/a.toml").read_text() == "two"


@pytest.mark.parametrize("name", ["Intake.toml", "INTAKE.TOML"])
def test_the_case_of_a_name_makes_no_other_plan_of_it(name: str, fat: Path) -> None:
    (fat / "plans").mkdir()
    (fat / "plans" / name).write_text("one")
    with pytest.raises(RefusedError, match=f"plans/{name} is there already"):
        save_plan("intake", "two", replace=False)
    assert save_plan("intake", "two", replace=True) == f"plans/{name}"
    assert [(each.name, each.read_text()) for each in (fat / "plans").iterdir()] == [(name, "two")]
    assert delete_plan(name) == f"plans/{name}"


def test_what_was_done_is_said_though_it_may_not_last(
    fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_plan("a", "one", replace=False)
    sync = os.fsync

    def fail_on_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_on_folders)
    with pytest.raises(StickError, match=r"kept as plans/b\.toml, but may not outlast"):
        save_plan("b", "two", replace=False)
    with pytest.raises(StickError, match=r"plans/a\.toml is gone, but may not outlast"):
        delete_plan("a.toml")
    assert [each.name for each in (fat / "plans").iterdir()] == ["b.toml"]


def test_what_no_plan_can_be_is_not_kept(fat: Path) -> None:
    with pytest.raises(RefusedError, match="longer than"):
        save_plan("a", "#" * (MAX_PLAN_BYTES + 1), replace=False)
    assert not (fat / "plans").exists()


def test_a_folder_that_cannot_be_made_is_told(fat: Path) -> None:
    (fat / "plans").write_text("a file")
    with pytest.raises(StickError, match="cannot be written"):
        save_plan("a", "one", replace=False)


def test_only_the_plan_that_is_named_is_removed(fat: Path) -> None:
    save_plan("a", "one", replace=False)
    save_plan("b", "two", replace=False)
    (fat / "plan.toml").write_text("three")
    (fat / "plans/notes.txt").write_text("four")
    assert delete_plan("a.toml") == "plans/a.toml"
    for other in ("../plan.toml", "notes.txt", "", ".", "sub/b.toml"):
        with pytest.raises(RefusedError, match="is not a saved plan"):
            delete_plan(other)
    with pytest.raises(RefusedError, match=r"plans/a\.toml no longer exists"):
        delete_plan("a.toml")
    assert sorted(each.name for each in fat.rglob("*") if each.is_file()) == [
        "b.toml",
        "notes.txt",
        "plan.toml",
    ]


def test_a_plan_that_cannot_be_removed_is_told(fat: Path) -> None:
    (fat / "plans/a.toml").mkdir(parents=True)
    with pytest.raises(StickError, match="cannot be removed"):
        delete_plan("a.toml")
