# SPDX-License-Identifier: Apache-2.0
import json
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.samples.fio_output import (
    FioOutputError,
    find_percentile,
    find_percentiles,
    merge_bins,
    parse_fio,
)

FIXTURES = Path(__file__).parents[2] / "fixtures" / "fio"


def captured(name: str) -> str:
    return (FIXTURES / f"{name}.json").read_text()


def test_a_read_by_two_processes_is_one_figure() -> None:
    found = parse_fio(captured("seq-read"))
    assert found.read.io_bytes == found.io_bytes == 32 << 20
    assert found.read.total_ios == 32
    assert found.write.io_bytes == 0
    assert found.error == 0
    assert found.pollution == ()


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("seq-read", "read"),
        ("rand-read", "read"),
        ("seq-write", "write"),
        ("mixed", "read"),
        ("mixed", "write"),
        ("tiny-read", "read"),
        ("read-error", "read"),
    ],
)
def test_the_histogram_gives_fios_own_percentiles(name: str, way: str) -> None:
    theirs = json.loads(captured(name))["jobs"][0][way]["clat_ns"]["percentile"]
    found = parse_fio(captured(name))
    bins = (found.read if way == "read" else found.write).bins
    assert {key: find_percentile(bins, float(key)) for key in theirs} == theirs


def test_a_run_shorter_than_fios_clock_is_timed_by_its_reads() -> None:
    """16 KiB in less than a millisecond, which fio calls one."""
    theirs = json.loads(captured("tiny-read"))["jobs"][0]["read"]
    read = parse_fio(captured("tiny-read")).read
    assert (read.seconds, read.bw_bytes_s, read.iops) == (0.001, 16_384_000, 4000)
    waited_s = theirs["lat_ns"]["mean"] * 4 / 1e9
    found = read.time_by_waits()
    assert found.seconds == pytest.approx(waited_s)
    assert found.bw_bytes_s == pytest.approx(16_384 / waited_s)
    assert found.iops == pytest.approx(4 / waited_s)


def test_a_run_that_fios_clock_can_time_keeps_its_rate() -> None:
    """Two processes wait at the same time: their waits are longer than the run."""
    read = parse_fio(captured("seq-read")).read
    assert read.time_by_waits() is read
    long = replace(read, seconds=0.011, waited_s=0.008)
    assert long.time_by_waits() is long


def test_reading_and_writing_are_added_up() -> None:
    found = parse_fio(captured("mixed"))
    assert found.read.io_bytes > found.write.io_bytes > 0
    assert found.io_bytes == 8 << 20
    assert found.bw_bytes_s == found.read.bw_bytes_s + found.write.bw_bytes_s
    assert found.iops == found.read.iops + found.write.iops
    assert sum(found.bins.values()) == found.read.total_ios + found.write.total_ios


def test_latency_begins_with_the_submission() -> None:
    # Through the page cache libaio waits while it submits: completion alone took no time.
    read = json.loads(captured("libaio-read"))["jobs"][0]["read"]
    bins = parse_fio(captured("libaio-read")).read.bins
    median_ns = find_percentile(bins, 50)
    assert median_ns == read["lat_ns"]["percentile"]["50.000000"]
    assert median_ns > 50 * read["clat_ns"]["percentile"]["50.000000"]


def test_polluted_output_is_parsed_and_the_pollution_kept() -> None:
    found = parse_fio(captured("polluted"))
    assert found.error == 2
    assert found.io_bytes == 0
    assert found.pollution[0] == "fio: refusing extend of file due to read-only"


def test_what_was_done_before_an_error_is_there() -> None:
    found = parse_fio(captured("read-error"))
    assert found.error == 5
    assert found.read.io_bytes == 20 << 20
    assert found.read.bw_bytes_s > 0
    full = parse_fio(captured("no-space"))
    assert full.error == 28
    assert full.write.io_bytes == 2 << 20


def test_output_without_json_says_so() -> None:
    with pytest.raises(FioOutputError, match="fio wrote no JSON"):
        parse_fio(captured("rate-min"))
    with pytest.raises(FioOutputError, match="fio wrote no JSON"):
        parse_fio("")


def test_output_that_was_cut_off_says_where() -> None:
    with pytest.raises(FioOutputError, match="ends or breaks in line"):
        parse_fio(captured("seq-read")[:2000])


@pytest.mark.parametrize("text", ["{}", '{"jobs": 1}', '{"jobs": [1]}', '{"jobs": [{"read": 1}]}'])
def test_json_of_something_else_is_an_error_of_its_own(text: str) -> None:
    with pytest.raises(FioOutputError, match="not as fio 3 writes it"):
        parse_fio(text)


def test_no_job_is_an_error() -> None:
    with pytest.raises(FioOutputError, match="ran no job"):
        parse_fio('{"jobs": []}')


def test_percentiles_over_runs_come_from_all_ios() -> None:
    merged = merge_bins([{100: 99}, {100: 1, 900: 100}])
    assert find_percentile(merged, 50) == 100
    assert find_percentile(merged, 51) == 900
    assert find_percentile({}, 50) is None


def test_the_long_tail_is_fios_own() -> None:
    theirs = json.loads(captured("rand-read"))["jobs"][0]["read"]["clat_ns"]["percentile"]
    found = find_percentiles(parse_fio(captured("rand-read")).read.bins)
    for metric, key in (("lat_p95_ns", "95.000000"), ("lat_p999_ns", "99.900000")):
        assert found[metric] == theirs[key]


@pytest.mark.parametrize(
    ("count", "tail"),
    [(1, set()), (999, set()), (1000, {"lat_p999_ns"}), (10_000, {"lat_p999_ns", "lat_p9999_ns"})],
)
def test_a_percentile_that_nothing_lies_beyond_is_not_told(count: int, tail: set[str]) -> None:
    always = {"lat_p50_ns", "lat_p95_ns", "lat_p99_ns"}
    assert find_percentiles({100: count}).keys() == always | tail
    assert find_percentiles({}) == {}
