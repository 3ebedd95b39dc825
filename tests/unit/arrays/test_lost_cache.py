# SPDX-License-Identifier: Apache-2.0
"""A cache that fails: the link alone says so, and what it holds is never taken up again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.arrays import control as kernel
from appliance.arrays import running as live
from appliance.arrays import tear_down
from appliance.arrays.model import CacheFate, label_of
from appliance.arrays.replace_cache import detach
from appliance.arrays.running import assembled, mark_lost_cache
from appliance.arrays.settings import hurried
from appliance.arrays.state import check_cache, has_cache
from appliance.arrays.superblock import Superblock
from appliance.arrays.tear_down import dismantle
from appliance.arrays.write_back import wait_clean, write_back_all
from appliance.drives.serial_number import BRIDGE
from appliance.errors import RefusedError, StepFailedError
from tests.unit.arrays.fake_kernel import (
    ARRAY,
    CACHE_SUPERBLOCK,
    SET_UUID,
    FakeKernel,
    backing_superblock,
    make_fake_kernel,
    member,
)
from tests.unit.plan.array_plan import ARRAY_PLAN

BACKING, CACHE = member("sda"), member("sdb")
LOST = label_of(SET_UUID, "lost")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    """An array that runs; it is released at once."""
    fake = make_fake_kernel(tmp_path, monkeypatch)
    monkeypatch.setattr(live, "bring_up", lambda *_, **__: ARRAY)
    monkeypatch.setattr(live, "apply_settings", lambda *_: None)
    monkeypatch.setattr(live, "stop_array", lambda *_, **__: None)
    return fake


def silent(_text: str, _done: int, _total: int) -> None:
    """No one looks."""


def carry(
    monkeypatch: pytest.MonkeyPatch, backing: Superblock, cache: Superblock | None
) -> list[str]:
    """What is on the two; returns where a cache is made again."""
    made: list[str] = []
    on_drives = {BACKING.path: backing, CACHE.path: cache}
    for module in (live, tear_down):
        monkeypatch.setattr(module, "read_superblock", on_drives.get)
        monkeypatch.setattr(module, "has_signature", lambda _: False)
        monkeypatch.setattr(module, "clear_member", lambda _: None)
    monkeypatch.setattr(live, "make_cache", lambda each, **_: made.append(each.path))
    return made


def use(work: Callable[[], None] = lambda: None) -> None:
    """One step on the array."""
    with assembled(BACKING, CACHE, plan=ARRAY_PLAN, set_uuid=SET_UUID, tell=silent):
        work()


def test_only_the_link_tells(fake: FakeKernel) -> None:
    assert has_cache(ARRAY)
    check_cache(ARRAY)
    fake.lose_cache()
    assert (fake.backing / "state").read_text() == "clean"
    assert not has_cache(ARRAY)
    with pytest.raises(StepFailedError, match="bcache0 has lost its cache"):
        check_cache(ARRAY)


def test_a_cache_of_another_set_is_not_the_arrays(fake: FakeKernel) -> None:
    fake.lose_cache()
    (fake.backing / "cache").symlink_to("../../../fs/bcache/99992222-3333-4444-5555-666677778888")
    assert not has_cache(ARRAY)


def test_an_array_without_its_cache_is_not_called_clean(fake: FakeKernel) -> None:
    assert wait_clean(ARRAY, timeout_s=0, tell=silent) == ""
    write_back_all(ARRAY, tell=silent)
    fake.lose_cache()
    with pytest.raises(StepFailedError, match="has lost its cache"):
        wait_clean(ARRAY, timeout_s=0, tell=silent)
    with pytest.raises(StepFailedError, match="has lost its cache"):
        write_back_all(ARRAY, tell=silent)


def test_writing_back_ends_when_the_cache_is_lost(fake: FakeKernel) -> None:
    """Else ten minutes later."""
    fake.say("dirty_data", "1.0M")

    def tell(_text: str, _done: int, _total: int) -> None:
        assert has_cache(ARRAY), "no one looked"
        fake.lose_cache()

    with pytest.raises(StepFailedError, match="has lost its cache"):
        write_back_all(ARRAY, tell=tell)


def test_settings_that_cannot_be_put_back_hide_no_failure(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, text: str) -> None:
        raise StepFailedError(f"the kernel refused {text!r} for {path}")

    def work(*, fail: bool) -> None:
        monkeypatch.setattr(kernel, "write_text", fake.write)
        with hurried(ARRAY):
            monkeypatch.setattr(kernel, "write_text", refuse)
            if fail:
                raise StepFailedError("it has lost its cache")

    with pytest.raises(StepFailedError, match="has lost its cache"):
        work(fail=True)
    with pytest.raises(StepFailedError, match="the kernel refused"):
        work(fail=False)


def test_the_backing_drive_says_that_its_cache_was_lost(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry(monkeypatch, backing_superblock("attached"), CACHE_SUPERBLOCK)
    labels: list[str] = []
    monkeypatch.setattr(live, "stop_array", lambda *_, **__: labels.append(fake.label))
    with pytest.raises(StepFailedError, match="has lost its cache"):
        use(fake.lose_cache)
    assert labels == [LOST]


def test_a_step_that_failed_of_it_keeps_its_reason(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry(monkeypatch, backing_superblock("attached"), CACHE_SUPERBLOCK)

    def fail() -> None:
        fake.lose_cache()
        raise StepFailedError("fio: Input/output error")

    with pytest.raises(StepFailedError, match="Input/output error"):
        use(fail)
    assert fake.label == LOST


def test_an_array_that_is_well_or_gone_is_not_called_lost(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry(monkeypatch, backing_superblock("attached"), CACHE_SUPERBLOCK)
    use()
    assert fake.label == label_of(SET_UUID)
    use(fake.vanish)
    assert not fake.backing.exists()


def test_a_cache_that_was_taken_away_on_purpose_is_not_lost(fake: FakeKernel) -> None:
    """`empty_cache` was stopped before it gave the cache back."""
    fake.say("label", label_of(SET_UUID, "parted"))
    fake.detach()
    assert not mark_lost_cache(ARRAY)
    assert fake.label == label_of(SET_UUID, "parted")


@pytest.mark.parametrize(("label", "state"), [("parted", "clean"), ("attached", "no cache")])
def test_a_cache_that_fails_on_its_own_is_lost_whatever_was_meant(
    fake: FakeKernel, label: CacheFate, state: str
) -> None:
    fake.say("label", label_of(SET_UUID, label))
    fake.say("state", state)
    fake.lose_cache()
    assert mark_lost_cache(ARRAY)
    assert fake.label == LOST


def test_a_cache_that_fails_while_it_is_detached_is_said_at_once(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeKernel, "detach", FakeKernel.lose_cache)
    with pytest.raises(StepFailedError, match="failed while it was detached"):
        detach(ARRAY, tell=silent)
    assert fake.label == LOST


def test_a_cache_that_is_lost_already_is_not_detached(fake: FakeKernel) -> None:
    fake.lose_cache()
    with pytest.raises(StepFailedError, match="has lost its cache"):
        detach(ARRAY, tell=silent)
    assert fake.label == label_of(SET_UUID)


def test_a_cache_is_detached(fake: FakeKernel) -> None:
    detach(ARRAY, tell=silent)
    assert fake.label == label_of(SET_UUID, "parted")


@pytest.mark.parametrize("set_uuid", [SET_UUID, ""])
@pytest.mark.parametrize("cache", [CACHE_SUPERBLOCK, None])
def test_a_lost_cache_is_never_taken_up_again(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch, set_uuid: str, cache: Superblock | None
) -> None:
    made = carry(monkeypatch, backing_superblock("lost", set_uuid=set_uuid), cache)
    with pytest.raises(StepFailedError, match="went on alone when its cache drive failed"):
        use()
    assert fake.label == label_of(SET_UUID)
    assert made == []


def test_a_lost_cache_is_not_attached_to_be_dismantled(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fake.folder / "block").rename(fake.folder / "not registered")
    carry(monkeypatch, backing_superblock("lost"), CACHE_SUPERBLOCK)
    cleared: list[str] = []
    monkeypatch.setattr(tear_down, "clear_member", lambda each: cleared.append(each.path))
    remarks = dismantle(BACKING, CACHE, set_uuid=SET_UUID, tell=silent)
    assert remarks == ("its cache drive failed while the array ran: it was not attached again",)
    assert cleared == [BACKING.path, CACHE.path]


@pytest.mark.parametrize("set_uuid", [SET_UUID, ""])
def test_a_cache_that_was_being_emptied_is_made_again(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch, set_uuid: str
) -> None:
    made = carry(monkeypatch, backing_superblock("parted", set_uuid=set_uuid), None)
    use()
    assert made == [CACHE.path]
    assert has_cache(ARRAY)
    assert fake.label == label_of(SET_UUID)


def test_no_cache_is_made_again_on_a_blank_disk_that_may_be_another_one(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power went while the cache was emptied, and the disk in the dock was exchanged."""
    made = carry(monkeypatch, backing_superblock("parted"), None)
    docked = member("sdb", serial_doubt=BRIDGE)
    with (
        pytest.raises(RefusedError, match="cannot be told from another drive") as refused,
        assembled(BACKING, docked, plan=ARRAY_PLAN, set_uuid=SET_UUID, tell=silent),
    ):
        pytest.fail("assembled")
    assert refused.value.blame == "other"
    assert made == []
    assert fake.label == label_of(SET_UUID)


def test_no_cache_is_made_on_a_blank_drive_that_kaltstart_did_not_empty(
    fake: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = carry(monkeypatch, backing_superblock("attached"), None)
    with pytest.raises(RefusedError, match="no longer carries its part of the array"):
        use()
    assert made == []
    assert fake.label == label_of(SET_UUID)
