# SPDX-License-Identifier: Apache-2.0
"""Whether a processor was at its limit, from captured counters of a machine with two of them."""

from pathlib import Path

import pytest

from appliance.samples.processor_load import (
    LoadRecorder,
    LoadSample,
    Ticks,
    find_busiest,
    parse_ticks,
)

# One second apart: cpu1 did nothing but work, cpu0 waited for a drive.
BEFORE = """\
cpu  101573 0 21851 182024 2152 0 372 54 0 0
cpu0 50813 0 8533 94281 284 0 56 23 0 0
cpu1 50760 0 13317 87742 1868 0 315 30 0 0
intr 1632755 0 0
ctxt 3290021
"""
AFTER = """\
cpu  101671 0 21853 182064 2212 0 372 54 0 0
cpu0 50813 0 8533 94321 344 0 56 23 0 0
cpu1 50858 0 13319 87743 1868 0 315 30 0 0
intr 1633755 0 0
ctxt 3291021
"""


def test_the_busiest_processor_counts_and_waiting_for_a_drive_is_idle() -> None:
    before, after = parse_ticks(BEFORE), parse_ticks(AFTER)
    assert before["cpu0"] == Ticks(busy=59425, total=153990)
    assert find_busiest(before, after) == pytest.approx(100 / 101)
    assert find_busiest(before, {"cpu0": after["cpu0"]}) == 0


@pytest.mark.parametrize("after", ["", BEFORE, "cpu9 1 1 1 1 1 1 1 1 0 0\n"])
def test_where_nothing_is_told_nothing_is_known(after: str) -> None:
    assert find_busiest(parse_ticks(BEFORE), parse_ticks(after)) is None


def test_intervals_are_recorded_with_their_length(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text(BEFORE)
    recorder = LoadRecorder(stat=stat)
    recorder.begin()
    stat.write_text(AFTER)
    recorder.sample(1.0)
    recorder.sample(1.5)  # the counters stand still: nothing is known of it
    stat.write_text(AFTER.replace("87743", "87843"))
    recorder.sample(2.5)
    assert recorder.take() == (
        LoadSample(1.0, is_full=True),
        LoadSample(1.0, is_full=False),
    )
