# SPDX-License-Identifier: Apache-2.0
"""The text of fio's job files. Pure.

One job per file. What the bench decides is written last: of options given twice fio takes the
later one. Not so `filename`, which adds a file each time (tried with fio 3.39): another one is kept
out by the list of allowed options alone, which is therefore asked again here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import RefusedError
from appliance.phrases import N_, Phrase
from appliance.plan.workloads import FioTest, find_whole_read_block
from appliance.samples.fio_options import READING_MODES, check_option
from appliance.units import parse_size, printable
from appliance.workloads.fio.keys import SpeedTest

BLOCK_BYTES = 4096
"""Sizes are rounded down to it: what every drive and O_DIRECT can do."""
SEQUENTIAL_BYTES = 1 << 20
RANDOM_BYTES = 4 << 10
# ':' parts file names and ';' and '#' end a line for fio; it has no quotes.
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._+@=-]+")
_MODES: Mapping[FioTest, str] = {
    "seq-read": "read",
    "seq-write": "write",
    "rand-read": "randread",
    "rand-write": "randwrite",
}
_SPEED: Mapping[SpeedTest, tuple[str, int, int]] = {
    "seq1m-q8t1": ("read", SEQUENTIAL_BYTES, 8),
    "seq1m-q1t1": ("read", SEQUENTIAL_BYTES, 1),
    "rnd4k-q32t1": ("randread", RANDOM_BYTES, 32),
    "rnd4k-q1t1": ("randread", RANDOM_BYTES, 1),
}
"""rw, bs, iodepth; the names are those of CrystalDiskMark and KDiskMark."""

Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FioJob:
    """One run of fio on one file or drive."""

    name: str
    options: Options
    """Checked against the list of those that are allowed."""
    target: Path
    size_bytes: int
    """For each of its processes."""
    seed: int
    direct: bool = False
    creates: bool = False
    """Whether the file may be missing."""

    @property
    def reads_only(self) -> bool:
        """Whether fio may be forbidden to write."""
        return mode_of(self.options) in READING_MODES

    @property
    def runtime_s(self) -> int:
        """The longest it may take; 0 where its size ends it."""
        return int(dict(self.options).get("runtime", "0").rstrip("s"))

    def text(self) -> str:
        """The job file. Raises RefusedError when an option is not allowed."""
        for key, value in self.options:
            if problem := check_option(key, value):
                raise RefusedError(
                    Phrase(
                        N_("fio option {key} = {value} {what}"),
                        key=printable(key),
                        value=f"{printable(value)!r}",
                        what=problem,
                    )
                )
        if not _PLAIN_PATH.fullmatch(str(self.target)):
            raise RefusedError(
                Phrase(N_("{path} cannot be named in a fio job"), path=printable(str(self.target)))
            )
        lines = [f"{key}={value}" for key, value in self.options]
        if not self.reads_only and not self.direct:
            # Only what the drive has is written; its time is in fio's figures.
            lines.append("end_fsync=1")
        lines += [
            f"direct={int(self.direct)}",
            # The caches were set and proven before; fio only logs it when it fails to drop.
            "invalidate=0",
            "lat_percentiles=1",
            "fallocate=none",
            f"allow_file_create={int(self.creates)}",
            f"randseed={self.seed}",
            "group_reporting=1",
            f"size={self.size_bytes}",
            f"filename={self.target}",
        ]
        return "\n".join([f"[{file_stem(self.name)}]", *lines, ""])


def mode_of(options: Options) -> str:
    """The job's rw without what follows the colon; reading is fio's default."""
    return dict(options).get("rw", "read").split(":")[0]


def reads(options: Options) -> bool:
    """Whether a job reads, alone or beside its writes."""
    return mode_of(options) not in {"write", "randwrite"}


def classic_options(
    test: FioTest, *, size_bytes: int, ioengine: str, iodepth: int, runtime_s: int, numjobs: int = 1
) -> tuple[Options, int]:
    """One of the four classic tests, and the size for each of its processes.

    They share the file among them, so that it is still visited once.
    """
    sequential = test.startswith("seq-")
    bs = SEQUENTIAL_BYTES if sequential else RANDOM_BYTES
    share = size_bytes // numjobs // bs * bs
    options: Options = (
        ("rw", _MODES[test]),
        ("bs", str(bs)),
        ("ioengine", ioengine),
        ("iodepth", str(iodepth)),
        ("runtime", str(runtime_s)),
    )
    if numjobs > 1:
        options += (("numjobs", str(numjobs)), ("offset_increment", str(share)))
    return options, share


def speed_options(test: SpeedTest, *, runtime_s: int) -> Options:
    """One of the figures that everybody knows: as deep as its name says, whatever the plan has."""
    rw, bs, iodepth = _SPEED[test]
    return (
        ("rw", rw),
        ("bs", str(bs)),
        ("ioengine", "libaio"),
        ("iodepth", str(iodepth)),
        ("runtime", str(runtime_s)),
    )


def layout_options(size_bytes: int) -> Options:
    """Write everything once, in order, with data that no drive can compress or deduplicate."""
    return (
        ("rw", "write"),
        # The largest power of two that divides the size: fio leaves out what is no whole block.
        ("bs", str(min(size_bytes & -size_bytes, SEQUENTIAL_BYTES))),
        ("ioengine", "psync"),
        ("refill_buffers", "1"),
    )


def whole_read_options(size_bytes: int, *, ioengine: str, iodepth: int) -> Options:
    """Read everything once, at random, however long it takes: that warms a cache.

    In blocks as large as can be: a disk reads a file in blocks of 4 KiB a hundred times slower, and
    what is in the cache in the end is the same.
    """
    bs = find_whole_read_block(size_bytes)
    return (("rw", "randread"), ("bs", str(bs)), ("ioengine", ioengine), ("iodepth", str(iodepth)))


def span_of(options: Options, size_bytes: int) -> tuple[int, int]:
    """Where a job of one's own starts and ends, all its processes together, in bytes."""
    values = dict(options)
    start = parse_size(values.get("offset", "0").upper())
    step = parse_size(values.get("offset_increment", "0").upper())
    return start, start + step * (int(values.get("numjobs", "1")) - 1) + size_bytes


def own_size(options: Options, default_bytes: int) -> int:
    """The size that a job of one's own asks for, in bytes, for each of its processes."""
    return parse_size(dict(options).get("size", str(default_bytes)).upper())


def with_defaults(options: Options, defaults: Sequence[tuple[str, str]]) -> Options:
    """`options`, and before them those of `defaults` that they do not set."""
    keys = {key for key, _ in options}
    return (*((key, value) for key, value in defaults if key not in keys), *options)


def file_stem(name: str) -> str:
    """A part's name as a file's: `64M/4K/read` is `64M_4K_read`."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)
