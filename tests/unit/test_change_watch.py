# SPDX-License-Identifier: Apache-2.0
"""Nothing that may have changed is taken for unchanged."""

import os
import time
from pathlib import Path

import pytest

from appliance.change_watch import ChangeWatch


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Changed last in 1970."""
    path = tmp_path / "file"
    path.write_text("a")
    os.utime(path, (1, 1))
    return path


def test_what_was_looked_at_is_not_looked_at_again(file: Path) -> None:
    watch = ChangeWatch(file)
    assert [watch.may_have_changed() for _ in range(3)] == [True, False, False]


def test_each_change_is_seen(file: Path) -> None:
    watch = ChangeWatch(file)
    watch.may_have_changed()
    os.utime(file, (2, 2))
    assert [watch.may_have_changed() for _ in range(2)] == [True, False]
    file.write_text("ab")
    os.utime(file, (2, 2))
    assert watch.may_have_changed()
    other = file.with_name("other")
    other.write_text("ab")
    os.utime(other, (2, 2))
    other.replace(file)
    assert watch.may_have_changed()


@pytest.mark.parametrize("ahead_s", [0, 3600])
def test_a_change_of_this_second_or_of_the_future_is_in_doubt(file: Path, ahead_s: int) -> None:
    """The next one may get the same time."""
    watch = ChangeWatch(file)
    now_s = time.time() + ahead_s
    os.utime(file, (now_s, now_s))
    assert all(watch.may_have_changed() for _ in range(3))


def test_what_was_not_looked_at_counts_as_changed(file: Path) -> None:
    watch = ChangeWatch(file)
    watch.may_have_changed()
    watch.forget()
    assert watch.may_have_changed()
    watch.forget()
    watch.may_have_changed()
    with pytest.raises(KeyError), watch.forgotten_if_failed():
        raise KeyError
    assert watch.may_have_changed()
    with watch.forgotten_if_failed():
        pass
    assert not watch.may_have_changed()


def test_what_cannot_be_asked_may_have_changed(file: Path) -> None:
    file.unlink()
    assert all(ChangeWatch(path).may_have_changed() for path in (file, ""))
