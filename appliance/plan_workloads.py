"""The `[[workload]]` tables of a plan as frozen dataclasses. Pure data; shapes are checked in
`workload_schema`, what they mean for the drives that are there in `plan`.

Sizes are bytes, times seconds. An empty `filesystem` is the bare drive.
"""

from dataclasses import dataclass
from typing import Literal

FileSystem = Literal["", "ext4", "xfs", "btrfs"]
FioPageCache = Literal["cold", "warm", "bypass", "bounded"]
FioTest = Literal["seq-read", "seq-write", "rand-read", "rand-write"]
LotteryPass = Literal["cold", "warm", "direct", "mmap", "buffered-app"]
Operation = Literal[
    "write", "rewrite", "read", "reread", "rand-read", "rand-write", "backward", "stride"
]
Distribution = Literal["uniform", "zipf"]

READING_TESTS = frozenset({"seq-read", "rand-read"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FioPlan:
    """The four classic tests, or one job of the person's own."""

    on: str
    filesystem: FileSystem
    tests: tuple[FioTest, ...]
    size_bytes: int
    runtime_s: int
    """The longest a test may take; it ends earlier when each block was visited once."""
    numjobs: int
    iodepth: int
    ioengine: str
    page_cache: FioPageCache
    memory_max_bytes: int
    """MemoryMax of the control group around fio; with page_cache bounded only."""
    precondition: int
    """How often the whole size is overwritten, in sequence, before the first test."""
    steady_state: bool
    """Repeat each test in rounds until SNIA's rules call it steady."""
    max_rounds: int
    seed: int
    options: tuple[tuple[str, str], ...]
    """fio's own options in their order; the tests above are left out then."""

    kind: Literal["fio"] = "fio"

    @property
    def writes(self) -> bool:
        """Whether the drive must be released."""
        reading = {"read", "randread"}
        own_writes = (
            self.options and dict(self.options).get("rw", "read").split(":")[0] not in reading
        )
        return bool(
            self.filesystem
            or self.precondition
            or own_writes
            or (not self.options and set(self.tests) - READING_TESTS)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LotteryPlan:
    """Files drawn by tickets without replacement."""

    on: str
    filesystem: FileSystem
    file_size_bytes: int
    tickets: tuple[tuple[str, int], ...]
    """File name and how many tickets it is on."""
    passes: tuple[LotteryPass, ...]
    repeat: int
    seed: int

    kind: Literal["lottery"] = "lottery"

    @property
    def writes(self) -> bool:
        """Whether the drive must be released."""
        return bool(self.filesystem)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPlan:
    """File sizes × record sizes × operations, through the page cache."""

    on: str
    filesystem: FileSystem
    file_sizes_bytes: tuple[int, ...]
    """Empty: three sizes up to twice the RAM that the ballast leaves free."""
    record_sizes_bytes: tuple[int, ...]
    operations: tuple[Operation, ...]
    free_ram_bytes: int
    """0: no ballast."""
    seed: int

    kind: Literal["matrix"] = "matrix"

    @property
    def writes(self) -> bool:
        """Whether the drive must be released."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """Working sets from a part of a cache's size to a multiple of it."""

    on: str
    filesystem: FileSystem
    set_sizes_bytes: tuple[int, ...]
    tests: tuple[FioTest, ...]
    norandommap: tuple[bool, ...]
    distribution: tuple[Distribution, ...]
    runtime_s: int
    iodepth: int
    ioengine: str
    idle_timeout_s: int
    """How long to wait before each read test for the drive to come to rest."""
    seed: int

    kind: Literal["sweep"] = "sweep"

    @property
    def writes(self) -> bool:
        """Whether the drive must be released."""
        return bool(self.filesystem or set(self.tests) - READING_TESTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlPlan:
    """Five timed phases of a database on the drive's file system."""

    on: str
    filesystem: FileSystem
    data_size_bytes: int
    free_ram_bytes: int
    """0: half of the data's size."""
    seed: int

    kind: Literal["sql"] = "sql"

    @property
    def writes(self) -> bool:
        """Whether the drive must be released."""
        return True


WorkloadPlan = FioPlan | LotteryPlan | MatrixPlan | SweepPlan | SqlPlan
