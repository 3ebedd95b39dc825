# SPDX-License-Identifier: Apache-2.0
"""Tests of the built image, unmodified, in the lab."""

import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE, REPO

_LONGEST_FIRST = (
    "test_demo", "test_boot_entries", "test_arrays", "test_by_hand", "test_fat", "test_verify",
    "test_workloads", "test_power_cuts", "test_ports", "test_models",
    "test_firmware", "test_array_boots", "test_stalled_drives", "test_workload_faults",
    "test_guard", "test_refusals", "test_inspection",
    "test_surface", "test_verdict", "test_drives_live", "test_health",
    "test_hardware_watchdog", "test_boot_faults",
)  # fmt: skip
"""Files of this folder; what is not among them is short.

Each of three processes takes two tests at first, and always has one more than it runs: behind each
of the three longest comes one that boots nothing, so no long one waits there.
"""
_PASSED = pytest.StashKey[bool]()
_BLOCK_BYTES = 512
"""What `st_blocks` counts: stick and drives have holes."""
_LARGEST_KEPT_BYTES = 16 << 20


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.image)
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> tuple[int, int]:
    """A test's place in the order, so that all machines are busy to the end.

    The many short tests outside this folder fill the time in which the last booted one has no other
    beside it.
    """
    if item.get_closest_marker("image") is None:
        return 1, 0
    name = item.path.stem
    return 0, _LONGEST_FIRST.index(name) if name in _LONGEST_FIRST else len(_LONGEST_FIRST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[_PASSED] = report.passed
    return report


@pytest.fixture
def out(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder for this test's logs and pictures, kept until its next run.

    Sticks and drives stay for a test that failed only: all of them together take 10 GB.
    """
    folder: Path = REPO / "build/tests" / request.node.name.replace("[", "-").replace("]", "")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    yield folder
    if request.node.stash.get(_PASSED, False):
        for file in folder.rglob("*"):
            if file.is_file() and file.stat().st_blocks * _BLOCK_BYTES > _LARGEST_KEPT_BYTES:
                file.unlink()


@pytest.fixture(autouse=True)
def _image_is_built() -> None:
    assert IMAGE.exists(), "build/kaltstart.raw is missing: run ci/build"
