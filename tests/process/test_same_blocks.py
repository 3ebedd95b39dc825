# SPDX-License-Identifier: Apache-2.0
"""fio itself, asked to move the blocks of an earlier round: the same ones, in the same order."""

import json
from pathlib import Path

import pytest

from appliance.plan.workloads import FioTest
from appliance.run import run
from appliance.workloads.fio.job import FioJob, classic_options

_SIZE_BYTES = 64 << 20


def _read_round(target: Path, test: FioTest, *more: tuple[str, str]) -> tuple[int, list[str]]:
    """How many bytes a round moved, and where, in its order."""
    options, size_bytes = classic_options(
        test, size_bytes=_SIZE_BYTES, ioengine="libaio", iodepth=4, runtime_s=60
    )
    job = FioJob(name="round", options=options + more, target=target, size_bytes=size_bytes, seed=7)
    file, output, log = (target.with_name(name) for name in ("job.fio", "out.json", "log"))
    file.write_text(job.text())
    log.unlink(missing_ok=True)  # fio appends
    words = ("--output-format=json", f"--output={output}", "--readonly", f"--write_iolog={log}")
    run(["fio", *words, str(file)])
    moved = [line.split() for line in log.read_text().splitlines()]
    (done,) = json.loads(output.read_text())["jobs"]
    return done["read"]["io_bytes"], [" ".join(words[2:]) for words in moved if "read" in words]


@pytest.mark.parametrize("test", ["rand-read", "seq-read"])
def test_a_later_round_moves_the_blocks_that_the_first_one_reached(
    tmp_path: Path, test: FioTest
) -> None:
    target = tmp_path / "data"
    with target.open("wb") as file:
        file.truncate(_SIZE_BYTES)
    # Its time ends the first one somewhere.
    moved_bytes, moved = _read_round(target, test, ("runtime", "1"), ("rate", "8M"))
    assert 0 < moved_bytes < _SIZE_BYTES
    again_bytes, again = _read_round(target, test, ("io_size", str(moved_bytes)))
    assert (again_bytes, again) == (moved_bytes, moved)


def test_an_io_size_of_0_is_fios_default(tmp_path: Path) -> None:
    """A job of the user's own may say so: it moves what its `size` says, not all there is."""
    target = tmp_path / "data"
    with target.open("wb") as file:
        file.truncate(2 * _SIZE_BYTES)
    assert _read_round(target, "seq-read", ("io_size", "0")) == _read_round(target, "seq-read")
    assert _read_round(target, "seq-read", ("io_size", "0"))[0] == _SIZE_BYTES
