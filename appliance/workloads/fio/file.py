# SPDX-License-Identifier: Apache-2.0
"""The file, or the range of the bare drive, for fio's tests: laid out once and reused.

A drive learns only from data that stays where it is, so nothing here is written twice.
"""

import json
from contextlib import suppress
from pathlib import Path

from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.units import format_drive_size, show_size
from appliance.workloads.base import Bench
from appliance.workloads.fio.job import FioJob, layout_options
from appliance.workloads.fio.run import FioRun, run_fio
from appliance.workloads.raw_files import keep, write_durably

_LAID_OUT = "laid-out.json"


def find_target(bench: Bench, name: str) -> Path:
    """The file `name` on the file system, or the drive itself."""
    return Path(bench.device) if bench.folder is None else bench.folder / name


def cached_at(bench: Bench, target: Path) -> tuple[Path, ...]:
    """Everything whose pages in RAM could answer for `target`."""
    device = Path(bench.device)
    return (device,) if target == device else (target, device)


def check_fits(bench: Bench, target: Path, end_bytes: int) -> None:
    """Raises StepFailedError when the target cannot take so many bytes."""
    room = bench.size_bytes
    where = bench.device
    if bench.folder is not None:
        where = Phrase(N_("the file system on {device}"), device=bench.device)
        if target.exists():
            room += target.stat().st_blocks * 512  # what the file holds already is its own
    if end_bytes > room:
        raise StepFailedError(
            Phrase(
                N_(
                    "a test file of {size} ({bytes} bytes) does not fit: {device} has room for "
                    "{room} bytes ({free})"
                ),
                size=show_size(end_bytes),
                bytes=end_bytes,
                device=where,
                room=room,
                free=format_drive_size(room),
            ),
            blame="other",
        )


def lay_out(bench: Bench, target: Path, size_bytes: int, *, seed: int) -> None:
    """Fill `target` with `size_bytes`, unless an earlier start has done so.

    A file stays there for later steps; a bare drive is written in each step, because its content is
    unknown. Raises StepFailedError when it does not fit or cannot be written.
    """
    check_fits(bench, target, size_bytes)
    bare = bench.folder is None
    note = bench.raw / _LAID_OUT if bare else target.with_suffix(".json")
    remember = keep if bare else write_durably
    if _laid_out_bytes(note) >= size_bytes and (
        bare or (target.exists() and target.stat().st_size >= size_bytes)
    ):
        return
    if not bare:
        note.unlink(missing_ok=True)
    write_whole(bench, target, size_bytes, seed=seed)
    remember(note, json.dumps({"size_bytes": size_bytes}))


def write_whole(bench: Bench, target: Path, size_bytes: int, *, seed: int) -> FioRun:
    """Write all of it, in order, through to the drive. Raises StepFailedError when that fails."""
    job = FioJob(
        name=f"layout-{show_size(size_bytes)}",
        options=layout_options(size_bytes),
        target=target,
        size_bytes=size_bytes,
        seed=seed,
        creates=bench.folder is not None,
    )
    done = run_fio(bench, job, label=Phrase(N_("Laying out {size}"), size=show_size(size_bytes)))
    if not done.valid:
        raise StepFailedError(done.problem, blame=done.blame)
    return done


def remove_scratch(file: Path) -> None:
    """Make room for the steps that follow."""
    # All is measured: what remains costs room only, and a drive that fails fails the next step.
    with suppress(OSError):
        file.unlink(missing_ok=True)


def _laid_out_bytes(note: Path) -> int:
    try:
        return int(json.loads(note.read_text())["size_bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0
