# SPDX-License-Identifier: Apache-2.0
"""Clearing the place of a cache's journal: all of it, and never for long out of a stop's reach."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from appliance.arrays import make
from appliance.arrays.make import make_cache
from appliance.drives.unlock import Unlocked
from tests.unit.plan.array_plan import ARRAY_PLAN

MIB = 1 << 20
PLAN = replace(ARRAY_PLAN, bucket_bytes=MIB)
# 256 buckets of journal behind the one of the superblock.
END_BYTES = 257 * MIB


class StoppedError(Exception):
    """A person presses a key."""


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What is done to the drive, with the bytes that are written and not yet on it."""
    log: list[tuple[str, int]] = []
    waiting = 0

    def pwrite(_fd: int, data: bytes, offset: int) -> int:
        nonlocal waiting
        assert not any(data)
        waiting += len(data)
        log.append(("write", offset + len(data)))
        return len(data)

    def fsync(_fd: int) -> None:
        nonlocal waiting
        log.append(("fsync", waiting))
        waiting = 0

    monkeypatch.setattr(make, "os", SimpleNamespace(pwrite=pwrite, fsync=fsync))
    monkeypatch.setattr(make, "_make", lambda *_, **__: log.append(("make", waiting)))
    monkeypatch.setattr(make, "_check", lambda *_: None)
    return log


def work(stop_at_bytes: int = -1) -> None:
    """On a drive of 64 GiB."""

    def tell(_text: str, done: int, total: int) -> None:
        assert total == END_BYTES
        if done == stop_at_bytes:
            raise StoppedError

    drive = SimpleNamespace(size_bytes=64 << 30)
    cache = cast("Unlocked", SimpleNamespace(path="/dev/sdb", fd=9, drive=drive))
    make_cache(cache, block_bytes=512, plan=PLAN, set_uuid="a", tell=tell)


@pytest.mark.slow
def test_all_is_on_the_drive_before_the_cache_is_made(log: list[tuple[str, int]]) -> None:
    work()
    assert [number for what, number in log if what == "write"] == [
        (number + 1) * MIB for number in range(257)
    ]
    assert log[-2:] == [("fsync", MIB), ("make", 0)]


@pytest.mark.slow
def test_never_more_than_64_mib_are_waited_for(log: list[tuple[str, int]]) -> None:
    work()
    assert max(number for what, number in log if what == "fsync") == 64 * MIB


def test_a_stop_ends_it_on_the_way(log: list[tuple[str, int]]) -> None:
    with pytest.raises(StoppedError):
        work(stop_at_bytes=128 * MIB)
    assert log[-1] == ("fsync", 64 * MIB)
