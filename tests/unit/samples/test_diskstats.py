# SPDX-License-Identifier: Apache-2.0
"""Counters of /sys/block/X/stat."""

import pytest

from appliance.samples.diskstats import DiskStats, parse_stat

# Linux 6: four fields for discards since 4.18, two for flushes since 5.5.
NEW = (
    "  424085    35300 23212218   306596   980997   452324 64952544   271494        0   114208"
    "   628311   639696       43 45452576    41800   222234     8420\n"
)
OLD = " ".join(NEW.split()[:11])


@pytest.mark.parametrize("line", [OLD, NEW])
def test_sectors_are_512_bytes(line: str) -> None:
    assert parse_stat(line) == DiskStats(
        read_ios=424085,
        read_bytes=23212218 * 512,
        write_ios=980997,
        write_bytes=64952544 * 512,
        busy_s=114.208,
        wait_s=306.596 + 271.494,
        in_flight=0,
    )


def test_what_an_array_wrote_past_its_cache_is_not_taken_for_nothing() -> None:
    before = DiskStats(0, 0, 0, 512)
    assert parse_stat(NEW, device="bcache0").written_since(before) is None
    assert parse_stat(NEW, device="sda").written_since(before) == 64952544 * 512 - 512


def test_a_drive_no_one_has_read_yet() -> None:
    assert parse_stat(" ".join(["0"] * 17)) == DiskStats(0, 0, 0, 0)
