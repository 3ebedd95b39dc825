# SPDX-License-Identifier: Apache-2.0
"""The reports of the lab's campaign, of one with all workloads and of an array, byte for byte.

After a wanted change run it with KALTSTART_GOLDEN=write in the environment, then look at the page
and at the difference.
"""

import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["report.html", "results.csv", "results.json"])
def test_report_is_as_it_was(report: Path, name: str) -> None:
    _compare(report, name, GOLDEN)


@pytest.mark.parametrize("name", ["report.html", "steps.csv"])
def test_report_of_workloads_is_as_it_was(workloads: Path, name: str) -> None:
    _compare(workloads, name, GOLDEN / "workloads")


@pytest.mark.parametrize("name", ["report.html", "steps.csv"])
def test_report_of_an_array_is_as_it_was(array_report: Path, name: str) -> None:
    _compare(array_report, name, GOLDEN / "array")


@pytest.mark.parametrize("name", ["report.html", "verdicts.html", "verdicts.csv"])
def test_report_of_judged_drives_is_as_it_was(verdicts: Path, name: str) -> None:
    _compare(verdicts, name, GOLDEN / "verdicts")


def _compare(folder: Path, name: str, golden: Path) -> None:
    found = (folder / name).read_bytes()
    if os.environ.get("KALTSTART_GOLDEN") == "write":
        golden.mkdir(exist_ok=True)
        (golden / name).write_bytes(found)
    assert found == (golden / name).read_bytes()
