# SPDX-License-Identifier: Apache-2.0
"""Verify on drives in RAM: honest ones, and those that alias, lose, damage or refuse."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from appliance.drives.identity_query import ExchangedError
from appliance.drives.own_uuid import make_table_uuid
from appliance.errors import RefusedError, StepFailedError
from appliance.samples.model import METRIC_UNITS
from appliance.workloads.verify import io as verify_io
from appliance.workloads.verify.io import HOPELESS_BYTES, StretchResult
from appliance.workloads.verify.pattern import CHUNK_BYTES, Extent, Pattern
from appliance.workloads.verify.workload import VerifyWorkload
from tests.unit.workloads.verify.verify_bench import (
    MIB,
    Make,
    VerifyBench,
    bench_maker,
    plan,
    take_over,
)


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A step on a drive with such traits."""
    return bench_maker(tmp_path, monkeypatch)


def test_an_honest_drive_is_clean_and_every_byte_was_written_and_read(make: Make) -> None:
    lab = make()
    lab.run(lab.start())
    size = lab.drive.size_bytes
    assert lab.value("write", "app_write_bytes") == size
    assert lab.value("read", "app_read_bytes") == size
    assert lab.value("read", "mismatch_bytes") == 0
    assert lab.value("read", "unreadable_bytes") == 0
    assert lab.ranges("write") == lab.ranges("read") == []
    # What a drive holds is not known before it is read.
    assert lab.value("write", "mismatch_bytes") is None
    for result in (each for part in lab.stored.values() for each in part.results):
        assert result.metric in METRIC_UNITS
        assert (result.cache.page_cache, result.cache.proof) == ("bypass", "proven")


def test_the_devices_bytes_stand_in_the_stretches_once(make: Make) -> None:
    lab = make()
    lab.run(lab.start())
    for metric in ("device_write_bytes", "device_read_bytes"):
        counted = sum(
            result.value
            for part in lab.stored.values()
            for result in part.results
            if result.metric == metric
        )
        assert counted == lab.drive.size_bytes


def test_no_figure_is_kept_of_what_an_array_wrote_past_its_count(make: Make) -> None:
    lab = make()
    lab.lacks_writes = True
    lab.run(lab.start())
    results = [each for part in lab.stored.values() for each in part.results]
    assert "device_write_bytes" not in {each.metric for each in results}
    assert lab.value("write", "app_write_bytes") == lab.drive.size_bytes
    written = {each.cache for each in results if each.metric == "app_write_bytes"}
    assert {(cache.page_cache, cache.proof) for cache in written} == {("bypass", "unproven")}
    assert any("Linux does not count what an array writes" in each.proof_reason for each in written)


def test_a_drive_in_a_dock_is_asked_between_requests_and_all_is_written_once(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_io, "CHECK_EVERY_S", 0.0)
    lab, honest = make(), make()
    lab.check_identity = lambda: lab.drive.log.append(("asked", 0, 0))
    take_over(monkeypatch, lab.drive)
    lab.run(lab.start(), until="read-00")
    calls = [name for name, _, _ in lab.drive.log]
    assert calls.count("asked") == calls.count("write") > 0
    assert "writewrite" not in "".join(calls)
    assert lab.value("write", "app_write_bytes") == honest.drive.size_bytes


def test_how_far_it_is_goes_on_where_a_drive_is_asked_between(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_io, "CHECK_EVERY_S", 0.0)
    make()
    told: list[int] = []
    requests = [Extent(number * CHUNK_BYTES, CHUNK_BYTES) for number in range(3)]
    pattern = Pattern(seed=7, run_id=0)
    verify_io.write_stretch(
        3, pattern, requests, StretchResult(), tell=told.append, check_identity=lambda: None
    )
    assert told == sorted(told)
    assert told.count(0) <= 1
    assert told[-1] >= 2 * CHUNK_BYTES


def test_nothing_more_is_written_once_another_drive_answers(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_io, "CHECK_EVERY_S", 0.0)
    lab = make()

    def exchange() -> None:
        if sum(name == "write" for name, _, _ in lab.drive.log) == 3:
            raise ExchangedError("another drive")

    lab.check_identity = exchange
    with pytest.raises(ExchangedError):
        lab.run(lab.start())
    assert [name for name, _, _ in lab.drive.log].count("write") == 3
    assert lab.drive.log[-1][0] == "write", "what is left would be flushed to the other drive"


def test_all_is_written_and_flushed_before_anything_is_read(make: Make) -> None:
    lab = make()
    lab.run(lab.start())
    calls = [name for name, _, _ in lab.drive.log]
    assert "write" not in calls[calls.index("read") :]
    assert calls[calls.index("read") - 1] == "flush"


def test_a_drive_that_wraps_says_whose_bytes_it_gives(make: Make) -> None:
    lab = make(real_bytes=8 * MIB, size_bytes=16 * MIB)
    lab.run(lab.start())
    (found,) = _joined(lab, "read")
    assert found == ("alias", 0, 8 * MIB, 8 * MIB)
    assert lab.value("read", "mismatch_bytes") == 8 * MIB


@pytest.mark.parametrize("real", [4 * MIB, 32 * MIB])
def test_a_sample_finds_a_drive_that_wraps_at_a_power_of_two(make: Make, real: int) -> None:
    lab = make(plan(size_bytes=MIB), size_bytes=64 * MIB, real_bytes=real)
    lab.run(lab.start())
    aliases = [each for each in lab.ranges("read") if each.kind == "alias"]
    assert aliases[0].first_byte == 0
    assert lab.drive.write_bytes < 2 * MIB


def test_damage_is_told_from_what_never_arrived(make: Make) -> None:
    lab = make()
    workload = lab.start()
    lab.run(workload, until="read-00")
    lab.drive.data[5 * MIB + 700] ^= 1
    lab.drive.data[6 * MIB : 6 * MIB + 8192] = bytes(8192)
    lab.run(workload)
    found = [(each.kind, each.first_byte, each.size_bytes) for each in lab.ranges("read")]
    assert found == [("mismatch", 5 * MIB + 512, 512), ("mismatch", 6 * MIB, 8192)]
    details = [each.detail for each in lab.ranges("read")]
    assert "1 bytes of a sector" in details[0]
    assert details[1] == "zeros"


@pytest.mark.parametrize("phase", ["read", "read-cold"])
def test_what_is_right_the_second_time_is_not_shown_to_be_the_drive(make: Make, phase: str) -> None:
    lab = make(plan(power_cycle=True))
    workload = lab.start()
    lab.run(workload, until=f"{phase}-00")
    lab.drive.once = {5 * MIB + 700, 5 * MIB + 1300}
    lab.drive.data[6 * MIB + 700] ^= 1
    lab.run(workload)
    # The last write was not made here, so the cold reading misses it.
    found = [
        (each.kind, each.first_byte, each.size_bytes)
        for each in lab.ranges(phase)
        if each.kind != "lost"
    ]
    assert found == [("unsteady", 5 * MIB + 512, 1024), ("mismatch", 6 * MIB + 512, 512)]
    assert lab.value(phase, "unsteady_bytes") == 1024


def test_what_is_wrong_in_another_way_each_time_is_not_shown_to_be_the_drive(make: Make) -> None:
    lab = make()
    lab.drive.noisy = {5 * MIB + 700}
    lab.run(lab.start())
    assert [each.kind for each in lab.ranges("read")] == ["unsteady"]
    assert lab.value("read", "mismatch_bytes") == 0


def test_an_honest_drive_is_read_once_and_stores_no_such_figure(make: Make) -> None:
    lab = make()
    lab.run(lab.start())
    assert lab.value("read", "unsteady_bytes") is None
    assert lab.drive.read_bytes == lab.drive.size_bytes


def test_a_fake_drive_is_not_read_twice_all_over(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_io, "CONFIRMED_BYTES", 1)
    lab = make(real_bytes=4 * MIB)
    lab.run(lab.start())
    assert lab.value("read", "unsteady_bytes") is None
    again = lab.drive.read_bytes - lab.drive.size_bytes
    assert 0 < again <= 16 * verify_io.DEPTH * MIB


def test_what_another_run_left_does_not_pass(make: Make, tmp_path: Path) -> None:
    lab = make()
    lab.run(lab.start(), until="read-00")
    left = bytes(lab.drive.data)
    (tmp_path / "verify.json").unlink()
    lab.stored.clear()
    workload = lab.start()
    lab.run(workload, until="read-00")
    lab.drive.data[:] = left
    lab.run(workload)
    assert lab.value("read", "mismatch_bytes") == lab.drive.size_bytes
    assert {each.detail for each in lab.ranges("read")} == {"what an earlier run wrote is there"}


def test_unreadable_blocks_are_narrowed_down_and_the_rest_is_read(make: Make) -> None:
    lab = make()
    workload = lab.start()
    lab.drive.unreadable = {3 * MIB + 5000, 3 * MIB + 9000}
    lab.run(workload)
    assert [(each.kind, each.first_byte, each.size_bytes) for each in lab.ranges("read")] == [
        ("unreadable", 3 * MIB + 4096, 8192)
    ]
    assert lab.value("read", "unreadable_bytes") == 8192
    assert lab.value("read", "app_read_bytes") == lab.drive.size_bytes - 8192
    assert lab.value("read", "mismatch_bytes") == 0


@pytest.mark.slow
def test_a_hopeless_drive_is_not_read_to_its_end(make: Make) -> None:
    lab = make(size_bytes=256 * MIB)
    workload = lab.start()
    lab.drive.unreadable = set(range(0, 16 * MIB, 4096))
    lab.run(workload)
    assert lab.value("read", "app_read_bytes") == 0
    failed = lab.value("read", "unreadable_bytes")
    assert failed is not None
    assert HOPELESS_BYTES < failed < 2 * HOPELESS_BYTES
    assert not lab.stored["read-01"].results
    assert "left out" in lab.stored["read-01"].notes[0]
    assert "not all of it was read" in lab.stored["read"].notes[0]


@pytest.mark.slow
@pytest.mark.parametrize("recovers", [False, True])
def test_a_part_that_was_hopeless_and_never_stored_is_done_again(
    make: Make, *, recovers: bool
) -> None:
    lab = make(size_bytes=256 * MIB)
    workload = lab.start()
    lab.drive.unreadable = set(range(0, 16 * MIB, 4096))
    lab.run(workload, until="read-01")
    del lab.stored["read-00"]  # power went before it was committed
    if recovers:
        lab.drive.unreadable.clear()
    lab.run(lab.start())
    if recovers:
        assert lab.value("read", "app_read_bytes") == lab.drive.size_bytes
        assert lab.ranges("read") == []
        assert lab.stored["read"].notes == ()
    else:
        assert any("abandoned" in note for note in lab.stored["read-00"].notes)
        failed = lab.value("read-00", "unreadable_bytes")
        assert failed == sum(each.size_bytes for each in lab.ranges("read"))
        assert failed == lab.value("read", "unreadable_bytes")
        assert "left out" in lab.stored["read-01"].notes[0]


def test_a_drive_that_takes_nothing_fails_the_step(make: Make) -> None:
    lab = make(size_bytes=256 * MIB)
    workload = lab.start()
    lab.drive.unwritable = True
    with pytest.raises(StepFailedError, match="does not accept what is written to it"):
        lab.run(workload)


@pytest.mark.parametrize(
    ("trouble", "said", "blame"),
    [("gone", "disappeared", "drive"), ("no_memory", "too little RAM", "other")],
)
def test_what_ends_the_step_says_whose_fault_it_is(
    make: Make, trouble: str, said: str, blame: str
) -> None:
    lab = make()
    workload = lab.start()
    lab.run(workload, until="read-03")
    setattr(lab.drive, trouble, True)
    with pytest.raises(StepFailedError, match=said) as failed:
        lab.run(workload)
    assert failed.value.blame == blame


def test_an_interruption_repeats_its_part_only_and_sums_stay_right(make: Make) -> None:
    lab = make()
    lab.run(lab.start(), until="write-07")
    written = lab.drive.write_bytes
    lab.run(lab.start(), until="read-05")
    assert lab.drive.write_bytes == lab.drive.size_bytes
    assert written < lab.drive.size_bytes
    lab.run(lab.start())
    assert lab.drive.write_bytes == lab.drive.size_bytes
    looks_bytes = 2 * 4096  # after each interruption, whether it is the same disk
    assert lab.drive.read_bytes == lab.drive.size_bytes + looks_bytes
    assert lab.value("write", "app_write_bytes") == lab.drive.size_bytes
    assert lab.value("read", "mismatch_bytes") == 0


def test_without_its_memory_a_step_does_not_guess(make: Make, tmp_path: Path) -> None:
    lab = make()
    lab.run(lab.start(), until="read-00")
    (tmp_path / "verify.json").unlink()
    with pytest.raises(StepFailedError, match="is gone") as failed:
        lab.run(lab.start())
    assert failed.value.blame == "other"


@pytest.mark.parametrize("name", ["run_id", "done_bytes", "wrong_bytes", "failed_bytes", "seconds"])
def test_a_bit_that_turned_in_its_memory_blames_no_drive_and_gives_no_figure(
    make: Make, tmp_path: Path, name: str
) -> None:
    lab = make()
    lab.run(lab.start(), until="read-03")
    memory = tmp_path / "verify.json"
    text = memory.read_text()
    at = text.index(f'"{name}": ') + len(name) + 4
    turned = chr(ord(text[at]) ^ 1)
    memory.write_text(text[:at] + turned + text[at + 1 :])
    stored = dict(lab.stored)
    with pytest.raises(StepFailedError, match="damaged") as failed:
        lab.run(lab.start())
    assert failed.value.blame == "other"
    assert lab.stored == stored


def test_more_than_the_drive_has_is_refused_before_anything_is_written(make: Make) -> None:
    lab = make(plan(size_bytes=64 * MIB))
    with pytest.raises(StepFailedError, match="the drive has") as failed:
        lab.start()
    assert failed.value.blame == "other"
    assert lab.drive.log == []


def test_a_stop_ends_it_in_the_middle(make: Make) -> None:
    class StoppedError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StoppedError

    lab = make(size_bytes=128 * MIB)
    workload = lab.start()
    with pytest.raises(StoppedError):
        workload.run_part(replace(lab.bench, progress=stop), "write-00", finished={})


def test_another_disk_behind_the_same_serial_is_not_written_on(make: Make) -> None:
    lab = make()
    lab.run(lab.start(), until="write-04")
    foreign = bytes(range(256)) * (len(lab.drive.data) // 256)
    lab.drive.data[:] = foreign + bytes(len(lab.drive.data) - len(foreign))
    before = bytes(lab.drive.data)
    with pytest.raises(RefusedError, match="carries nothing that this step has written") as refused:
        lab.run(lab.start())
    assert refused.value.blame == "drive"
    assert lab.drive.data == before


def test_a_disk_that_has_kept_some_of_it_is_gone_on_with(make: Make) -> None:
    lab = make()
    lab.run(lab.start(), until="write-04")
    lab.drive.data[: 2 * MIB] = bytes(2 * MIB)
    lab.run(lab.start())
    assert lab.value("read", "mismatch_bytes") == 2 * MIB


def test_the_power_goes_before_the_first_cold_part_alone() -> None:
    assert VerifyWorkload(plan(power_cycle=True)).cold_parts == {"read-cold-00"}
    assert VerifyWorkload(plan()).cold_parts == frozenset()
    assert not any("cold" in part for part in VerifyWorkload(plan()).parts)


@pytest.mark.parametrize("size_bytes", [0, 4 * MIB])
def test_an_honest_drive_keeps_what_was_flushed_last(make: Make, size_bytes: int) -> None:
    lab = make(plan(power_cycle=True, size_bytes=size_bytes))
    workload = lab.start()
    lab.run(workload, until="read-cold-00")
    calls = len(lab.drive.log)
    workload.write_last(lab.bench)
    assert lab.drive.log[-1][0] == "flush"
    assert len(lab.drive.log) - calls > 32
    lab.state = "power-cycled, abrupt"
    lab.run(lab.start())
    assert lab.ranges("read-cold") == []
    assert lab.value("read-cold", "mismatch_bytes") == 0
    assert lab.value("read-cold", "app_read_bytes") == lab.value("write", "app_write_bytes")
    assert {result.cache.drive_state for result in lab.stored["read-cold"].results} == {
        "power-cycled, abrupt"
    }


def test_a_flush_that_lied_shows_after_the_power_off(make: Make) -> None:
    lab = make(plan(power_cycle=True))
    workload = lab.start()
    lab.run(workload, until="read-cold-00")
    kept = bytes(lab.drive.data)
    workload.write_last(lab.bench)
    lab.drive.data[:] = kept
    lab.drive.data[7 * MIB : 7 * MIB + 65536] = bytes(65536)
    lab.run(lab.start())
    found = lab.ranges("read-cold")
    assert {each.kind for each in found} == {"lost"}
    zeros = [each for each in found if each.detail == "zeros"]
    assert [(each.first_byte, each.size_bytes) for each in zeros] == [(7 * MIB, 65536)]
    old = [each for each in found if each.detail != "zeros"]
    assert {each.detail for each in old} == {"what was there before the last write is there"}
    assert lab.value("read", "mismatch_bytes") == 0


@pytest.mark.parametrize(
    ("guid", "kind"),
    [(make_table_uuid(), "lost"), ("0c5a6a2e-7a30-4d25-8a2b-3f3e8b3b9d11", "mismatch")],
    ids=["ours", "foreign"],
)
def test_the_mark_from_before_the_step_is_there_again(make: Make, guid: str, kind: str) -> None:
    """The copy of its table is in the drive's last sector."""
    lab = make(plan(power_cycle=True))
    workload = lab.start()
    lab.run(workload, until="read-cold-00")
    workload.write_last(lab.bench)
    header = b"EFI PART" + bytes(48) + UUID(guid).bytes_le
    lab.drive.data[-512:] = header.ljust(512, b"\0")
    lab.run(lab.start())
    (found,) = lab.ranges("read-cold")
    assert (found.kind, found.size_bytes) == (kind, 512)
    assert found.first_byte == len(lab.drive.data) - 512


def test_a_last_write_that_may_not_have_been_made_is_lost_only_the_second_time(make: Make) -> None:
    """Mains power goes while the stick is released, seconds before it."""
    lab = make(plan(power_cycle=True))
    lab.run(lab.start(), until="read-cold-00")
    workload = lab.start()
    said = workload.doubt_power_off(lab.bench)
    assert "the last write was not on the drive" in said
    assert lab.start().doubt_power_off(lab.bench) == said
    workload.believe_next_power_off(lab.bench)
    workload.write_last(lab.bench)
    workload = lab.start()
    assert workload.doubt_power_off(lab.bench) == ""
    lab.run(workload)
    assert lab.ranges("read-cold") == []
    assert lab.value("read-cold", "mismatch_bytes") == 0
    assert lab.stored["read-cold-00"].notes == (), "it was noted when it was doubted"


@pytest.mark.parametrize("kept_blocks", [0, 20])
def test_a_drive_that_loses_it_twice_has_lost_it(make: Make, kept_blocks: int) -> None:
    lab = make(plan(power_cycle=True))
    lab.run(lab.start(), until="read-cold-00")
    before = bytes(lab.drive.data)

    def lose() -> int:
        calls = len(lab.drive.log)
        lab.start().write_last(lab.bench)
        written = [at for name, at, _ in lab.drive.log[calls:] if name == "write"]
        for at in written[kept_blocks:]:
            lab.drive.data[at : at + 4096] = before[at : at + 4096]
        return (len(written) - kept_blocks) * 4096

    lost = lose()
    workload = lab.start()
    assert workload.doubt_power_off(lab.bench) != ""
    workload.believe_next_power_off(lab.bench)
    assert lose() == lost
    workload = lab.start()
    assert workload.doubt_power_off(lab.bench) == ""
    lab.run(workload)
    assert {each.kind for each in lab.ranges("read-cold")} == {"lost"}
    assert lab.value("read-cold", "mismatch_bytes") == lost


@pytest.mark.parametrize("content", [bytes(4096), b"\xff" * 4096])
def test_what_no_missing_write_leaves_is_believed_at_once(make: Make, content: bytes) -> None:
    lab = make(plan(power_cycle=True))
    workload = lab.start()
    lab.run(workload, until="read-cold-00")
    before = bytes(lab.drive.data)
    workload.write_last(lab.bench)
    at = next(at for name, at, _ in reversed(lab.drive.log) if name == "write")
    lab.drive.data[:] = before
    lab.drive.data[at : at + 4096] = content
    assert lab.start().doubt_power_off(lab.bench) == ""


def test_a_power_off_after_the_last_write_is_not_doubted(make: Make) -> None:
    """Neither for a block that was wrong before it, nor for one that cannot be read."""
    lab = make(plan(power_cycle=True))
    workload = lab.start()
    lab.run(workload, until="read-cold-00")
    workload.write_last(lab.bench)
    lab.drive.unreadable = {next(at for name, at, _ in reversed(lab.drive.log) if name == "write")}
    assert lab.start().doubt_power_off(lab.bench) == ""


def test_a_block_that_was_wrong_before_does_not_hide_that_the_write_is_missing(make: Make) -> None:
    lab = make(plan(power_cycle=True))
    workload = lab.start()
    lab.run(workload, until="read-00")
    at = workload._last_blocks[5].first_byte
    lab.drive.data[at : at + 512] = bytes(512)
    lab.run(workload, until="read-cold-00")
    assert lab.start().doubt_power_off(lab.bench) != ""


def test_what_was_wrong_before_the_power_off_is_not_called_lost(make: Make) -> None:
    lab = make(plan(power_cycle=True))
    workload = lab.start()
    lab.run(workload, until="read-00")
    lab.drive.data[7 * MIB : 7 * MIB + 65536] = bytes(65536)
    lab.run(workload, until="read-cold-00")
    lab.run(lab.start())
    before = [each for each in lab.ranges("read-cold") if each.first_byte == 7 * MIB]
    assert [each.kind for each in before] == ["mismatch"]


def test_one_old_fault_does_not_hide_what_is_lost_around_it(make: Make) -> None:
    lab = make(plan(power_cycle=True))
    workload = lab.start()
    lab.run(workload, until="read-00")
    lab.drive.data[7 * MIB + 4096 : 7 * MIB + 4608] = bytes(512)
    lab.run(workload, until="read-cold-00")
    workload.write_last(lab.bench)
    lab.drive.data[7 * MIB : 8 * MIB] = bytes(MIB)
    lab.run(lab.start())
    assert [
        (each.kind, each.first_byte - 7 * MIB, each.size_bytes, each.detail)
        for each in lab.ranges("read-cold")
    ] == [
        ("lost", 0, 4096, "zeros"),
        ("mismatch", 4096, 512, "zeros, as before"),
        ("lost", 4608, MIB - 4608, "zeros"),
    ]
    assert lab.value("read-cold", "mismatch_bytes") == MIB


def _joined(lab: VerifyBench, phase: str) -> list[tuple[str, int, int, int]]:
    """Ranges over the ends of the stretches, with the distance to where the bytes belong."""
    out: list[tuple[str, int, int, int]] = []
    for each in sorted(lab.ranges(phase), key=lambda found: found.first_byte):
        delta = int(each.detail.rsplit(" ", 1)[1]) - each.first_byte
        if out and out[-1][1] + out[-1][2] == each.first_byte and out[-1][3] == delta:
            kind, first, size, _ = out.pop()
            out.append((kind, first, size + each.size_bytes, delta))
        else:
            out.append((each.kind, each.first_byte, each.size_bytes, delta))
    return out
