# SPDX-License-Identifier: Apache-2.0
"""Each test on a file system: the caches it meets, its rows, the layout, and what fails."""

from dataclasses import replace

import pytest

from appliance.caches.page_cache import CacheProof
from appliance.errors import StepFailedError
from appliance.run import Finished
from appliance.workloads.fio import classic as fio
from appliance.workloads.fio.classic import FioWorkload
from appliance.workloads.fio.keys import FioPageCache
from tests.unit.workloads.fio.fio_bench import FIO_PLAN as PLAN
from tests.unit.workloads.fio.fio_bench import FIXTURES, FioBench, figures, option, run_all, total


def test_each_test_meets_a_cache_that_was_dropped_before(lab: FioBench) -> None:
    run_all(lab, PLAN)
    drop = "drop fio.dat device"
    assert lab.happened == [
        "fio layout-32M",
        *(drop, "fio seq-read", drop, "fio seq-write"),
        *(drop, "fio rand-read", drop, "fio rand-write"),
    ]
    for test in PLAN.tests:
        text = lab.job(test)
        assert option(text, "invalidate") == option(text, "direct") == "0"
        assert option(text, "randseed") == "7"
        assert option(text, "filename") == f"{lab.bench.folder}/fio.dat"
    assert option(lab.job("seq-write"), "end_fsync") == "1"


def test_rows_tell_the_drive_from_the_ram(lab: FioBench) -> None:
    rows = run_all(lab, PLAN)["seq-read"].results
    found = figures(rows, "seq-read")
    assert found["app_read_bytes"] == found["device_read_bytes"] == 32 << 20
    assert found["hit_ratio"] == found["device_write_bytes"] == 0
    assert found["lat_p50_ns"] <= found["lat_p99_ns"]
    assert {row.metric for row in rows} == {
        "bw_bytes_s",
        "iops",
        "lat_p50_ns",
        "lat_p95_ns",
        "lat_p99_ns",
        "seconds",
        "app_read_bytes",
        "app_write_bytes",
        "device_read_bytes",
        "device_write_bytes",
        "hit_ratio",
    }
    cache = rows[0].cache
    assert (cache.page_cache, cache.proof, cache.ballast_bytes) == ("cold", "proven", 0)
    assert cache.drive_state == "first step on it"


@pytest.mark.parametrize("page_cache", ["cold", "bypass"])
def test_a_write_that_ram_took_has_no_latency(lab: FioBench, page_cache: FioPageCache) -> None:
    """Each returned from RAM; its rate contains the flush at the end."""
    plan = replace(PLAN, tests=("rand-write",), page_cache=page_cache)
    found = figures(run_all(lab, plan)["rand-write"].results, "rand-write")
    assert "iops" in found
    assert ("lat_p99_ns" in found) is (page_cache == "bypass")
    rounds = run_all(lab, replace(plan, steady_state=True))["rand-write"].results
    assert ("lat_p99_ns" in figures(rounds, "rand-write")) is (page_cache == "bypass")


@pytest.mark.parametrize("sync", ["0", "dsync"])
def test_of_a_mixed_job_only_what_reached_the_drive_has_latencies(lab: FioBench, sync: str) -> None:
    own = (("rw", "randrw"), ("bs", "8K"), ("sync", sync))
    rows = run_all(lab, replace(PLAN, options=own))["custom"].results
    has = {name: "lat_p99_ns" in figures(rows, name) for name in ("custom", "custom/write")}
    assert set(has.values()) == {sync == "dsync"}
    assert "lat_p99_ns" in figures(rows, "custom/read")


def test_a_drive_that_served_little_was_not_read_cold(lab: FioBench) -> None:
    lab.served_share = 0.25
    found = run_all(lab, replace(PLAN, tests=("seq-read",)))["seq-read"]
    assert figures(found.results, "seq-read")["hit_ratio"] == 0.75
    assert found.results[0].cache.page_cache == "partial"
    assert found.results[0].cache.proof == "unproven"
    assert found.notes[0].startswith("page cache unproven: a cold cache was requested")


def test_a_drop_that_left_pages_is_never_called_proven(
    lab: FioBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(targets: object) -> CacheProof:
        return CacheProof(proven=False, reason="4096 bytes remain")

    monkeypatch.setattr(fio, "drop_page_cache", leave)
    found = run_all(lab, replace(PLAN, tests=("seq-read",)))["seq-read"]
    assert {row.cache.proof for row in found.results} == {"unproven"}
    assert "4096 bytes remain" in found.notes[0]


def test_warm_reads_everything_first_and_counts_it_to_no_part(lab: FioBench) -> None:
    lab.served_share = 0.0
    found = run_all(lab, replace(PLAN, page_cache="warm", tests=("seq-read",)))["seq-read"]
    assert lab.happened == ["fio layout-32M", "warm", "fio seq-read"]
    assert figures(found.results, "seq-read")["hit_ratio"] == 1
    assert total(found.results, "device_read_bytes") == 0
    assert found.results[0].cache.page_cache == "warm"
    assert found.results[0].cache.proof == "proven"


def test_bypass_is_o_direct(lab: FioBench) -> None:
    found = run_all(lab, replace(PLAN, page_cache="bypass"))
    assert {row.cache.page_cache for part in found.values() for row in part.results} == {"bypass"}
    assert option(lab.job("rand-write"), "direct") == "1"
    assert "end_fsync" not in lab.job("rand-write")


def test_bounded_puts_fio_into_a_control_group(lab: FioBench) -> None:
    plan = replace(PLAN, page_cache="bounded", memory_max_bytes=64 << 20, tests=("seq-read",))
    found = run_all(lab, plan)["seq-read"]
    assert lab.commands[-1][0] == "systemd-run"
    assert f"--property=MemoryMax={64 << 20}" in lab.commands[-1]
    assert found.results[0].cache.page_cache == "bounded"
    assert lab.happened[-1] == "fio seq-read"
    assert lab.commands[0][0] == "fio"  # the layout is not what is measured


def test_files_are_laid_out_once(lab: FioBench) -> None:
    run_all(lab, PLAN)
    lab.happened.clear()
    FioWorkload(PLAN).prepare(lab.bench)
    FioWorkload(replace(PLAN, size_bytes=16 << 20)).prepare(lab.bench)
    assert lab.happened == []
    FioWorkload(replace(PLAN, size_bytes=64 << 20)).prepare(lab.bench)
    assert lab.happened == ["fio layout-64M"]


def test_a_layout_that_was_interrupted_is_done_again(lab: FioBench) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    lab.during = stop
    with pytest.raises(KeyboardInterrupt):
        FioWorkload(PLAN).prepare(lab.bench)
    lab.during = lambda: None
    FioWorkload(PLAN).prepare(lab.bench)
    assert lab.happened == ["fio layout-32M"] * 2


def test_files_that_do_not_fit_are_named_with_the_figures(lab: FioBench) -> None:
    with pytest.raises(StepFailedError, match=r"test file of 2G \(2147483648 bytes\) does not fit"):
        FioWorkload(replace(PLAN, size_bytes=2 << 30)).prepare(lab.bench)
    own = replace(PLAN, filesystem="", options=(("offset", "1G"), ("size", "4K")))
    with pytest.raises(StepFailedError, match="has room for 1073741824 bytes"):
        FioWorkload(own).prepare(lab.bare(writable=False))
    assert lab.commands == []


def test_what_fio_refuses_fails_in_fios_words(lab: FioBench) -> None:
    stderr = (FIXTURES / "bad-option.stderr").read_text()
    lab.parse_only = Finished((), 1, "", stderr)
    with pytest.raises(StepFailedError, match=r"^fio refuses the job .*: Bad option <iodepht=3>$"):
        run_all(lab, PLAN)
    assert lab.happened == []


def test_buffers_that_do_not_fit_into_ram_are_refused_with_the_figures(lab: FioBench) -> None:
    own = (("rw", "randread"), ("bs", "1M"), ("iodepth", "128"), ("numjobs", "2"))
    FioWorkload(replace(PLAN, options=own)).prepare(lab.bench)
    lab.happened.clear()
    plan = replace(PLAN, precondition=1, options=(*own, ("size", "4M")), numjobs=3)
    FioWorkload(plan).prepare(lab.bench)
    with pytest.raises(StepFailedError, match=r"custom would take 384 MiB .* quarter of .* 1 GiB "):
        FioWorkload(replace(plan, options=(*own[:3], ("numjobs", "3")))).prepare(lab.bench)
    assert lab.happened == []


def test_own_options_are_one_part(lab: FioBench) -> None:
    own = (("rw", "randrw"), ("bs", "8K"), ("size", "8M"), ("numjobs", "2"), ("iodepth", "1"))
    found = run_all(lab, replace(PLAN, options=own))
    assert list(found) == ["custom"]
    text = lab.job("custom")
    assert option(text, "ioengine") == "libaio"
    assert option(text, "runtime") == "60"
    assert option(text, "iodepth") == "1"
    assert option(text, "size") == str(8 << 20)
    rows = found["custom"].results
    assert "lat_p99_ns" in figures(rows, "custom/read")
    assert "iops" in figures(rows, "custom/write")
    assert total(rows, "device_read_bytes") + total(rows, "device_write_bytes") == 8 << 20


def test_a_drive_that_errs_leaves_figures_that_are_not_valid(lab: FioBench) -> None:
    lab.answers["read"] = "read-error"
    found = run_all(lab, replace(PLAN, tests=("seq-read",)))["seq-read"]
    assert figures(found.results, "seq-read")["app_read_bytes"] == 20 << 20
    assert not any(row.valid for row in found.results)
    assert found.notes[0] == (
        "seq-read ended with an error (Input/output error): "
        "io_u error on file drive: Input/output error: read offset=20971520, buflen=65536"
    )
    assert (lab.bench.raw / "seq-read.stderr").exists()


def test_an_fsync_that_failed_is_an_error_although_fio_says_nothing_of_it(
    lab: FioBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = FioWorkload(replace(PLAN, tests=("seq-write",)))
    workload.prepare(lab.bench)
    answer = lab.run_watched

    def fail_fsync(*args: object, **kwargs: object) -> Finished:
        done = answer(*args, **kwargs)  # type: ignore[arg-type] # passed on as it came
        return replace(done, stderr="fio: end_fsync failed for file fio.dat\n")

    monkeypatch.setattr("appliance.workloads.fio.run.run_watched", fail_fsync)
    found = workload.run_part(lab.bench, "seq-write", finished={})
    assert not found.results[0].valid
    assert found.notes[0] == ("seq-write ended with an error: end_fsync failed for file fio.dat")


def test_fio_without_figures_fails_the_step(lab: FioBench) -> None:
    workload = FioWorkload(replace(PLAN, tests=("seq-read",)))
    workload.prepare(lab.bench)
    lab.answers["read"] = "polluted"
    with pytest.raises(StepFailedError, match="moved no byte: refusing extend of file"):
        workload.run_part(lab.bench, "seq-read", finished={})
    lab.answers["read"] = "rate-min"
    with pytest.raises(StepFailedError, match="fio wrote no JSON; minimum rate exceeds rate"):
        workload.run_part(lab.bench, "seq-read", finished={})


def test_a_full_drive_fails_the_layout(lab: FioBench) -> None:
    lab.answers["write"] = "no-space"
    with pytest.raises(StepFailedError, match="No space left on device") as caught:
        FioWorkload(PLAN).prepare(lab.bench)
    assert caught.value.blame == "other"


def test_a_file_system_without_o_direct_is_named(lab: FioBench) -> None:
    plan = replace(PLAN, page_cache="bypass", tests=("seq-read",))
    workload = FioWorkload(plan)
    workload.prepare(lab.bench)
    lab.answers["read"] = "no-direct"
    with pytest.raises(StepFailedError, match="does not support O_DIRECT"):
        workload.run_part(lab.bench, "seq-read", finished={})


def test_progress_is_told_while_fio_runs(lab: FioBench) -> None:
    run_all(lab, replace(PLAN, tests=("seq-read",)))
    assert lab.said == [
        ("Laying out 32M", 0, 32 << 20),
        ("seq-read; seconds", 0, 60),
    ]


def test_the_seed_gives_the_same_job_again(lab: FioBench) -> None:
    run_all(lab, PLAN)
    first = lab.job("rand-read")
    run_all(lab, PLAN)
    assert lab.job("rand-read") == first


def test_an_array_rests_before_what_reads_and_before_the_page_cache_is_set(lab: FioBench) -> None:
    lab.on_array()
    found = run_all(lab, replace(PLAN, precondition=1))
    drop = "drop fio.dat device"
    assert lab.happened == [
        "fio layout-32M",
        *(drop, "fio precondition_pass-1"),
        *("array rest", drop, "fio seq-read", drop, "fio seq-write"),
        *("array rest", drop, "fio rand-read", drop, "fio rand-write"),
    ]
    states = {part: result.results[0].cache.drive_state for part, result in found.items()}
    assert states["rand-read"] == "first step on it; array clean"
    assert states["rand-write"] == "first step on it"


@pytest.mark.parametrize("rw", ["randrw", "read"])
def test_an_array_rests_before_an_own_job_that_reads(lab: FioBench, rw: str) -> None:
    array = lab.on_array()
    array.remark = "not clean after 600 s: 12 MiB dirty"
    found = run_all(lab, replace(PLAN, tests=(), options=(("rw", rw),)))["custom"]
    assert lab.happened[1] == "array rest"
    assert found.results[0].cache.drive_state == (
        "first step on it; array not clean after 600 s: 12 MiB dirty"
    )
    assert found.notes[0] == "array not clean after 600 s: 12 MiB dirty"
