# SPDX-License-Identifier: Apache-2.0
"""A replay that the database did not accept waits on KALTSTART, and is stored once."""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from appliance.campaign.boots import pending_replay, pending_sample, replay, store_sample
from appliance.campaign.boots.attempts import settle_armed
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.boots.pending_replay import import_pending_replay
from appliance.campaign.boots.pending_sample import PendingSample, read_pending, save_pending
from appliance.campaign.boots.replay import find_due_replay
from appliance.campaign.context import pause
from appliance.drives.facts.power_cycles import PowerCycles
from appliance.errors import StickError
from appliance.record_boot import MAX_READS
from appliance.workloads.raw_files import seal
from tests.unit.campaign.boots.test_replay import measure, started
from tests.unit.campaign.world import OffError, World

__all__ = ["started"]

_FULL = "nothing can be stored any more: database or disk is full"


@pytest.fixture
def fat(started: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """KALTSTART, and a machine that was off for a minute."""
    started.kernel_started_at = time.time() + 60
    fat = tmp_path / "fat"
    fat.mkdir()

    @contextmanager
    def writable_fat() -> Iterator[Path]:
        yield fat

    monkeypatch.setattr(pending_sample, "FAT", fat)
    monkeypatch.setattr(pending_sample, "writable_fat", writable_fat)
    return fat


@pytest.fixture
def pending(started: World, fat: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a replay has left whose sample the database did not accept."""
    with monkeypatch.context() as patch:
        patch.setattr(replay, "store_sample", _refuse)
        with pytest.raises(StickError):
            measure(started)
    assert started.boots() == []
    return fat / "kaltstart/kept-sample.json"


def _refuse(*_: object, **__: object) -> NoReturn:
    raise StickError(_FULL)


def _cut(*_: object, **__: object) -> NoReturn:
    raise OffError


def _start_again(world: World) -> None:
    """One power-on later, by its drive's count too."""
    world.boot_id = "boot-9"
    world.kernel_started_at += 5000
    world.counts = {path: count + 1 for path, count in world.counts.items()}
    import_pending_replay(world.context())


def _read_rows(world: World) -> list[dict[str, object]]:
    queries = ("SELECT * FROM boot_sample", "SELECT * FROM replay", "SELECT * FROM cycle")
    with world.looking() as connection:
        found = [dict(row) for query in queries for row in connection.execute(query)]
    return [{name: row[name] for name in row if name not in {"at", "checksum"}} for row in found]


def _unused(world: World) -> list[str]:
    return [detail for event, detail in world.events() if event == "sample-unused"]


def _change(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    found = json.loads(path.read_text())
    del found["crc32"]
    change(found)
    path.write_text(seal(found))


@pytest.mark.parametrize("plan", [("cold", 0), ("warm", 0), ("cold", 1)])
@pytest.mark.parametrize("error", [StickError(_FULL), sqlite3.OperationalError("no such column")])
def test_a_kept_replay_is_stored_as_it_would_have_been(
    started: World,
    fat: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    plan: tuple[str, int],
) -> None:
    power, trained = plan
    started.context().connection.execute(
        "UPDATE cycle SET trained = ?, power = ?", (trained, power)
    )
    before, stored = started.path.with_name("before.sqlite"), started.path
    shutil.copyfile(stored, before)
    steady = iter(range(0, 1 << 40, 7_000_000))
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(steady))
    measure(started)
    expected = _read_rows(started)
    shutil.copyfile(before, stored)

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(store_sample, "insert_sample", fail)
        with pytest.raises(type(error)):
            measure(started)
    assert started.boots() == []
    _start_again(started)
    assert _read_rows(started) == expected
    assert expected[0]["page_cache"] == "bypass"
    assert expected[0]["off_s"] == (pytest.approx(60, abs=5) if power == "cold" else None)
    assert (expected[0]["cold_proof"], expected[0]["valid"]) == (
        ("proven", 1) if power == "cold" else ("unproven", 0)
    )
    assert [event for event, _ in started.events()].count("sample-kept") == 1
    assert list((fat / "kaltstart").iterdir()) == []
    assert find_due_replay(started.context(), 1) is None


def test_of_a_campaign_that_was_paused_it_is_stored_all_the_same(
    started: World, pending: Path
) -> None:
    """As the engine does where the database accepts that, and the person resumes it at once."""
    context = started.context()
    pause(context, 1, _FULL)
    import_pending_replay(context)
    assert started.states() == ["done", "planned"]
    assert not pending.exists()
    context.connection.execute("UPDATE campaign SET state = 'running'")
    assert start_next_boot(context, 1) is Outcome.LEAVING
    assert started.states() == ["done", "armed"]


def test_a_raw_file_that_cannot_be_written_costs_no_sample(
    started: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign pauses for it."""
    monkeypatch.setattr(replay, "keep", _refuse)
    with pytest.raises(StickError, match=_FULL):
        measure(started)
    assert started.boots()[0]["cold_proof"] == "proven"
    assert list(fat.iterdir()) == []


def test_where_neither_raw_file_nor_row_is_accepted_it_is_kept(
    started: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fat
    with monkeypatch.context() as patch:
        patch.setattr(replay, "keep", _refuse)
        patch.setattr(store_sample, "insert_sample", _refuse)
        with pytest.raises(StickError):
            measure(started)
    _start_again(started)
    assert started.states() == ["done", "planned"]


@pytest.mark.parametrize("when", ["replaying reads", "asking who it is"])
def test_a_stick_that_fails_while_the_reads_are_waited_for_costs_no_sample(
    started: World, fat: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Who waits for the drive looks into the database for what people ask."""
    told: list[str] = []

    def tell(what: str, *_: object) -> None:
        told.append(what)
        if what == when:
            raise StickError(_FULL)

    monkeypatch.setattr("appliance.drive_thread._LOOK_EVERY_S", 0)
    context = replace(started.context(), tell=tell)
    cycle = find_due_replay(context, 1)
    assert cycle is not None
    replay.measure_replay(context, 1, cycle)
    assert when in told
    assert started.states() == ["done", "planned"]
    assert list(fat.iterdir()) == []


def test_power_that_fails_while_the_drive_is_asked_costs_the_proof_alone(
    started: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fat
    with monkeypatch.context() as patch:
        patch.setattr(replay, "store_sample", _refuse)
        started.access = replace(started.access, read_power_cycles=_cut)
        with pytest.raises(OffError):
            measure(started)
    _start_again(started)
    (boot,) = started.boots()
    assert (boot["cold_proof"], boot["cold_reason"]) == ("unproven", store_sample.NOT_ASKED)


def test_power_that_fails_before_the_file_is_removed_stores_nothing_twice(
    started: World, pending: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pending_replay, "remove_pending", _cut)
        with pytest.raises(OffError):
            _start_again(started)
    rows = _read_rows(started)
    assert pending.exists()
    _start_again(started)
    assert _read_rows(started) == rows
    assert not pending.exists()
    assert _unused(started) == []
    assert started.states() == ["done", "planned"]


def test_power_that_fails_within_the_import_leaves_the_file(
    started: World, pending: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does a database that does not accept it yet."""
    for end in (_cut, _refuse):
        with monkeypatch.context() as patch:
            patch.setattr(pending_replay, "insert_replay", end)
            with pytest.raises((OffError, StickError)):
                _start_again(started)
        assert started.boots() == []
        assert pending.exists()
    _start_again(started)
    assert started.states() == ["done", "planned"]


def test_a_file_that_cannot_be_removed_ends_nothing(
    started: World, pending: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pending_sample, "writable_fat", _refuse)
        _start_again(started)
        _start_again(started)
        with pytest.raises(StickError):
            start_next_boot(started.context(), 1)
    assert started.states() == ["done", "planned"]
    assert start_next_boot(started.context(), 1) is Outcome.LEAVING
    assert not pending.exists()


def test_where_kaltstart_does_not_accept_it_either_that_is_announced(
    started: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fat
    monkeypatch.setattr(replay, "store_sample", _refuse)
    monkeypatch.setattr(pending_replay, "save_pending", lambda _: _refuse())
    with pytest.raises(StickError, match=_FULL):
        measure(started)
    assert started.lines[-1] == ("refused", {"reason": _FULL})


def _of_drive(**values: object) -> Callable[[PendingSample], PendingSample]:
    def change(found: PendingSample) -> PendingSample:
        assert found.root is not None
        drive = replace(found.root.drive, **values)  # type: ignore[arg-type] # any of its fields
        return replace(found, root=replace(found.root, drive=drive))

    return change


def _of_reads(**values: object) -> Callable[[PendingSample], PendingSample]:
    def change(found: PendingSample) -> PendingSample:
        assert found.replay is not None
        reads = replace(found.replay.reads, **values)  # type: ignore[arg-type] # any of its fields
        return replace(found, replay=replace(found.replay, reads=reads))

    return change


def _of_cycle(number: int) -> Callable[[PendingSample], PendingSample]:
    def change(found: PendingSample) -> PendingSample:
        assert found.replay is not None
        return replace(found, replay=replace(found.replay, cycle_id=number))

    return change


def _of_sample(**values: object) -> Callable[[PendingSample], PendingSample]:
    def change(found: PendingSample) -> PendingSample:
        assert found.sample is not None
        return replace(found, sample=replace(found.sample, **values))  # type: ignore[arg-type] # any

    return change


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        (lambda found: replace(found, boot_id="boot-0"), "did not begin in the same start"),
        (lambda found: replace(found, root=None), "holds no sample of a replay"),
        (_of_cycle(2), "its boot is not waited for"),
        (_of_cycle(99), "its boot is not waited for"),
        (_of_drive(serial="LAB-SSD-1"), "not started from drive LAB-HDD-1"),
        (_of_drive(wwn="0x5000000000000009"), "not started from drive LAB-HDD-1"),
        (_of_drive(model="other"), "not started from drive LAB-HDD-1"),
        (_of_drive(size_bytes=1), "not started from drive LAB-HDD-1"),
        (_of_reads(list_sha256="other"), "not those of the campaign's list"),
        (_of_reads(times_ns=(1, 2)), "its times do not belong together"),
        (_of_sample(boot_s=0.5), "its times do not belong together"),
        (_of_sample(path="else"), "its boot is not waited for"),
    ],
)
def test_what_is_not_of_the_boot_is_no_figure_and_in_the_log(
    started: World, pending: Path, change: Callable[[PendingSample], PendingSample], doubt: str
) -> None:
    found = read_pending()
    assert found is not None
    save_pending(change(found))
    _start_again(started)
    assert started.boots() == []
    [told] = _unused(started)
    assert doubt in told
    assert '"boot_s": ' in told
    assert "times_ns" not in told
    assert len(told) < 2000
    assert not pending.exists()
    measure(started)
    assert "restarted after its reads had begun" in started.cycles()[0].reason


def test_once_its_boot_is_armed_again_it_is_of_no_use(started: World, pending: Path) -> None:
    content = pending.read_text()
    context = started.context()
    pause(context, 1, _FULL)
    context.connection.execute("UPDATE campaign SET state = 'running'")
    assert start_next_boot(context, 1) is Outcome.LEAVING
    assert len(_unused(started)) == 1
    pending.write_text(content)
    _start_again(started)
    assert len(_unused(started)) == 2
    measure(started)
    assert started.states() == ["done", "planned"]
    assert started.boots()[0]["cycle"] == 1


def test_a_boot_that_was_skipped_or_has_failed_gets_no_sample(
    started: World, pending: Path
) -> None:
    started.context().connection.execute("UPDATE cycle SET state = 'failed' WHERE id = 1")
    _start_again(started)
    assert started.states() == ["failed", "planned"]
    assert len(_unused(started)) == 1
    assert not pending.exists()


def test_a_boot_of_another_mode_does_not_take_it(started: World, pending: Path) -> None:
    started.context().connection.execute("UPDATE cycle SET mode = 'install'")
    started.boot_id = "boot-9"
    settle_armed(started.context(), 1)
    assert started.boots() == []
    assert not pending.exists()
    assert len(_unused(started)) == 1


_READS = ("replay", "reads")
_NO_TIMES: tuple[object, ...] = (
    *([], {}, 5, [1.5], [-1], [True], [1 << 63], [None], ["1"]),
    [1] * (MAX_READS + 1),
)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *(((*_READS, "times_ns"), value) for value in _NO_TIMES),
        *(((*_READS, "started_s"), value) for value in (None, float("nan"), -1, "1")),
        ((*_READS, "before_read_ios"), 1.5),
        ((*_READS, "before_read_bytes"), 1 << 63),
        ((*_READS, "list_sha256"), "\ud800"),
        (_READS, None),
        (("replay", "cycle_id"), 1 << 70),
        (("replay", "cycle_id"), "1"),
        (("replay", "power_cycles"), [7]),
        (("replay", "power_cycles", "count"), -1),
        (("replay", "power_cycles", "source"), None),
        (("replay",), [1]),
        (("sample", "boot_s"), None),
    ],
)
def test_what_no_replay_leaves_is_no_figure_and_ends_nothing(
    started: World, pending: Path, place: tuple[str, ...], value: object
) -> None:
    def change(found: dict[str, Any]) -> None:
        for name in place[:-1]:
            found = found[name]
        found[place[-1]] = value

    _change(pending, change)
    assert read_pending() is None
    _start_again(started)
    assert started.boots() == []
    pause(started.context(), 1, _FULL)
    started.context().connection.execute("UPDATE campaign SET state = 'running'")
    assert start_next_boot(started.context(), 1) is Outcome.LEAVING
    [told] = _unused(started)
    assert len(told) < 2000
    assert not pending.exists()


@pytest.mark.parametrize("text", ["[" * 3_000_000, "\0" * 9_000_000, "[]," * 2_000_000])
def test_a_file_of_any_size_and_content_ends_nothing(
    started: World, pending: Path, text: str
) -> None:
    pending.write_text(text)
    _start_again(started)
    assert started.boots() == []
    assert read_pending() is None


def test_the_longest_list_is_read_back(pending: Path) -> None:
    found = read_pending()
    assert found is not None
    longest = _of_reads(times_ns=((1 << 63) - 1,) * MAX_READS)(found)
    save_pending(longest)
    assert read_pending() == longest
    assert len(longest.describe()) < 2000
    assert pending.stat().st_size > MAX_READS * 20


def test_a_turned_bit_is_no_figure(started: World, pending: Path) -> None:
    text = pending.read_text()
    at = text.index('"times_ns": [') + len('"times_ns": [')
    pending.write_text(text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :])
    _start_again(started)
    assert started.boots() == []


def test_a_sample_that_an_earlier_version_kept_is_still_one(pending: Path) -> None:
    def change(found: dict[str, Any]) -> None:
        del found["replay"]
        parts = ("kernel_s", "initrd_s", "userspace_s", "session_s")
        found["sample"].update(dict.fromkeys(parts, 1.5))

    _change(pending, change)
    found = read_pending()
    assert found is not None
    assert found.replay is None


def test_what_the_drive_answered_is_kept_with_its_source(pending: Path) -> None:
    found = read_pending()
    assert found is not None
    assert found.replay is not None
    assert found.replay.power_cycles == PowerCycles(8, "ATA attribute 12")
    content: Mapping[str, Any] = json.loads(pending.read_text())
    assert list(content["replay"])[-1] == "reads"
    assert list(content["replay"]["reads"])[-1] == "times_ns"
