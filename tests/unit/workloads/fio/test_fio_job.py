# SPDX-License-Identifier: Apache-2.0
"""The text of fio's jobs: who decides an option, and what never gets into one."""

from pathlib import Path

import pytest

from appliance.errors import RefusedError
from appliance.samples.fio_options import buffer_bytes
from appliance.units import show_size
from appliance.workloads.fio.job import (
    FioJob,
    classic_options,
    file_stem,
    layout_options,
    own_size,
    span_of,
    with_defaults,
)

DRIVE = Path("/dev/sdb")


def make_job(*options: tuple[str, str], direct: bool = False) -> FioJob:
    return FioJob(
        name="custom", options=options, target=DRIVE, size_bytes=1 << 20, seed=7, direct=direct
    )


def test_what_the_bench_decides_comes_last() -> None:
    text = make_job(("rw", "randread"), ("size", "8T"), ("bs", "8K")).text()
    assert text == (
        "[custom]\n"
        "rw=randread\n"
        "size=8T\n"
        "bs=8K\n"
        "direct=0\n"
        "invalidate=0\n"
        "lat_percentiles=1\n"
        "fallocate=none\n"
        "allow_file_create=0\n"
        "randseed=7\n"
        "group_reporting=1\n"
        "size=1048576\n"
        "filename=/dev/sdb\n"
    )


def test_writes_through_the_page_cache_end_on_the_drive() -> None:
    assert "end_fsync=1\n" in make_job(("rw", "randrw")).text()
    assert "end_fsync=1\n" not in make_job(("rw", "write"), direct=True).text()
    assert "end_fsync=1\n" not in make_job(("rw", "read")).text()


@pytest.mark.parametrize(
    "option",
    [
        ("filename", "/dev/sda"),
        ("rw", "read\nfilename=/dev/sda"),
        ("bs", "4k\n"),
        ("write_bw_log", "x"),
        ("exec_prerun", "true"),
        ("ioengine", "external:x.so"),
        ("allow_mounted_write", "1"),
    ],
)
def test_an_option_that_is_not_allowed_never_reaches_a_job(option: tuple[str, str]) -> None:
    with pytest.raises(RefusedError, match=r"^fio option ") as refused:
        make_job(option).text()
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("path", ["/mnt/a:b", "/mnt/a;b", "/mnt/#", "/mnt/a b", "/x\n", "relative"])
def test_a_path_that_fio_would_read_otherwise_is_refused(path: str) -> None:
    job = FioJob(name="x", options=(), target=Path(path), size_bytes=1, seed=1)
    with pytest.raises(RefusedError, match="cannot be named in a fio job"):
        job.text()


def test_jobs_that_only_read_are_known() -> None:
    assert make_job().reads_only
    assert make_job(("rw", "randread:8")).reads_only
    assert not make_job(("rw", "readwrite")).reads_only
    assert not make_job(("rw", "randwrite")).reads_only


def test_processes_share_the_file() -> None:
    options, share = classic_options(
        "seq-read", size_bytes=100 << 20, ioengine="psync", iodepth=1, runtime_s=60, numjobs=3
    )
    assert share == 33 << 20
    assert dict(options)["offset_increment"] == str(share)
    assert span_of(options, share) == (0, 99 << 20)


def test_classic_tests_have_their_block_sizes() -> None:
    for test, rw, bs in (("seq-write", "write", "1048576"), ("rand-read", "randread", "4096")):
        options, _ = classic_options(
            "seq-write" if test == "seq-write" else "rand-read",
            size_bytes=1 << 20,
            ioengine="libaio",
            iodepth=32,
            runtime_s=60,
        )
        assert (dict(options)["rw"], dict(options)["bs"]) == (rw, bs)
        assert "numjobs" not in dict(options)


def test_a_layout_leaves_no_end_unwritten() -> None:
    assert dict(layout_options(64 << 20))["bs"] == "1048576"
    assert dict(layout_options((1 << 20) + 4096))["bs"] == "4096"


def test_the_stretch_of_an_own_job_is_known() -> None:
    own = (("offset", "1g"), ("offset_increment", "1M"), ("numjobs", "4"), ("size", "2m"))
    assert own_size(own, 99) == 2 << 20
    assert own_size((), 99) == 99
    assert span_of(own, 2 << 20) == (1 << 30, (1 << 30) + (5 << 20))


def test_own_options_stand_after_the_defaults() -> None:
    assert with_defaults((("iodepth", "4"),), (("iodepth", "1"), ("numjobs", "2"))) == (
        ("numjobs", "2"),
        ("iodepth", "4"),
    )


def test_names() -> None:
    assert [show_size(n) for n in (4096, 64 << 20, 3 << 29, 1 << 40, 1000, 0)] == (
        ["4K", "64M", "1536M", "1T", "1000", "0"]
    )
    assert file_stem("64M/4K/rand-read") == "64M_4K_rand-read"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), 4096),
        ((("bs", "1M"), ("iodepth", "64"), ("numjobs", "4")), 256 << 20),
        ((("bs", "4k,64k"), ("iodepth", "2")), 128 << 10),
        ((("bsrange", "4K-1m"),), 1 << 20),
        ((("bssplit", "4K/60:64K/40:512/"), ("numjobs", "3")), 192 << 10),
    ],
)
def test_buffers_are_as_large_as_the_largest_block(
    options: tuple[tuple[str, str], ...], expected: int
) -> None:
    assert buffer_bytes(options) == expected
