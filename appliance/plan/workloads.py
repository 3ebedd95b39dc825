"""The `[[workload]]` tables of a plan as frozen dataclasses. Pure data.

Each field that is a key of the plan declares all there is to say of it alone; clashes are checked
in `rules`, drives in `machine_rules`. Sizes are bytes, times seconds. An empty `filesystem` is the
bare drive.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args, override

from appliance.samples.fio_options import MAX_JOBS, READING_MODES
from appliance.samples.variants import CacheMode
from appliance.toml.fields import (
    Table,
    each_once,
    either,
    flag,
    key,
    number,
    one_of,
    pairs,
    scalar,
    size,
    table_of,
    text,
    whole,
)
from appliance.units import parse_size

FileSystem = Literal["", "ext4", "xfs", "btrfs"]
FioPageCache = Literal["cold", "warm", "bypass", "bounded"]
FioTest = Literal["seq-read", "seq-write", "rand-read", "rand-write"]
LotteryPass = Literal["cold", "warm", "direct", "mmap", "buffered-app"]
Operation = Literal[
    "write", "rewrite", "read", "reread", "rand-read", "rand-write", "backward", "stride"
]
Distribution = Literal["uniform", "zipf"]
SelftestKind = Literal["short", "long"]

READING_TESTS = frozenset({"seq-read", "rand-read"})
RANDOM_TESTS = frozenset({"rand-read", "rand-write"})
MAX_DRIVES = 16
MAX_TICKETS = 10_000
DEFAULT_MAX_ROUNDS = 25
DEFAULT_WARM_UP_ROUNDS = 10
JUDGING_KINDS = frozenset({"surface", "verify", "selftest"})
"""Workloads that are run to judge a drive: where there is none, no page begins with verdicts."""
ARRAY = "array"
"""What a plan and a step's `device` call the array of the cache and the backing drive."""
WRITING_KEYS = frozenset({"filesystem", "tests", "precondition", "options"})
"""The keys of a workload that decide whether it writes: see its `writes`."""

_MIB = 1 << 20
# Smaller ones are refused by mkfs.xfs and mkfs.btrfs of Debian 13, the latter naming its minimum.
_SMALLEST_BYTES = {"": 0, "ext4": 0, "xfs": 300 << 20, "btrfs": 109 << 20}
# O_DIRECT wants whole logical blocks (open(2), "O_DIRECT"); no drive has larger ones than 4 KiB.
_STEP = "4K"
_LARGEST = "16T"
# What `caches.ballast` leaves free in any case, lest the machine goes down.
SMALLEST_FREE_RAM = "96M"
_TESTS = each_once(one_of(*get_args(FioTest)), "an array of at least one test")
_ON_THE_BARE_DRIVE = 'filesystem = "none"'
_READING_ALONE = 'tests = ["seq-read", "rand-read"]'
_SECONDS = whole(1, 86_400, of="seconds")
_TICKETS = {"a": 4, "b": 6, "c": 8, "d": 10, "e": 12, "f": 24, "g": 18, "h": 10, "i": 6, "j": 2}
_A_PLACE = 'the serial number of one of the plan\'s drives or "array"'


def _kind(name: str) -> Any:  # noqa: ANN401 - the type is the field's
    return key(one_of(name), absent=name, is_required=True)


def _filesystem(default: str, *, bare: bool = True) -> Any:  # noqa: ANN401 - as above
    says = "The file system made on the released drive"
    return key(
        one_of(*(["none"] if bare else []), "ext4", "xfs", "btrfs", meanings={"none": ""}),
        default=default,
        says=f"{says}; none: the bare drive." if bare else f"{says}.",
        brief="made on the drive; or none",
    )


def _tests(says: str) -> Any:  # noqa: ANN401 - as above
    return key(_TESTS, default=[*_TESTS.choices], says=says, brief="in this order")


def _iodepth(default: int) -> Any:  # noqa: ANN401 - as above
    return key(
        whole(1, 1024),
        default=default,
        says="How many I/Os are in flight at once.",
        brief="I/Os in flight",
    )


def _ioengine() -> Any:  # noqa: ANN401 - as above
    return key(
        one_of("io_uring", "libaio", "psync"),
        default="libaio",
        says="How fio submits its I/Os to the kernel.",
        brief="how fio submits its I/Os",
    )


def _free_ram(absent: str) -> Any:  # noqa: ANN401 - as above
    return key(
        size(SMALLEST_FREE_RAM, _LARGEST, "1G"),
        absent=0,
        says=f"RAM is filled until only this much is free. Absent: {absent}.",
        brief="RAM left free by ballast",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workload:
    """What all kinds have."""

    called: ClassVar[str]
    """Its table in a sentence, for people."""

    kind: str
    on: tuple[str, ...] = key(
        each_once(
            text(_A_PLACE, most=256),
            f"{_A_PLACE} as a text in quotes, or several in brackets",
            # Every drive, and the array.
            most=MAX_DRIVES + 1,
            or_one=True,
        ),
        absent=(),
        says="Where it runs, in this order: drives by serial number or WWN, or array. "
        "Absent: every target and control drive.",
        brief="drives by serial, or array",
    )
    """Drives' identities, or ARRAY; empty: every target and control drive."""
    seed: int = key(
        whole(0, 0xFFFF_FFFF),
        default=1,
        says="The same seed gives the same accesses.",
        brief="same seed: same accesses",
    )
    filesystem: FileSystem = ""

    @property
    def writes(self) -> bool:
        """Whether it writes to what it runs on, so that its drives must be released."""
        return True

    @property
    def ways_to_read(self) -> tuple[str, ...]:
        """Keys, as a plan has them, with which it would only read; empty where none would help."""
        return ()

    @property
    def data_bytes(self) -> int:
        """Its files, or how far into the bare drive it reaches; 0: that shows at run time."""
        return 0

    @property
    def wanted_ram_bytes(self) -> int:
        """How much RAM it wants free or allowed, not more; 0 where it takes what there is."""
        return 0

    def needed_bytes(self, *, others_bytes: int = 0) -> int:
        """What it takes of a drive, file system included; 0 where that shows at run time.

        `others_bytes` is what lies on that file system already.
        """
        size_bytes = self.data_bytes + others_bytes
        if not self.filesystem:
            return size_bytes
        return max(size_bytes + size_bytes // 10 + (64 << 20), _SMALLEST_BYTES[self.filesystem])


@dataclass(frozen=True, slots=True, kw_only=True)
class FioPlan(_Workload):
    """The four classic tests, or a job of your own."""

    called: ClassVar = "a fio step"
    kind: Literal["fio"] = _kind("fio")
    filesystem: FileSystem = _filesystem("none")
    tests: tuple[FioTest, ...] = _tests(
        "In their order: 1 MiB blocks in sequence, 4 KiB at random."
    )
    """None where there are options."""
    size_bytes: int = key(
        size("1M", _LARGEST, "1G", step=_STEP),
        default="1G",
        says="How much the tests read and write in total, shared by the jobs: bytes, or a text.",
        brief="read and written in total",
    )
    """Of the file, or of the stretch of the bare drive; the jobs of a test share it."""
    runtime_s: int = key(
        _SECONDS,
        default=60,
        says="The longest a test may take, in seconds.",
        brief="longest time for a test",
    )
    """It ends earlier when each block was visited once."""
    numjobs: int = key(
        whole(1, MAX_JOBS),
        default=1,
        says="Jobs at once, each with its own share of size.",
        brief="jobs at once, sharing size",
    )
    iodepth: int = _iodepth(1)
    ioengine: str = _ioengine()
    page_cache: FioPageCache = key(
        one_of(*get_args(FioPageCache)),
        default="cold",
        says="cold: emptied before each test; warm: filled before it; "
        "bypass: O_DIRECT; bounded: by memory_max.",
        brief="state before each test",
    )
    memory_max_bytes: int = key(
        size("32M", _LARGEST, "256M"),
        absent=0,
        says="The memory, page cache included, that a bounded test may use.",
        brief="RAM of a bounded test",
    )
    """MemoryMax of the control group around fio; with page_cache bounded only."""
    precondition: int = key(
        whole(0, 10),
        default=0,
        says="How many times everything is overwritten before the first test.",
        brief="times overwritten first",
    )
    """In sequence."""
    steady_state: bool = key(
        flag(),
        default=False,
        says="Repeat each test until its last five rounds agree by SNIA's rules.",
        brief="rounds until five agree",
    )
    max_rounds: int = key(
        whole(5, 1000),
        default=DEFAULT_MAX_ROUNDS,
        says="Give up on the steady state after this many rounds.",
        brief="then no steady state",
    )
    modes: tuple[CacheMode, ...] = key(
        each_once(
            one_of("writethrough", "writeback", "writearound"),
            "an array of at least one cache mode",
        ),
        absent=(),
        says="The array's cache modes to compare: all tests run in each, with a cache that "
        "was emptied and warmed up. Absent: the tests run once.",
        brief="compared; only for an array",
    )
    warm_up_rounds: int = key(
        whole(2, 1000),
        name="warm_up",
        default=DEFAULT_WARM_UP_ROUNDS,
        says="How many times a warm-up reads all of size at most before it ends unsettled.",
        brief="times size is read, at most",
    )
    options: tuple[tuple[str, str], ...] = key(
        pairs(
            scalar(),
            'a table of 1 to 64 of fio\'s options such as { rw = "randread", bs = "8K" }',
            most=64,
        ),
        absent=(),
        says="One job in fio's own options, instead of tests.",
        brief="fio's own, instead of tests",
    )
    """In their order."""

    def complete(self) -> "FioPlan":
        """A job of the person's own takes the place of the tests."""
        return replace(self, tests=()) if self.options else self

    @property
    @override
    def writes(self) -> bool:
        """In files, and on the bare drive with any test or job that does."""
        return bool(self.ways_to_read)

    @property
    @override
    def ways_to_read(self) -> tuple[str, ...]:
        """Of a job in fio's own options its mode decides."""
        ways = {
            _ON_THE_BARE_DRIVE: self.filesystem,
            "precondition = 0": self.precondition,
            'rw = "read" or "randread"': self.own_modes - READING_MODES,
            _READING_ALONE: set(self.tests) - READING_TESTS,
        }
        return tuple(way for way, is_needed in ways.items() if is_needed)

    @property
    @override
    def data_bytes(self) -> int:
        """How far into its file or drive the tests reach; fio's own options come first."""
        if not self.options:
            return self.size_bytes
        own = dict(self.options)
        apart_bytes = _own_bytes(own, "offset_increment", 0)
        end_bytes = (
            _own_bytes(own, "offset", 0)
            + apart_bytes * (int(own.get("numjobs", self.numjobs)) - 1)
            + _own_bytes(own, "size", self.size_bytes)
        )
        return max(end_bytes, self.size_bytes if self.precondition else 0)

    @property
    @override
    def wanted_ram_bytes(self) -> int:
        """Of a bounded test."""
        return self.memory_max_bytes

    @property
    def own_modes(self) -> set[str]:
        """What a job's options say of `rw`, without what follows a colon; fio reads without."""
        # HOWTO, "readwrite"; it knows both names.
        modes = (value for key, value in self.options if key in {"rw", "readwrite"})
        return {each.partition(":")[0] for each in modes}


def _own_bytes(options: Mapping[str, str], key: str, default: int) -> int:
    """A size in fio's words, which `measure.fio_options` has checked."""
    text = options.get(key, "")
    return parse_size(text.upper()) if text else default


@dataclass(frozen=True, slots=True, kw_only=True)
class LotteryPlan(_Workload):
    """Tickets are drawn without replacement; the file that each names is read and timed."""

    called: ClassVar = "a lottery"
    kind: Literal["lottery"] = _kind("lottery")
    filesystem: FileSystem = _filesystem("ext4")
    file_size_bytes: int = key(
        size("4K", "1T", "100M", step=_STEP),
        default="100M",
        says="The size of each file: bytes, or a text such as 100M.",
        brief="size of each file",
    )
    tickets: tuple[tuple[str, int], ...] = key(
        pairs(
            whole(1, MAX_TICKETS),
            "a table of at least one file and its tickets such as { a = 4, b = 6 }",
            # Digits alone are the number of a repetition in the rows' names: "cold/2".
            names=text(
                "1 to 32 plain letters, digits, - or _, and not digits alone",
                most=32,
                pattern="^[0-9]*[A-Za-z_-][A-Za-z0-9_-]*$",
            ),
        ),
        default=_TICKETS,
        says="The files, and the number of tickets for each.",
        brief="files and their tickets",
    )
    passes: tuple[LotteryPass, ...] = key(
        each_once(one_of(*get_args(LotteryPass)), "an array of at least one pass"),
        default=["direct", "cold", "warm", "mmap"],
        says="All tickets are drawn once in each pass, in this order.",
        brief="how all tickets are read",
    )
    repeat: int = key(
        whole(1, 100),
        default=1,
        says="How many times all passes run: repeats feed the drive's cache.",
        brief="times all passes run",
    )

    @property
    @override
    def writes(self) -> bool:
        """Its files; of the bare drive it only reads."""
        return bool(self.filesystem)

    @property
    @override
    def ways_to_read(self) -> tuple[str, ...]:
        return (_ON_THE_BARE_DRIVE,) if self.filesystem else ()

    @property
    @override
    def data_bytes(self) -> int:
        return self.file_size_bytes * len(self.tickets)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPlan(_Workload):
    """File sizes × record sizes × operations, through the page cache."""

    called: ClassVar = "a matrix"
    kind: Literal["matrix"] = _kind("matrix")
    filesystem: FileSystem = _filesystem("ext4", bare=False)
    file_sizes_bytes: tuple[int, ...] = key(
        each_once(size("4K", _LARGEST, "1G", step=_STEP), "an array of 1 to 32 sizes", most=32),
        absent=(),
        says="Absent: three sizes up to twice the free RAM.",
        brief="sizes of the files",
    )
    record_sizes_bytes: tuple[int, ...] = key(
        each_once(size(512, "16M", "64K", power_of_two=True), "an array of 1 to 16 sizes", most=16),
        default=["4K", "64K", "1M"],
        says="How much is read or written at a time.",
        brief="read or written at once",
    )
    operations: tuple[Operation, ...] = key(
        each_once(one_of(*get_args(Operation)), "an array of at least one operation"),
        default=[*get_args(Operation)],
        says="The operations on each file in records of each size.",
        brief="operations on each file",
    )
    free_ram_bytes: int = _free_ram("it is not")
    """0: no ballast."""

    @property
    @override
    def data_bytes(self) -> int:
        return max(self.file_sizes_bytes, default=0)

    @property
    @override
    def wanted_ram_bytes(self) -> int:
        return self.free_ram_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan(_Workload):
    """fio's tests on working sets from a part of a cache's size to a multiple of it."""

    NEEDS_ONE: ClassVar = ("cache_size", "set_sizes")
    called: ClassVar = "a sweep"
    kind: Literal["sweep"] = _kind("sweep")
    filesystem: FileSystem = _filesystem("none")
    cache_size_bytes: int = key(
        size("4M", _LARGEST, "8G"),
        absent=0,
        says="The cache's size. Without set_sizes a quarter, half, one and two of it.",
        brief="the cache's size",
    )
    """What the sets are meant to be compared with; 0: not said."""
    set_sizes_bytes: tuple[int, ...] = key(
        each_once(size("1M", _LARGEST, "2G", step=_STEP), "an array of 1 to 64 sizes", most=64),
        absent=(),
        says="The working sets, in this order.",
        brief="working sets in their order",
    )
    tests: tuple[FioTest, ...] = _tests("The tests on each working set.")
    norandommap: tuple[bool, ...] = key(
        each_once(flag(), "[false], [true] or [false, true]"),
        default=[False, True],
        says="false: random tests visit each block once; true: any block, any time.",
        brief="random tests: repeat blocks",
    )
    distribution: tuple[Distribution, ...] = key(
        each_once(one_of(*get_args(Distribution)), 'an array of "uniform", "zipf" or both'),
        default=["uniform"],
        says="Where random tests go: to all blocks equally, or to some more often.",
        brief="where random tests go",
    )
    runtime_s: int = key(
        _SECONDS,
        default=30,
        says="How long each test takes, in seconds.",
        brief="longest time for a test",
    )
    iodepth: int = _iodepth(16)
    ioengine: str = _ioengine()
    idle_timeout_s: int = key(
        whole(0, 86_400, of="seconds"),
        default=120,
        says="Seconds to wait before each read test for the drive to go idle.",
        brief="wait until the drive idles",
    )

    def complete(self) -> "SweepPlan":
        """Without sizes of its own the sets go by the cache's size."""
        if self.set_sizes_bytes or not self.cache_size_bytes:
            return self
        by_cache = (self.cache_size_bytes * each // 4 // _MIB * _MIB for each in (1, 2, 4, 8))
        return replace(self, set_sizes_bytes=tuple(by_cache))

    @property
    @override
    def writes(self) -> bool:
        """In files, and on the bare drive with any test that does."""
        return bool(self.ways_to_read)

    @property
    @override
    def ways_to_read(self) -> tuple[str, ...]:
        ways = {
            _ON_THE_BARE_DRIVE: self.filesystem,
            _READING_ALONE: set(self.tests) - READING_TESTS,
        }
        return tuple(way for way, is_needed in ways.items() if is_needed)

    @property
    @override
    def data_bytes(self) -> int:
        return max(self.set_sizes_bytes, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlPlan(_Workload):
    """Five timed phases of a database larger than the RAM it is allowed."""

    called: ClassVar = "an sql step"
    kind: Literal["sql"] = _kind("sql")
    filesystem: FileSystem = _filesystem("ext4", bare=False)
    data_size_bytes: int = key(
        # The engine needs three thousandths of it in RAM for the answers (`workloads.sql_data`).
        size("16M", "64G", "512M"),
        default="512M",
        says="How much data the dump holds: bytes, or a text such as 512M.",
        brief="size of the database's dump",
    )
    free_ram_bytes: int = _free_ram("half of data_size, at least 256 MiB")
    """0: as for absent; no ballast where the machine has less."""

    @property
    @override
    def data_bytes(self) -> int:
        # The dump, the tables with their indexes, and the journal of the widest update.
        return 4 * self.data_size_bytes

    @property
    @override
    def wanted_ram_bytes(self) -> int:
        return self.free_ram_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfacePlan(_Workload):
    """The drive is read from end to end with O_DIRECT; needs no release."""

    called: ClassVar = "a surface scan"
    kind: Literal["surface"] = _kind("surface")
    sample: float = key(
        number(0.001, 1.0),
        default=1.0,
        says="How much of the drive is read. Below 1.0: random chunks all over it.",
        brief="share of the drive, 1.0: all",
    )
    max_unreadable_bytes: int = key(
        size(0, _LARGEST, "16M"),
        default="16M",
        says="The step ends if more bytes than this are unreadable: the drive is beyond use.",
        brief="more bytes end the step",
    )

    @property
    @override
    def writes(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyPlan(_Workload):
    """A seeded pattern is written, flushed and read back; needs release."""

    called: ClassVar = "a verify step"
    kind: Literal["verify"] = _kind("verify")
    size_bytes: int = key(
        either(
            "all",
            0,
            size("1M", _LARGEST, step=_STEP),
            words='"all", or a size from "1M" to "16T" in steps of 4K such as "10G"',
        ),
        default="all",
        says="How much is written, in pieces over the whole drive; all: every byte.",
        brief="read and written in total",
    )
    """0: all of it."""
    power_cycle: bool = key(
        flag(),
        default=False,
        says="true: read everything again after a power-off.",
        brief="read again after a power-off",
    )

    @property
    @override
    def data_bytes(self) -> int:
        return self.size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SelftestPlan(_Workload):
    """The drive's own self-test; needs no release."""

    called: ClassVar = "a self-test"
    kind: Literal["selftest"] = _kind("selftest")
    test: SelftestKind = key(
        one_of(*get_args(SelftestKind)),
        default="short",
        says="Which of the drive's own tests: minutes or hours.",
        brief="the drive's: minutes, hours",
    )

    @property
    @override
    def writes(self) -> bool:
        return False


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

WORKLOADS: Mapping[str, Table[WorkloadPlan]] = {
    "fio": table_of(FioPlan),
    "lottery": table_of(LotteryPlan),
    "matrix": table_of(MatrixPlan),
    "sweep": table_of(SweepPlan),
    "sql": table_of(SqlPlan),
    "surface": table_of(SurfacePlan),
    "verify": table_of(VerifyPlan),
    "selftest": table_of(SelftestPlan),
}
"""The tables of all kinds."""
