# SPDX-License-Identifier: Apache-2.0
"""A verify step that is abandoned in the middle of a part: what it had found until then."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.workloads.base import Leftover
from appliance.workloads.verify.io import StretchResult, _Reader
from appliance.workloads.verify.pattern import Extent, Pattern
from tests.unit.workloads.verify.verify_bench import MIB, Make, VerifyBench, bench_maker


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A step on a drive with such traits."""
    return bench_maker(tmp_path, monkeypatch)


class _SkippedError(Exception):
    pass


def _give_up(lab: VerifyBench, part: str) -> Leftover:
    """Skip `part` when all of its requests were answered, and before it knows of that."""
    workload = lab.start()
    lab.run(workload, until=part)

    def skip(*_: object) -> None:
        for thread in threading.enumerate():
            if "(serve)" in thread.name:
                thread.join()
        raise _SkippedError

    finished = {name: len(result.results) for name, result in lab.stored.items()}
    with pytest.raises(_SkippedError):
        workload.run_part(replace(lab.bench, progress=skip), part, finished=finished)
    return workload.give_up_part(lab.bench, part, is_silent=False)


def test_what_a_skipped_stretch_had_found_is_handed_over(make: Make) -> None:
    lab = make()
    lab.run(lab.start(), until="read-00")
    lab.drive.unreadable.add(4096)
    lab.drive.data[8192:12288] = bytes(4096)
    left = _give_up(lab, "read-00")
    assert {(each.kind, each.first_byte, each.size_bytes) for each in left.ranges} == {
        ("unreadable", 4096, 4096),
        ("mismatch", 8192, 4096),
    }
    assert {(each.variant, each.metric, each.value) for each in left.results} == {
        ("read-00", "unreadable_bytes", 4096),
        ("read-00", "mismatch_bytes", 4096),
    }
    assert left.notes[0].startswith("not done to its end: 4 KiB of it gave errors until then")


def test_a_stretch_without_errors_leaves_nothing(make: Make) -> None:
    assert _give_up(make(), "read-00") == Leftover()


def test_nothing_more_is_asked_of_a_bad_place_when_it_is_abandoned(make: Make) -> None:
    """Its errors may take longer than anybody waits for a request."""
    lab = make()
    lab.run(lab.start(), until="read-00")
    lab.drive.unreadable.update(range(0, MIB, 4096))
    found = StretchResult(given_up=True)
    reader = _Reader(3, Pattern(seed=7, run_id=0), {}, found, is_cold=False)
    lab.drive.log.clear()
    reader.read(Extent(0, MIB))
    assert found.failed_bytes == MIB
    assert {each.detail for each in found.ranges} == {
        "Input/output error; not narrowed down: some of it may be readable"
    }
    assert len(found.ranges) <= 2
