# SPDX-License-Identifier: Apache-2.0
"""Lists of boot-like reads: the built-in one, and traces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.record_boot import MAX_READ_BYTES
from appliance.samples.read_list import (
    VERSION,
    ReadExtent,
    TraceError,
    make_list,
    parse_extents,
    parse_trace,
)

_GIB = 1 << 30


@given(st.integers(1 << 20, 16 * _GIB), st.integers(256, 4096).map(lambda blocks: blocks * 4096))
def test_the_list_fits_and_reads_no_byte_twice(drive_bytes: int, set_bytes: int) -> None:
    drive_bytes = max(drive_bytes, set_bytes + (1 << 16))
    reads = make_list(drive_bytes=drive_bytes, set_bytes=set_bytes)
    assert reads.size_bytes == set_bytes
    assert reads.end_bytes <= drive_bytes
    for each in reads.extents:
        assert 4096 <= each.length_bytes <= 128 << 10
        assert each.offset_bytes % 4096 == each.length_bytes % 4096 == 0
    ordered = sorted(reads.extents, key=lambda each: each.offset_bytes)
    assert all(first.end_bytes <= second.offset_bytes for first, second in pairwise(ordered))


def test_a_version_of_the_list_never_changes() -> None:
    reads = make_list(drive_bytes=500 * 10**9, set_bytes=256 << 20)
    # A change of the list needs another VERSION, and then another sum here.
    assert (VERSION, reads.version, reads.seed) == (1, 1, 1)
    assert reads.sha256 == SUM
    assert reads == make_list(drive_bytes=4000 * 10**9, set_bytes=256 << 20)
    assert parse_extents(reads.extents_json) == reads.extents
    assert reads.sha256 != make_list(drive_bytes=500 * 10**9, set_bytes=256 << 20, seed=2).sha256


def test_the_list_is_like_a_boot() -> None:
    reads = make_list(drive_bytes=500 * 10**9, set_bytes=256 << 20).extents
    assert 5000 < len(reads) < 9000
    small = sum(each.length_bytes <= 16 << 10 for each in reads)
    assert 0.5 < small / len(reads) < 0.6
    follows = sum(first.end_bytes == second.offset_bytes for first, second in pairwise(reads))
    far = sum(
        abs(first.end_bytes - second.offset_bytes) > _GIB for first, second in pairwise(reads)
    )
    assert 0.7 < follows / len(reads) < 0.85
    assert 0.02 < far / len(reads) < 0.05


def test_a_trace_is_read_in_each_of_its_forms() -> None:
    wanted = (ReadExtent(4096, 8192), ReadExtent(0, 512, 0.25))
    csv = "offset_bytes,length_bytes,wait_s\n# a comment\n\n4096, 8192\n0,512,0.25\n"
    assert parse_trace(csv, name="boot.csv").extents == wanted
    lines = (
        '{"offset_bytes": 4096, "length_bytes": 8192}\n'
        '{"offset_bytes": 0, "length_bytes": 512, "wait_s": 0.25}\n'
    )
    found = parse_trace(lines, name="boot.jsonl")
    assert (found.extents, found.origin, found.version) == (wanted, "boot.jsonl", None)
    assert parse_extents(found.extents_json) == wanted


def test_of_blkparse_the_reads_that_were_given_to_the_drive_are_taken() -> None:
    text = """\
  8,0    1        1     0.000000000   512  Q   R 2048 + 8 [cat]
  8,0    1        2     0.000010000   512  D   R 2048 + 8 [cat]
  8,0    1        3     0.000200000     0  C   R 2048 + 8 [0]
  8,0    0        4     0.000300000   512  D  WS 4096 + 8 [sync]
  8,0    0        5     0.000400000   512  D  RA 4096 + 256 [systemd]
  8,0    0        6     0.000400000   512  P   N [systemd]
CPU0 (sda):
"""
    assert parse_trace(text, name="t").extents == (
        ReadExtent(2048 * 512, 4096),
        ReadExtent(4096 * 512, 131072),
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("4096", "must be offset_bytes,length_bytes or offset_bytes,length_bytes,wait_s"),
        ("-4096,512", "must be offset_bytes,length_bytes or"),
        ("100,512", "must have multiples of 512 bytes"),
        ("0,0", f"must read 1 to {MAX_READ_BYTES} bytes"),
        ("0,33554432", f"must read 1 to {MAX_READ_BYTES} bytes"),
        ("0,512,61", "must wait 0 to 60 seconds"),
        ("0,512,nan", "must wait 0 to 60 seconds"),
        ("0,512,soon", "is no read"),
        ('{"offset_bytes": 0}', "is no read"),
        ('{"offset_bytes": true, "length_bytes": 512}', "must have whole numbers"),
        ('{"offset_bytes": 0, "length_bytes": 512, "x": 1}', 'has the unknown field "x"'),
        ("[" * 100_000, "must be offset_bytes"),
        ('{"a":' * 100_000, "is no read"),
    ],
)
def test_a_bad_line_is_named(line: str, told: str) -> None:
    with pytest.raises(TraceError) as caught:
        parse_trace(f"0,512\n{line}\n0,513\n", name="boot.csv")
    first, second = caught.value.problems
    assert first.startswith("boot.csv, line 2: ")
    assert told in first
    assert second.startswith("boot.csv, line 3: ")


def test_many_bad_lines_are_not_all_named() -> None:
    with pytest.raises(TraceError) as caught:
        parse_trace("x\n" * 1000, name="boot.csv")
    assert len(caught.value.problems) == 21


def test_a_trace_without_a_read_is_none() -> None:
    with pytest.raises(TraceError, match=r"boot\.csv: it has no read in it"):
        parse_trace("offset_bytes,length_bytes\n", name="boot.csv")


SUM = "700c8450505000211b0464dff98fe7d3456d09674052a8c254b5aaf51d04ec82"
