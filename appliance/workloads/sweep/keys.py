# SPDX-License-Identifier: Apache-2.0
"""The keys of a sweep in a plan, and the names of its results. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args, override

from appliance.phrases import N_, Phrase
from appliance.plan.workloads import (
    LARGEST,
    ON_THE_BARE_DRIVE,
    RANDOM_TESTS,
    READING_ALONE,
    READING_TESTS,
    SECONDS,
    STEP,
    Clash,
    Expected,
    FileSystem,
    FioTest,
    WorkloadPlan,
    check_depth,
    classic_buffer_bytes,
    filesystem_key,
    find_whole_read_block,
    iodepth_key,
    ioengine_key,
    kind_key,
    tests_key,
)
from appliance.samples.variants import Variant
from appliance.toml.fields import InRow, each_once, flag, key, one_of, size, whole
from appliance.units import parse_size

Distribution = Literal["uniform", "zipf"]

WARM_UP = "warm-up"
"""Takes the place of a test's name."""
AFTER_INTERRUPTED = ", after an interrupted warm-up of it"
"""Ends the drive's state at a read of a set that was read before, by a part that is not stored."""
_MIB = 1 << 20
_MAX_PARTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepVariant(Variant):
    """A test on a working set."""

    PATTERN: ClassVar = r"(?P<size>[^/]+)/(?P<test>[^/]+)/(?P<access>.+)"
    size: str
    """Of the set: `64M`."""
    test: str
    access: str
    """randommap | norandommap | norandommap/zipf; of a warm-up `reads`, and each of these a number
    from 1."""

    @property
    def set_bytes(self) -> int:
        """0 for what is no size."""
        try:
            return parse_size(self.size)
        except ValueError:
            return 0

    @override
    def __str__(self) -> str:
        return f"{self.size}/{self.test}/{self.access}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan(WorkloadPlan):
    """fio's tests on working sets from a part of a cache's size to a multiple of it."""

    NEEDS_ONE: ClassVar = ("cache_size", "set_sizes")
    called: ClassVar = N_("a sweep")
    label: ClassVar = "Sweep"
    does: ClassVar = "working sets from a quarter to twice a cache"
    variant: ClassVar = SweepVariant
    must_write: ClassVar = False
    writing_keys: ClassVar = frozenset({"filesystem", "tests"})
    kind: Literal["sweep"] = kind_key("sweep")
    filesystem: FileSystem = filesystem_key("none")
    cache_size_bytes: int = key(
        size("4M", LARGEST, "8G"),
        absent=0,
        says="The cache's size. Without set_sizes a quarter, half, one and two of it.",
        brief="the cache's size",
        in_row=InRow(label="Cache size", offered="1G"),
    )
    """What the sets are meant to be compared with; 0: not said."""
    set_sizes_bytes: tuple[int, ...] = key(
        each_once(size("1M", LARGEST, "2G", step=STEP), N_("an array of 1 to 64 sizes"), most=64),
        absent=(),
        says="The working sets, in this order.",
        brief="working sets in their order",
    )
    tests: tuple[FioTest, ...] = tests_key("The tests on each working set.")
    norandommap: tuple[bool, ...] = key(
        each_once(flag(), N_("[false], [true] or [false, true]")),
        default=[False, True],
        says="false: random tests visit each block once; true: any block, any time.",
        brief="random tests: repeat blocks",
    )
    distribution: tuple[Distribution, ...] = key(
        each_once(one_of(*get_args(Distribution)), N_('an array of "uniform", "zipf" or both')),
        default=["uniform"],
        says="Where random tests go: to all blocks equally, or to some more often.",
        brief="where random tests go",
    )
    runtime_s: int = key(
        SECONDS,
        default=30,
        says="How long each test takes, in seconds.",
        brief="longest time for a test",
    )
    iodepth: int = iodepth_key(16)
    ioengine: str = ioengine_key()
    warm_up_reads: int = key(
        whole(0, 1000),
        default=0,
        says="How many times each set is read whole, at random, before its first read test.",
        brief="times each set is read before",
    )
    idle_timeout_s: int = key(
        whole(0, 86_400, of=N_("seconds")),
        default=120,
        says="Seconds to wait before each read test for the drive to go idle.",
        brief="wait until the drive idles",
    )

    def complete(self) -> "SweepPlan":
        """Without sizes of its own the sets go by the cache's size."""
        if self.set_sizes_bytes or not self.cache_size_bytes:
            return self
        by_cache = (
            self.cache_size_bytes * quarters // 4 // _MIB * _MIB for quarters in (1, 2, 4, 8)
        )
        return replace(self, set_sizes_bytes=tuple(by_cache))

    @property
    @override
    def ways_to_read(self) -> tuple[str, ...]:
        """It writes in files, and on the bare drive with any test that does."""
        ways = {
            ON_THE_BARE_DRIVE: self.filesystem,
            READING_ALONE: set(self.tests) - READING_TESTS,
        }
        return tuple(way for way, is_needed in ways.items() if is_needed)

    @property
    @override
    def data_bytes(self) -> int:
        return max(self.set_sizes_bytes, default=0)

    @property
    @override
    def buffer_bytes(self) -> int:
        warmed = self.set_sizes_bytes if self.warm_up_reads else ()
        block_bytes = max(map(find_whole_read_block, warmed), default=0)
        return max(classic_buffer_bytes(self.tests, self.iodepth), block_bytes * self.iodepth)

    @override
    def find_clashes(self, given: frozenset[str]) -> Iterator[Clash]:
        if not set(self.tests) & RANDOM_TESTS:
            for key, value, default in (
                ("norandommap", self.norandommap, (False, True)),
                ("distribution", self.distribution, ("uniform",)),
            ):
                if value != default:
                    yield Clash(
                        ("tests", key), (key,), N_("is only for the tests rand-read and rand-write")
                    )
        if self.warm_up_reads and not set(self.tests) & READING_TESTS:
            yield Clash(
                ("warm_up_reads", "tests"), ("warm_up_reads",), N_("is only for tests that read")
            )
        yield from check_depth(self.ioengine, self.iodepth)
        sizes, tests = len(self.set_sizes_bytes), len(self.tests)
        parts = sizes * tests * len(self.norandommap) * len(self.distribution)
        if parts > _MAX_PARTS:
            yield Clash(
                ("set_sizes", "tests", "norandommap", "distribution"),
                (),
                Phrase(
                    N_(
                        "set_sizes × tests × norandommap × distribution make {count} parts; "
                        "at most {most} are allowed"
                    ),
                    count=parts,
                    most=_MAX_PARTS,
                ),
            )

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        # Each test takes its whole time. A warm-up is as many runs as it reads its set.
        warm_ups = len(self.set_sizes_bytes) if self.warm_up_reads else 0
        runs = parts + warm_ups * (self.warm_up_reads - 1)
        tests_s = float((parts - warm_ups) * self.runtime_s)
        read_s = self.warm_up_reads * sum(self.set_sizes_bytes) / bytes_s
        return Expected(
            runs=runs,
            results=13 * runs,
            runs_fio=True,
            least_s=tests_s,
            usual_s=tests_s + read_s,
        )


PLAN = SweepPlan
