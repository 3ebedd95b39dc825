# SPDX-License-Identifier: Apache-2.0
"""The lottery's files: laid out once on the drive's file system, found again at each start.

Must never write to a bare drive, and never read back what it wrote: that would train a hybrid.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from appliance.errors import StepFailedError
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.units import format_size
from appliance.workloads.base import Bench
from appliance.workloads.lottery.draw import LotteryFile, spread_regions
from appliance.workloads.lottery.keys import LotteryPlan
from appliance.workloads.progress_meter import ProgressMeter
from appliance.workloads.raw_files import write_durably

_FOLDER = "lottery"
_MANIFEST = "manifest.json"
_LAYOUT_VERSION = 1
_CHUNK_BYTES = 1 << 20
_SYNC_EVERY_CHUNKS = 8
"""How much may wait for the drive: no flush then takes long enough to delay a stop."""


def prepare_files(plan: LotteryPlan, bench: Bench) -> tuple[LotteryFile, ...]:
    """The files of `plan`: found or laid out on the file system, or regions of the bare drive.

    Raises StepFailedError where they do not fit or the drive fails.
    """
    names = tuple(name for name, _ in plan.tickets)
    if bench.folder is None:
        try:
            return spread_regions(
                names,
                device=Path(bench.device),
                file_bytes=plan.file_size_bytes,
                device_bytes=bench.size_bytes,
            )
        except ValueError as error:
            raise StepFailedError(
                Phrase(
                    N_("the lottery's files do not fit on {device}: {what}"),
                    device=bench.device,
                    what=error.args[0],
                ),
                hint=N_("make file_size smaller"),
                blame="other",
            ) from None
    folder = bench.folder / _FOLDER
    files = tuple(LotteryFile(name, folder / name, plan.file_size_bytes) for name in names)
    manifest = _describe(plan, names)
    if not _is_laid_out(folder, files, manifest):
        watch = ProgressMeter(bench.progress, N_("laying out the lottery's files"))
        full = _does_not_fit(files, bench.size_bytes)
        with watch.on_drive(
            Phrase(N_("laying out the lottery's files on {device}"), device=bench.device), full=full
        ):
            _lay_out(folder, files, manifest, watch, seed=plan.seed, free_bytes=bench.size_bytes)
    return files


def _describe(plan: LotteryPlan, names: Sequence[str]) -> str:
    """What the manifest says when these very files are complete."""
    return json.dumps(
        {
            "version": _LAYOUT_VERSION,
            "seed": plan.seed,
            "file_size_bytes": plan.file_size_bytes,
            "files": sorted(names),
        }
    )


def _is_laid_out(folder: Path, files: Sequence[LotteryFile], wanted: str) -> bool:
    try:
        return (folder / _MANIFEST).read_text() == wanted and all(
            file.path.stat().st_size == file.length for file in files
        )
    except (OSError, UnicodeDecodeError):
        return False


def _lay_out(
    folder: Path,
    files: Sequence[LotteryFile],
    wanted: str,
    watch: ProgressMeter,
    *,
    seed: int,
    free_bytes: int,
) -> None:
    """Write all files; the manifest comes last, so that it never describes half a set.

    In the order of their names, which `first_touch` counts on.
    """
    if folder.exists():
        free_bytes += sum(path.stat().st_blocks * 512 for path in folder.iterdir())
    total = sum(file.length for file in files)
    if total > free_bytes:
        raise _does_not_fit(files, free_bytes)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    done = 0
    for file in sorted(files, key=lambda file: file.name):
        with file.path.open("wb", buffering=0) as out:
            for chunk, start in enumerate(range(0, file.length, _CHUNK_BYTES)):
                watch.tell(done, total)
                size = min(_CHUNK_BYTES, file.length - start)
                # Specified for ever, incompressible, and no two files share a block.
                content = hashlib.shake_128(f"{seed}/{file.name}/{chunk}".encode()).digest(size)
                done += _write_all(out.fileno(), content)
                if chunk % _SYNC_EVERY_CHUNKS == _SYNC_EVERY_CHUNKS - 1:
                    os.fdatasync(out.fileno())
            os.fsync(out.fileno())
    sync_path(folder)
    write_durably(folder / _MANIFEST, wanted)
    sync_path(folder.parent)


def _write_all(fd: int, content: bytes) -> int:
    """write(2) may take less than it was given when the drive fills up."""
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    return len(content)


def _does_not_fit(files: Sequence[LotteryFile], free_bytes: int) -> StepFailedError:
    total = sum(file.length for file in files)
    return StepFailedError(
        Phrase(
            N_(
                "the lottery's {count} files of {size} need {needed}; the file system has {free} "
                "free"
            ),
            count=len(files),
            size=format_size(files[0].length),
            needed=format_size(total),
            free=format_size(free_bytes),
        ),
        hint=N_("make file_size smaller"),
        blame="other",
    )
