# SPDX-License-Identifier: Apache-2.0
"""Two builds of one commit are the same image, byte for byte."""

import hashlib
import shutil
import subprocess

import pytest

from tests.lab.campaign import REPO


@pytest.mark.long
def test_two_builds_of_a_commit_are_the_same() -> None:
    folder = REPO / "build/twice"
    shutil.rmtree(folder, ignore_errors=True)
    sums = set()
    try:
        for name in ("one", "two"):
            clone = folder / name
            subprocess.run(["git", "clone", "--quiet", REPO, clone], check=True)
            subprocess.run(["ci/build"], cwd=clone, check=True)
            with (clone / "build/kaltstart.raw").open("rb") as image:
                sums.add(hashlib.file_digest(image, "sha256").hexdigest())
    finally:
        shutil.rmtree(folder)
    assert len(sums) == 1
