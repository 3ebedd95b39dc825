# SPDX-License-Identifier: Apache-2.0
"""What the machine's memory counts of its own errors, in files as the kernel has them."""

from pathlib import Path

import pytest

from appliance.machine.memory_errors import count_growth, describe_growth, read_memory_errors


def _write(sys: Path, controller: str, corrected: str, uncorrected: str) -> None:
    folder = sys / "devices/system/edac/mc" / controller
    folder.mkdir(parents=True)
    (folder / "ce_count").write_text(f"{corrected}\n")
    (folder / "ue_count").write_text(f"{uncorrected}\n")


def test_the_controllers_counts_are_added_up(tmp_path: Path) -> None:
    _write(tmp_path, "mc0", "3", "0")
    _write(tmp_path, "mc1", "4", "1")
    (tmp_path / "devices/system/edac/mc/power").mkdir()
    assert read_memory_errors(tmp_path) == {"memory_corrected": "7", "memory_uncorrected": "1"}


def test_memory_that_does_not_count_says_nothing(tmp_path: Path) -> None:
    assert read_memory_errors(tmp_path) == {}
    _write(tmp_path, "mc0", "", "")
    assert read_memory_errors(tmp_path) == {}


@pytest.mark.parametrize(
    ("values", "growth"),
    [((), 0), (("5",), 0), (("5", "5"), 0), (("5", "7"), 2), (("5", "0"), 0), (("5", "0", "3"), 3)],
)
def test_a_restart_starts_over(values: tuple[str, ...], growth: int) -> None:
    assert count_growth(values) == growth


def test_nothing_is_said_of_memory_without_errors() -> None:
    assert describe_growth(0, 0) == ""
    assert describe_growth(3, 1) == (
        "the machine's memory corrected 3 errors and could not correct 1 error during the campaign"
    )
