# SPDX-License-Identifier: Apache-2.0
"""The SQL test's folder on the drive: the dump, the database and their manifest.

The manifest says which data the dump holds, what the selects must answer, and how long each phase
took, so that the total survives an interruption. It is written last and as a whole.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from appliance.errors import StepFailedError, blame_of
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.units import format_size
from appliance.workloads.base import Bench
from appliance.workloads.progress_meter import ProgressMeter
from appliance.workloads.raw_files import write_durably
from appliance.workloads.sql.data import (
    DATA_VERSION,
    Answers,
    SqlData,
    data_of_size,
    list_dump_lines,
)
from appliance.workloads.sql.keys import SqlPlan

_FOLDER = "sql"
_SYNC_EVERY_BYTES = 8 << 20
"""How much may wait for the drive: no flush then takes long enough to delay a stop."""
_ROOM = 3.5
"""Data sizes that are needed at once: the dump, the database with its indexes (1.13), and the
journal of wide_update or the sorter's files of select (each 1). Measured with 64 MiB: 3.1."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of the folder's content."""

    version: int
    seed: int
    data_size_bytes: int
    rows: int
    dump_bytes: int
    answers: str
    """The checksum that the selects must lead to."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """What each phase took when it was last run."""


@dataclass(frozen=True, slots=True)
class SqlFolder:
    """Where everything lies."""

    path: Path

    @property
    def dump(self) -> Path:
        """The SQL text to recover from."""
        return self.path / "dump.sql"

    @property
    def database(self) -> Path:
        """The database under test."""
        return self.path / "test.sqlite"

    @property
    def _manifest(self) -> Path:
        return self.path / "manifest.json"

    def read_manifest(self) -> Manifest | None:
        """None where it is missing, or not one of ours."""
        try:
            return Manifest(**json.loads(self._manifest.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write_manifest(self, manifest: Manifest) -> None:
        """Put it in the place of any other, on the drive. Raises StepFailedError."""
        try:
            write_durably(self._manifest, json.dumps(asdict(manifest)))
            sync_path(self.path.parent)
        except OSError as error:
            raise StepFailedError(
                Phrase(
                    N_("{path} cannot be written: {error}"),
                    path=self._manifest,
                    error=error.strerror,
                ),
                blame=blame_of(error),
            ) from error


def prepare_folder(plan: SqlPlan, bench: Bench) -> SqlFolder:
    """The folder with its dump, found or made. Raises StepFailedError."""
    if bench.folder is None:
        raise StepFailedError(
            N_("the SQL test needs a file system on the drive"),
            hint=N_("set filesystem in its workload"),
            blame="other",
        )
    folder = SqlFolder(bench.folder / _FOLDER)
    data = data_of_size(plan.data_size_bytes, plan.seed)
    if _is_ready(folder, plan, data):
        return folder
    watch = ProgressMeter(bench.progress, N_("writing the dump"))
    full = _does_not_fit(plan, bench.size_bytes)
    with watch.on_drive(Phrase(N_("writing the dump on {device}"), device=bench.device), full=full):
        _make_dump(folder, plan, data, watch, free_bytes=bench.size_bytes)
    return folder


def _is_ready(folder: SqlFolder, plan: SqlPlan, data: SqlData) -> bool:
    manifest = folder.read_manifest()
    try:
        return (
            manifest is not None
            and (manifest.version, manifest.seed, manifest.data_size_bytes, manifest.rows)
            == (DATA_VERSION, plan.seed, plan.data_size_bytes, data.rows)
            and folder.dump.stat().st_size == manifest.dump_bytes
        )
    except OSError:
        return False


def _make_dump(
    folder: SqlFolder, plan: SqlPlan, data: SqlData, watch: ProgressMeter, *, free_bytes: int
) -> None:
    if folder.path.exists():
        free_bytes += sum(path.stat().st_blocks * 512 for path in folder.path.iterdir())
    if plan.data_size_bytes * _ROOM > free_bytes:
        raise _does_not_fit(plan, free_bytes)
    shutil.rmtree(folder.path, ignore_errors=True)
    folder.path.mkdir()
    answers = Answers(data)
    done = synced = 0
    with folder.dump.open("w", encoding="ascii", newline="\n") as out:
        for line in list_dump_lines(data, answers):
            done += out.write(line)
            watch.tell(done, plan.data_size_bytes)
            if done - synced > _SYNC_EVERY_BYTES:
                out.flush()
                os.fdatasync(out.fileno())
                synced = done
        out.flush()
        os.fsync(out.fileno())
    folder.write_manifest(
        Manifest(
            version=DATA_VERSION,
            seed=plan.seed,
            data_size_bytes=plan.data_size_bytes,
            rows=data.rows,
            dump_bytes=done,
            answers=answers.checksum(),
        )
    )


def _does_not_fit(plan: SqlPlan, free_bytes: int) -> StepFailedError:
    needed = int(plan.data_size_bytes * _ROOM)
    return StepFailedError(
        Phrase(
            N_(
                "{size} of SQL data need {needed} with their dump and journal; the file system has "
                "{free} free"
            ),
            size=format_size(plan.data_size_bytes),
            needed=format_size(needed),
            free=format_size(free_bytes),
        ),
        hint=N_("choose a smaller data_size"),
        blame="other",
    )
