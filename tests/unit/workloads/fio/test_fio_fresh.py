# SPDX-License-Identifier: Apache-2.0
"""The same writing on a discarded drive and on an overwritten one."""

import errno
from dataclasses import replace

import pytest

from appliance.drives.identity_query import ExchangedError
from appliance.errors import RefusedError, StepFailedError
from appliance.workloads.base import Bench, PartResult
from appliance.workloads.fio import discard, fresh
from appliance.workloads.fio.discard import discard_all
from appliance.workloads.fio.workload import make_workload
from appliance.workloads.idle_wait import Rest
from tests.unit.workloads.fio.fio_bench import FIO_PLAN, FioBench, option, total

PLAN = replace(
    FIO_PLAN,
    filesystem="",
    tests=("seq-write", "rand-write"),
    page_cache="bypass",
    precondition=2,
    fresh_first=True,
)


@pytest.fixture(autouse=True)
def discards(lab: FioBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's part is noted, and tried in tests/process."""

    def discard(bench: Bench) -> None:
        lab.happened.append("discard")

    def rest(bench: Bench, *, timeout_s: float) -> Rest:
        lab.happened.append("rest")
        return Rest(idle=True, waited_s=5)

    monkeypatch.setattr(fresh, "discard_all", discard)
    monkeypatch.setattr(fresh, "wait_idle", rest)


def run_all(lab: FioBench) -> dict[str, PartResult]:
    bench = lab.bare(writable=True)
    workload = make_workload(PLAN)
    workload.prepare(bench)
    return {part: workload.run_part(bench, part, finished={}) for part in workload.parts}


def test_each_fresh_test_begins_on_a_discarded_drive(lab: FioBench) -> None:
    found = run_all(lab)
    assert lab.happened == [
        "discard",
        "rest",
        "fio fresh_seq-write",
        "discard",
        "rest",
        "fio fresh_rand-write",
        "fio precondition_pass-1",
        "fio precondition_pass-2",
        "fio used_seq-write",
        "fio used_rand-write",
    ]
    assert tuple(found) == (
        "fresh/seq-write",
        "fresh/rand-write",
        "precondition",
        "used/seq-write",
        "used/rand-write",
    )


def test_both_runs_differ_in_nothing_but_the_drives_state(lab: FioBench) -> None:
    found = run_all(lab)
    for test in PLAN.tests:
        jobs = [lab.job(f"{mode}_{test}") for mode in ("fresh", "used")]
        for name in ("rw", "bs", "size", "randseed", "direct", "filename"):
            assert option(jobs[0], name) == option(jobs[1], name)
    fresh_state, used_state = (
        found[f"{mode}/rand-write"].results[0].cache.drive_state for mode in ("fresh", "used")
    )
    assert fresh_state == "first step on it; all of it discarded, then idle"
    overwritten = "overwritten 2 times in sequence since it was discarded"
    assert used_state.endswith(f"{overwritten}, then written to by seq-write")
    assert found["used/seq-write"].results[0].cache.drive_state.endswith(overwritten)
    assert used_state.startswith("first step on it; 34 MB of 1.1 GB ")


def test_a_used_test_that_begins_again_tells_that_it_had_written(lab: FioBench) -> None:
    run_all(lab)
    bench = lab.bare(writable=True)
    again = make_workload(PLAN)
    again.prepare(bench)
    states = [
        again.run_part(bench, part, finished={}).results[0].cache.drive_state
        for part in ("fresh/rand-write", "used/seq-write", "used/rand-write")
    ]
    assert states[0].endswith("; all of it discarded, then idle")
    assert states[1].endswith(" discarded, then written to by an interrupted seq-write")
    assert states[2].endswith(" then written to by seq-write and an interrupted rand-write")
    used = run_all(lab)["used/seq-write"]
    assert used.results[0].cache.drive_state.endswith("in sequence since it was discarded")


def test_every_byte_is_counted(lab: FioBench) -> None:
    written = lab.write_bytes
    rows = [row for part in run_all(lab).values() for row in part.results]
    assert total(rows, "device_write_bytes") == lab.write_bytes - written


@pytest.mark.parametrize("is_bare", [True, False])
def test_nothing_is_discarded_on_what_was_not_released_or_has_files(
    lab: FioBench,
    is_bare: bool,  # noqa: FBT001 - a parameter
) -> None:
    with pytest.raises(RefusedError, match="not released for discarding"):
        discard_all(lab.bare(writable=False) if is_bare else lab.bench)


def test_a_disk_that_was_exchanged_meanwhile_is_not_discarded(
    lab: FioBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    discarded: list[object] = []
    monkeypatch.setattr("fcntl.ioctl", lambda *_: discarded.append(_))
    monkeypatch.setattr(discard, "_CHUNK_BYTES", 4096)

    def check() -> None:
        if discarded:
            raise ExchangedError("another drive")

    with pytest.raises(ExchangedError):
        discard_all(replace(lab.bare(writable=True), check_identity=check))
    assert len(discarded) == 1


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.EREMOTEIO])
def test_a_drive_that_refuses_the_command_has_not_failed(
    lab: FioBench, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Many a USB bridge offers UNMAP and refuses it: the kernel says EREMOTEIO."""

    def refuse(*_: object) -> None:
        raise OSError(error, "no")

    monkeypatch.setattr("fcntl.ioctl", refuse)
    with pytest.raises(StepFailedError, match="cannot discard") as caught:
        discard_all(lab.bare(writable=True))
    assert caught.value.blame == "other"
