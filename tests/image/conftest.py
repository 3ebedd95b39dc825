"""Tests of the built image, unmodified, in the lab."""

import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE, REPO

_LOCK = REPO / "build/tests.lock"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.image)
    # Those that need the machine for themselves come last: no other one waits for them then.
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    return sum(item.get_closest_marker(name) is not None for name in ("image", "alone"))


@pytest.fixture
def out(request: pytest.FixtureRequest) -> Path:
    """A folder for this test's logs and pictures, kept until its next run."""
    folder: Path = REPO / "build/tests" / request.node.name.replace("[", "-").replace("]", "")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def _image_is_built() -> None:
    assert IMAGE.exists(), "build/kaltstart.raw is missing: run ci/build"


@pytest.fixture(autouse=True)
def _turn_is_come(request: pytest.FixtureRequest, _image_is_built: None) -> Iterator[None]:
    """Other tests may run beside one of these, but for those that are marked `alone`."""
    is_alone = request.node.get_closest_marker("alone") is not None
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH)
        yield
