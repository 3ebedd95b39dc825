# SPDX-License-Identifier: Apache-2.0
import re

import pytest

from appliance.samples.fio_options import _ALLOWED, ENGINES, check_option


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rw", "randread"),
        ("rw", "read:-8K"),
        ("rw", "randrw"),
        ("bs", "4k"),
        ("bs", "4k,8k"),
        ("bssplit", "4k/60:64k/40"),
        ("random_distribution", "zipf:1.2"),
        ("random_distribution", "zoned:60/10:30/20:10/70"),
        ("numjobs", "1"),
        ("numjobs", "59"),
        ("numjobs", "64"),
        ("iodepth", "1"),
        ("iodepth", "999"),
        ("iodepth", "1009"),
        ("iodepth", "1024"),
        ("bs", "64M"),
        ("bs", "67108864"),
        ("bsrange", "4k-64m"),
        ("bssplit", "4k/:64M/40"),
        ("runtime", "60"),
        ("runtime", "60s"),
        ("cpus_allowed", "0,2-3"),
        ("rate", "10M,5M"),
        ("time_based", "1"),
        ("io_size", "0"),
        ("io_size", "0K"),
    ],
)
def test_what_shapes_the_load_is_allowed(key: str, value: str) -> None:
    assert check_option(key, value) == ""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("numjobs", "0"),
        ("numjobs", "65"),
        ("numjobs", "100"),
        ("iodepth", "0"),
        ("iodepth", "1025"),
        ("iodepth", "2000"),
        ("bs", "65M"),
        ("bs", "67108865"),
        ("bs", "4k,1g"),
        ("bsrange", "4k-1T"),
        ("bssplit", "4k/60:65M/40"),
        ("bssplit", "999999999999999T/"),
    ],
)
def test_what_would_take_all_memory_is_refused(key: str, value: str) -> None:
    """There is a block for each I/O of each job."""
    assert re.match(r"must be .* (to|up to) (64M?|1024)\b", check_option(key, value))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("size", "0"), ("size", "0K")),
        *(("bs", "0"), ("bs", "4k,00"), ("bsrange", "0-4k"), ("bssplit", "0/50:4k/50")),
    ],
)
def test_no_size_is_0_which_fio_takes_for_all_there_is(key: str, value: str) -> None:
    assert re.match(r"must be .*; 0 is none$", check_option(key, value))
    assert check_option("offset", "0") == ""


@pytest.mark.parametrize(
    "key",
    [
        "filename",
        "filename_format",
        "directory",
        "opendir",
        "read_iolog",
        "write_iolog",
        "write_bw_log",
        "write_lat_log",
        "write_hist_log",
        "merge_blktrace_file",
        "replay_redirect",
        "exec_prerun",
        "exec_postrun",
        "include",
        "cgroup",
        "ioscheduler",
        "verify_state_load",
    ],
)
def test_what_names_another_place_is_refused(key: str) -> None:
    assert check_option(key, "1") == (
        "points elsewhere: the bench decides which drive and files fio touches"
    )


@pytest.mark.parametrize(
    "key",
    [
        "",
        "RW",
        "allow_mounted_write",
        "buffer_pattern",
        "dp_scheme",
        "fallocate",
        "hostname",
        "mem",
        "name",
        "profile",
        "rw ",
        "trigger",
        "uid",
        "unlink",
        "x;rw",
        "zonemode",
    ],
)
def test_anything_unknown_is_refused(key: str) -> None:
    assert check_option(key, "1")


@pytest.mark.parametrize(
    "value",
    [
        "1\n",
        "1\nfilename=other",
        "$pagesize",
        "${HOME}",
        "1;x",
        "1#x",
        "1 # x",
        " 1",
        "1\0",
        "(1+1)",
        "1:2",
        "../x",
        "",
        "١",
    ],
)
@pytest.mark.parametrize("key", [*_ALLOWED])
def test_no_value_leaves_its_line_or_is_expanded(key: str, value: str) -> None:
    assert check_option(key, value).startswith("must be ")


@pytest.mark.parametrize("engine", ["external:own.so", "net", "exec", "splice", "null", "sg", ""])
def test_engines_that_do_something_else_are_refused(engine: str) -> None:
    assert check_option("ioengine", engine) == f"must be one of {', '.join(ENGINES)}"


def test_trim_is_not_a_mode() -> None:
    assert check_option("rw", "randtrim").startswith("must be one of ")
    assert check_option("rw", "trimwrite").startswith("must be one of ")


def test_an_option_has_one_name() -> None:
    assert check_option("readwrite", "write") == "is not for a plan: write it as rw"
    assert check_option("blocksize", "4k") == "is not for a plan: write it as bs"
