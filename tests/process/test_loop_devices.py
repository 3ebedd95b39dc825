# SPDX-License-Identifier: Apache-2.0
"""Loop devices over others, made by the kernel: what it says of them, and that they are seen."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from appliance.drives.loops import find_loops_over, hang_loops, read_loops
from appliance.drives.probe import ask_lsblk
from appliance.drives.unlock import check_not_held
from appliance.errors import RefusedError

_SIZE_BYTES = 4 << 20


def _attach(over: Path, undo: ExitStack) -> Path:
    command = ["losetup", "--find", "--show", str(over)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        # A host may have none to give; tests/image/test_guard.py makes one in the lab.
        pytest.skip(f"no loop device can be had here: {done.stderr.strip()}")
    loop = Path(done.stdout.strip())
    undo.callback(subprocess.run, ["losetup", "--detach", str(loop)], check=True)
    return loop


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A loop device over a file, in a drive's place, and one over that."""
    image = tmp_path / "image"
    image.touch()
    with image.open("r+b") as file:
        file.truncate(_SIZE_BYTES)
    with ExitStack() as undo:
        below = _attach(image, undo)
        yield below, _attach(below, undo)


def test_the_one_above_is_seen_and_named(pair: tuple[Path, Path]) -> None:
    below, above = pair
    loops = read_loops()
    assert below.name not in loops, "its file's file system is mounted, and says so itself"
    assert loops[above.name] == below.name
    assert find_loops_over(below.name) == (above.name,)
    with pytest.raises(RefusedError, match=f"{above.name} is on top of it"):
        check_not_held(str(below))
    check_not_held(str(above))


def test_it_stands_below_what_it_lies_over(pair: tuple[Path, Path]) -> None:
    below, above = pair
    tree = hang_loops(ask_lsblk(), read_loops())
    assert tree.count(f'"kname": "{above.name}"') == 1
    assert tree.index(f'"kname": "{below.name}"') < tree.index(f'"kname": "{above.name}"')
