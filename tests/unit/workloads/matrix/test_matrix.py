# SPDX-License-Identifier: Apache-2.0
"""Parts of the matrix: caches and ballast, rows, sizes, the file it leaves or removes."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.caches import ballast as ballast_module
from appliance.caches.cachestat import Pages
from appliance.errors import StepFailedError, StickError
from appliance.workloads.base import PartResult
from appliance.workloads.matrix import workload as matrix
from appliance.workloads.matrix.keys import MatrixPlan
from appliance.workloads.matrix.workload import MatrixWorkload
from tests.unit.workloads.fio.fio_bench import FioBench, figures, make_fio_bench, option, total

PLAN = MatrixPlan(
    on=("target",),
    filesystem="xfs",
    file_sizes_bytes=(32 << 20,),
    record_sizes_bytes=(1 << 20,),
    operations=(
        "write",
        "rewrite",
        "read",
        "reread",
        "rand-read",
        "rand-write",
        "backward",
        "stride",
    ),
    free_ram_bytes=0,
    seed=5,
)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FioBench:
    made = make_fio_bench(tmp_path, monkeypatch)

    @contextmanager
    def ballast(free_ram_bytes: int, *, bench: Path | None, progress: object) -> Iterator[int]:
        made.happened.append("ballast up")
        yield 3 << 30
        made.happened.append("ballast down")

    def page_stats(path: Path, *, length: int) -> Pages:
        return Pages(resident_bytes=length)

    monkeypatch.setattr(matrix, "ballast", ballast)
    monkeypatch.setattr(matrix, "page_stats", page_stats)
    monkeypatch.setattr(ballast_module, "_MEMINFO", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemAvailable:  131072 kB\n")
    return made


def run_all(lab: FioBench, plan: MatrixPlan) -> dict[str, PartResult]:
    found: dict[str, PartResult] = {}
    with closing(MatrixWorkload(plan)) as workload:
        workload.prepare(lab.bench)
        for part in workload.parts:
            found[part] = workload.run_part(lab.bench, part, finished=dict.fromkeys(found, 0))
    return found


def test_parts_are_known_from_the_plan_alone() -> None:
    plan = replace(PLAN, record_sizes_bytes=(4096, 64 << 20), operations=("write", "read"))
    assert MatrixWorkload(plan).parts == ("32M/4K/write", "32M/4K/read")
    automatic = replace(plan, file_sizes_bytes=(), record_sizes_bytes=(4096,))
    assert MatrixWorkload(automatic).parts == (
        "0.5x/4K/write",
        "0.5x/4K/read",
        "1x/4K/write",
        "1x/4K/read",
        "2x/4K/write",
        "2x/4K/read",
    )


def test_each_operation_meets_what_its_name_promises(lab: FioBench) -> None:
    run_all(lab, PLAN)
    drop = "drop matrix.dat device"
    assert lab.happened == [
        "fio 32M_1M_write",
        "fio 32M_1M_rewrite",
        *(drop, "fio 32M_1M_read"),
        "fio 32M_1M_reread",
        *(drop, "fio 32M_1M_rand-read"),
        "fio 32M_1M_rand-write",
        *(drop, "fio 32M_1M_backward"),
        *(drop, "fio 32M_1M_stride"),
    ]


def test_operations_in_fios_words(lab: FioBench) -> None:
    run_all(lab, PLAN)
    modes = {
        "write": "write",
        "rewrite": "write",
        "read": "read",
        "reread": "read",
        "rand-read": "randread",
        "rand-write": "randwrite",
        "backward": f"read:-{2 << 20}",
        "stride": f"read:{15 << 20}",
    }
    for operation, mode in modes.items():
        text = lab.job(f"32M_1M_{operation}")
        assert option(text, "rw") == mode
        assert option(text, "bs") == str(1 << 20)
        assert ("runtime=" in text) == (
            operation in {"rand-read", "rand-write", "backward", "stride"}
        )
    assert option(lab.job("32M_1M_stride"), "io_size") == str(2 << 20)
    assert option(lab.job("32M_1M_write"), "allow_file_create") == "1"
    assert option(lab.job("32M_1M_rewrite"), "allow_file_create") == "0"


def test_rows_say_whose_figures_they_are(lab: FioBench) -> None:
    written, read = lab.write_bytes, lab.read_bytes
    found = run_all(lab, PLAN)
    rows = [row for part in found.values() for row in part.results]
    assert {row.metric for row in rows} == {
        "rate_bytes_s",
        "seconds",
        "app_read_bytes",
        "app_write_bytes",
        "device_read_bytes",
        "device_write_bytes",
        "hit_ratio",
    }
    assert total(rows, "device_read_bytes") == lab.read_bytes - read
    assert total(rows, "device_write_bytes") == lab.write_bytes - written
    states = {part: result.results[0].cache for part, result in found.items()}
    assert states["32M/1M/read"].page_cache == "cold"
    assert states["32M/1M/read"].proof == "proven"
    assert states["32M/1M/write"].proof_reason.startswith("the file is new")
    assert states["32M/1M/rewrite"].page_cache == "warm"
    # The captured answer came from the drive: what was resident before does not make it warm.
    assert states["32M/1M/reread"].page_cache == "partial"
    assert states["32M/1M/reread"].proof == "unproven"


def test_a_small_file_is_as_fast_as_its_reads_say(lab: FioBench) -> None:
    """By fio's clock all that is shorter takes a millisecond: RAM seemed as slow as a disk."""
    plan = replace(PLAN, file_sizes_bytes=(16 << 10,), record_sizes_bytes=(4096,))
    lab.answers["read"] = "tiny-read"
    done = run_all(lab, replace(plan, operations=("write", "read", "reread")))["16K/4K/reread"]
    rates = [row.value for row in done.results if row.metric == "rate_bytes_s"]
    (took_s,) = [row.value for row in done.results if row.metric == "seconds"]
    assert took_s < 0.0005
    assert rates == [pytest.approx(16_384 / took_s)]


def test_a_reread_that_ram_answers_is_warm(lab: FioBench) -> None:
    lab.served_share = 0.0
    found = run_all(lab, PLAN)["32M/1M/reread"]
    assert figures(found.results, "32M/1M/reread")["hit_ratio"] == 1
    assert found.results[0].cache.page_cache == "warm"
    assert found.results[0].cache.proof == "proven"


def test_a_reread_after_an_interruption_reads_once_before_it(lab: FioBench) -> None:
    with closing(MatrixWorkload(PLAN)) as interrupted:
        interrupted.prepare(lab.bench)
        interrupted.run_part(lab.bench, "32M/1M/write", finished={})
    lab.happened.clear()
    workload = MatrixWorkload(PLAN)
    workload.prepare(lab.bench)
    workload.run_part(lab.bench, "32M/1M/reread", finished={})
    assert lab.happened == ["warm", "fio 32M_1M_reread"]


def test_a_file_that_no_part_wrote_is_laid_out(lab: FioBench) -> None:
    found = run_all(lab, replace(PLAN, operations=("read", "reread")))
    assert lab.happened[:3] == [
        "fio layout-32M",
        "drop matrix.dat device",
        "fio 32M_1M_read",
    ]
    assert found["32M/1M/read"].notes == (
        "laid out before it, as no write of this size came before",
    )
    assert found["32M/1M/reread"].notes == ()


def test_a_bare_drive_is_laid_out_once_too(lab: FioBench) -> None:
    bench = lab.bare(writable=True)
    for _ in range(2):
        workload = MatrixWorkload(replace(PLAN, operations=("read",)))
        workload.prepare(bench)
        workload.run_part(bench, "32M/1M/read", finished={})
    assert lab.happened == [
        "fio layout-32M",
        *(("drop device", "fio 32M_1M_read") * 2),
    ]


def test_the_ballast_stands_from_the_first_part_to_the_last(lab: FioBench) -> None:
    plan = replace(PLAN, operations=("write", "read"), free_ram_bytes=1 << 30)
    found = run_all(lab, plan)
    assert lab.happened == [
        "ballast up",
        "fio 32M_1M_write",
        "drop matrix.dat device",
        "fio 32M_1M_read",
        "ballast down",
    ]
    assert {row.cache.ballast_bytes for part in found.values() for row in part.results} == {3 << 30}


def test_the_ballast_goes_with_a_part_that_fails(lab: FioBench) -> None:
    lab.answers["write"] = "polluted"
    with pytest.raises(StepFailedError):
        run_all(lab, replace(PLAN, free_ram_bytes=1 << 30))
    assert lab.happened[-1] == "ballast down"


def test_the_ballast_goes_when_preparing_fails(lab: FioBench) -> None:
    plan = replace(PLAN, free_ram_bytes=1 << 30, file_sizes_bytes=(2 << 30,))
    with pytest.raises(StepFailedError, match="a test file of 2G"):
        run_all(lab, plan)
    assert lab.happened == ["ballast up", "ballast down"]


def test_automatic_sizes_follow_free_ram_and_are_kept(lab: FioBench, tmp_path: Path) -> None:
    plan = replace(PLAN, file_sizes_bytes=(), operations=("write",))
    found = run_all(lab, plan)
    sizes = {name: option(lab.job(f"{name}_1M_write"), "size") for name in ("0.5x", "1x", "2x")}
    assert sizes == {"0.5x": str(64 << 20), "1x": str(128 << 20), "2x": str(256 << 20)}
    assert found["2x/1M/write"].notes == ("2x is a file of 256 MiB",)
    (tmp_path / "meminfo").write_text("MemAvailable:  999999 kB\n")
    workload = MatrixWorkload(plan)
    workload.prepare(lab.bench)
    workload.run_part(lab.bench, "2x/1M/write", finished={})
    assert option(lab.job("2x_1M_write"), "size") == str(256 << 20)


def test_automatic_sizes_never_exceed_the_drive_and_say_so(lab: FioBench) -> None:
    lab.bench = replace(lab.bench, size_bytes=100 << 20)
    plan = replace(PLAN, file_sizes_bytes=(), operations=("write",))
    found = run_all(lab, plan)
    assert option(lab.job("2x_1M_write"), "size") == str(95 << 20)
    capped = f"file capped at {95 << 20} bytes, less than twice the free RAM"
    assert found["2x/1M/write"].notes[-1] == capped
    states = {part: result.results[0].cache.drive_state for part, result in found.items()}
    assert states == {
        "0.5x/1M/write": "first step on it",
        "1x/1M/write": f"first step on it; {capped.replace('twice', 'once')}",
        "2x/1M/write": f"first step on it; {capped}",
    }
    workload = MatrixWorkload(plan)
    workload.prepare(lab.bench)  # after an interruption it is still known
    assert workload.run_part(lab.bench, "2x/1M/write", finished={}).notes[-1] == capped


def test_the_file_goes_with_the_last_part(lab: FioBench) -> None:
    assert lab.bench.folder is not None
    file = lab.bench.folder / "matrix.dat"
    plan = replace(PLAN, operations=("write", "read"))
    with closing(MatrixWorkload(plan)) as interrupted:
        interrupted.prepare(lab.bench)
        interrupted.run_part(lab.bench, "32M/1M/write", finished={})
    assert file.exists()
    with closing(MatrixWorkload(plan)) as workload:
        workload.prepare(lab.bench)
        workload.run_part(lab.bench, "32M/1M/read", finished={"32M/1M/write": 5})
        assert file.exists()
    assert not file.exists()


def test_sizes_that_cannot_be_kept_are_the_sticks_trouble(lab: FioBench) -> None:
    bench = replace(lab.bench, raw=lab.bench.raw / "gone")
    with (
        pytest.raises(StickError, match=r"matrix\.json cannot be written"),
        closing(MatrixWorkload(PLAN)) as workload,
    ):
        workload.prepare(bench)


def test_a_drive_that_errs_leaves_a_marked_row(lab: FioBench) -> None:
    lab.answers["read"] = "read-error"
    found = run_all(lab, replace(PLAN, operations=("write", "read")))["32M/1M/read"]
    assert not any(row.valid for row in found.results)
    assert "Input/output error" in found.notes[0]


def test_an_array_rests_before_what_reads(lab: FioBench) -> None:
    lab.on_array().remark = "not clean after 600 s: 12 MiB dirty"
    found = run_all(lab, PLAN)
    drop = "drop matrix.dat device"
    assert lab.happened == [
        "fio 32M_1M_write",
        "fio 32M_1M_rewrite",
        *("array rest", drop, "fio 32M_1M_read"),
        *("array rest", "fio 32M_1M_reread"),
        *("array rest", drop, "fio 32M_1M_rand-read"),
        "fio 32M_1M_rand-write",
        *("array rest", drop, "fio 32M_1M_backward"),
        *("array rest", drop, "fio 32M_1M_stride"),
    ]
    dirty = "array not clean after 600 s: 12 MiB dirty"
    read = found["32M/1M/read"]
    assert dirty in read.notes
    assert read.results[0].cache.drive_state == f"first step on it; {dirty}"
    assert found["32M/1M/rewrite"].results[0].cache.drive_state == "first step on it"
