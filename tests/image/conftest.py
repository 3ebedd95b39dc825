"""Tests of the built image, unmodified, in the lab."""

import shutil
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE, REPO


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.image)


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
