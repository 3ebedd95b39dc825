"""The `[[workload]]` tables of a plan as frozen dataclasses. Pure data.

Shapes are checked in `workload_schema`, clashes in `plan_checks`, drives in `plan_conflicts`.
Sizes are bytes, times seconds. An empty `filesystem` is the bare drive.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, override

from appliance.measure.fio_options import READING_MODES
from appliance.units import parse_size

FileSystem = Literal["", "ext4", "xfs", "btrfs"]
FioPageCache = Literal["cold", "warm", "bypass", "bounded"]
FioTest = Literal["seq-read", "seq-write", "rand-read", "rand-write"]
LotteryPass = Literal["cold", "warm", "direct", "mmap", "buffered-app"]
Operation = Literal[
    "write", "rewrite", "read", "reread", "rand-read", "rand-write", "backward", "stride"
]
CacheMode = Literal["writethrough", "writeback", "writearound", "none"]
Distribution = Literal["uniform", "zipf"]
SelftestKind = Literal["short", "long"]

READING_TESTS = frozenset({"seq-read", "rand-read"})
RANDOM_TESTS = frozenset({"rand-read", "rand-write"})
DEFAULT_MAX_ROUNDS = 25
DEFAULT_WARM_UP_ROUNDS = 10
JUDGING_KINDS = frozenset({"surface", "verify", "selftest"})
"""Workloads that are run to judge a drive: where there is none, no page begins with verdicts."""
ARRAY = "array"
"""What a plan and a step's `device` call the array of the cache and the backing drive."""
WRITING_KEYS = frozenset({"filesystem", "tests", "precondition", "options"})
"""The keys of a workload that decide whether it writes: see `does_write`."""


def does_write(
    kind: str,
    *,
    has_files: bool = False,
    tests: Collection[object] = (),
    modes: Collection[str] = (),
    is_preconditioned: bool = False,
) -> bool:
    """Whether a workload writes to what it runs on, so that its drives must be released.

    `has_files`: on a file system, which is made there; `tests` and `modes` are fio's, of the plan's
    own tests and of a job in its options.
    """
    match kind:
        case "surface" | "selftest":
            return False
        case "lottery":
            return has_files
        case "fio" | "sweep":
            is_reading = READING_TESTS.issuperset(tests) and READING_MODES.issuperset(modes)
            return has_files or is_preconditioned or not is_reading
        case _:
            return True


def find_modes(options: Iterable[tuple[str, str]]) -> set[str]:
    """What a job's options say of `rw`, without what follows a colon; fio reads where none does."""
    # HOWTO, "readwrite"; it knows both names.
    return {value.partition(":")[0] for key, value in options if key in {"rw", "readwrite"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workload:
    """What all kinds have."""

    on: tuple[str, ...]
    """Drives' identities, or ARRAY; empty: every target and control drive."""
    filesystem: FileSystem
    kind: str

    @property
    def writes(self) -> bool:
        """Whether the drive must be released."""
        return does_write(self.kind, has_files=bool(self.filesystem))


@dataclass(frozen=True, slots=True, kw_only=True)
class FioPlan(_Workload):
    """The four classic tests, or one job of the person's own."""

    tests: tuple[FioTest, ...]
    size_bytes: int
    """Of the file, or of the stretch of the bare drive; the jobs of a test share it."""
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
    """fio's own options in their order; there are no tests then."""
    modes: tuple[CacheMode, ...] = ()
    """The array's cache modes in which all tests are done, one after the other, each with a cache
    that was emptied and warmed up; empty: the tests once, in the mode of the plan."""
    warm_up_rounds: int = DEFAULT_WARM_UP_ROUNDS
    """How often at most the warm-up of a mode reads the whole file."""

    kind: Literal["fio"] = "fio"

    @property
    @override
    def writes(self) -> bool:
        """Whether the drive must be released."""
        return does_write(
            self.kind,
            has_files=bool(self.filesystem),
            tests=self.tests,
            modes=self.own_modes,
            is_preconditioned=self.precondition > 0,
        )

    @property
    def own_modes(self) -> set[str]:
        """How the person's own job goes about it."""
        return find_modes(self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class LotteryPlan(_Workload):
    """Files drawn by tickets without replacement."""

    file_size_bytes: int
    tickets: tuple[tuple[str, int], ...]
    """File name and how many tickets it is on."""
    passes: tuple[LotteryPass, ...]
    repeat: int
    seed: int

    kind: Literal["lottery"] = "lottery"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPlan(_Workload):
    """File sizes × record sizes × operations, through the page cache."""

    file_sizes_bytes: tuple[int, ...]
    """Empty: three sizes up to twice the RAM that the ballast leaves free."""
    record_sizes_bytes: tuple[int, ...]
    operations: tuple[Operation, ...]
    free_ram_bytes: int
    """0: no ballast."""
    seed: int

    kind: Literal["matrix"] = "matrix"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan(_Workload):
    """Working sets from a part of a cache's size to a multiple of it."""

    cache_size_bytes: int = 0
    """What the sets are meant to be compared with; 0: not said."""
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
    @override
    def writes(self) -> bool:
        """Whether the drive must be released."""
        return does_write(self.kind, has_files=bool(self.filesystem), tests=self.tests)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlPlan(_Workload):
    """Five timed phases of a database on the drive's file system."""

    data_size_bytes: int
    free_ram_bytes: int
    """0: half of the data's size but 256 MiB at least; no ballast where the machine has less."""
    seed: int

    kind: Literal["sql"] = "sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class BareDrivePlan(_Workload):
    """What goes past every file system."""

    filesystem: FileSystem = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfacePlan(BareDrivePlan):
    """The drive is read from end to end, or a sample of it, and nothing else."""

    sample: float
    """How much of the drive is read, 0 < sample <= 1; less than 1: chunks drawn in each slice."""
    max_unreadable_bytes: int
    """More than this is a hopeless drive: the step ends there."""
    seed: int

    kind: Literal["surface"] = "surface"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyPlan(BareDrivePlan):
    """A seeded pattern is written and read back."""

    size_bytes: int
    """How much is written, spread over the whole drive; 0: all of it."""
    power_cycle: bool
    """Whether it is read once more after a power-off."""
    seed: int

    kind: Literal["verify"] = "verify"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelftestPlan(BareDrivePlan):
    """The drive tests itself."""

    test: SelftestKind

    kind: Literal["selftest"] = "selftest"


WorkloadPlan = (
    FioPlan
    | LotteryPlan
    | MatrixPlan
    | SweepPlan
    | SqlPlan
    | SurfacePlan
    | VerifyPlan
    | SelftestPlan
)

# Smaller ones are refused by mkfs.xfs and mkfs.btrfs of Debian 13, the latter naming its minimum.
_SMALLEST_BYTES = {"": 0, "ext4": 0, "xfs": 300 << 20, "btrfs": 109 << 20}


def needed_bytes(workload: WorkloadPlan, *, others_bytes: int = 0) -> int:
    """What `workload` takes of a drive, file system included; 0 where that shows at run time.

    `others_bytes` is what lies on that file system already.
    """
    size_bytes = data_bytes(workload) + others_bytes
    if not workload.filesystem:
        return size_bytes
    return max(size_bytes + size_bytes // 10 + (64 << 20), _SMALLEST_BYTES[workload.filesystem])


def data_bytes(workload: WorkloadPlan) -> int:
    """The files of `workload`, or how far into the bare drive it reaches."""
    size_bytes = 0
    match workload:
        case FioPlan():
            size_bytes = _fio_bytes(workload)
        case LotteryPlan():
            size_bytes = workload.file_size_bytes * len(workload.tickets)
        case MatrixPlan():
            size_bytes = max(workload.file_sizes_bytes, default=0)
        case SweepPlan():
            size_bytes = max(workload.set_sizes_bytes, default=0)
        case SqlPlan():
            # The dump, the tables with their indexes, and the journal of the widest update.
            size_bytes = 4 * workload.data_size_bytes
        case VerifyPlan():
            size_bytes = workload.size_bytes
        case SurfacePlan() | SelftestPlan():
            pass
    return size_bytes


def wanted_ram_bytes(workload: WorkloadPlan) -> int:
    """How much RAM `workload` wants free or allowed, not more; 0 where it takes what there is."""
    match workload:
        case FioPlan():
            return workload.memory_max_bytes
        case MatrixPlan() | SqlPlan():
            return workload.free_ram_bytes
        case LotteryPlan() | SweepPlan() | SurfacePlan() | VerifyPlan() | SelftestPlan():
            return 0


def _fio_bytes(plan: FioPlan) -> int:
    """How far into its file or drive the tests reach; fio's own options come first."""
    if not plan.options:
        return plan.size_bytes
    own = dict(plan.options)
    apart_bytes = _own_bytes(own, "offset_increment", 0)
    end_bytes = (
        _own_bytes(own, "offset", 0)
        + apart_bytes * (int(own.get("numjobs", plan.numjobs)) - 1)
        + _own_bytes(own, "size", plan.size_bytes)
    )
    return max(end_bytes, plan.size_bytes if plan.precondition else 0)


def _own_bytes(options: Mapping[str, str], key: str, default: int) -> int:
    """A size in fio's words, which `measure.fio_options` has checked."""
    text = options.get(key, "")
    return parse_size(text.upper()) if text else default
