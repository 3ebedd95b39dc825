# SPDX-License-Identifier: Apache-2.0
"""The keys of a fio step in a plan, and the names of its results. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeIs, get_args, override

from appliance.phrases import N_, Phrase
from appliance.plan.workloads import (
    ARRAY,
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
)
from appliance.samples.fio_options import MAX_JOBS, READING_MODES, buffer_bytes, check_option
from appliance.samples.variants import CACHE_MODES, CacheMode, Variant
from appliance.toml.fields import InRow, each_once, flag, key, one_of, pairs, scalar, size, whole
from appliance.toml.values import show_value
from appliance.units import parse_size, show_size

PRECONDITION, WARM_UP = "precondition", "warm-up"
FRESH, USED = "fresh", "used"
"""The states of a drive that `fresh_first` compares."""

_DEFAULT_MAX_ROUNDS = 25
_DEFAULT_WARM_UP_ROUNDS = 10
_SEQUENTIAL_BYTES = 1 << 20
_ROUNDS = {PRECONDITION: "pass-", WARM_UP: ""}
"""The prefix of a round's number; `round-` for a test's."""

SpeedTest = Literal["seq1m-q8t1", "seq1m-q1t1", "rnd4k-q32t1", "rnd4k-q1t1"]
SPEED_TESTS = frozenset(get_args(SpeedTest))
"""Reading, with a block size, depth and one thread of their own: the figures that everybody knows.
"""
TESTS = (*get_args(FioTest), *get_args(SpeedTest))
_TESTS = each_once(one_of(*TESTS), N_("an array of at least one test"))

FioPageCache = Literal["cold", "warm", "bypass", "bounded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FioVariant(Variant):
    """A test of fio's, or what comes before: the preconditioning, the warming of a cache."""

    PATTERN: ClassVar = (
        rf"(?:(?P<mode>{'|'.join((*CACHE_MODES, FRESH, USED))})/)?(?P<test>[^/]+)"
        r"(?:/(?:round-|pass-)?(?P<round>\d+))?(?:/(?P<direction>read|write))?"
    )
    NUMBERS: ClassVar = frozenset({"round"})
    WHOLE: ClassVar = {"round": 0, "direction": ""}
    test: str
    mode: str = ""
    """The array's cache mode, or the drive's state FRESH or USED, where the plan compares these."""
    round: int = 0
    """From 1, of a test that ran in rounds, and of what comes before; 0: all of it."""
    direction: str = ""
    """read | write: one of the two, of a job that does both."""

    @property
    def is_test(self) -> bool:
        """Whether it is what was asked for."""
        return self.test not in {PRECONDITION, WARM_UP}

    @override
    def __str__(self) -> str:
        nth = f"{_ROUNDS.get(self.test, 'round-')}{self.round}" if self.round else ""
        return "/".join(filter(None, (self.mode, self.test, nth, self.direction)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FioPlan(WorkloadPlan):
    """The four classic tests, or a job of your own."""

    called: ClassVar = N_("a fio step")
    label: ClassVar = "fio"
    does: ClassVar = "sequential and random, read and write"
    variant: ClassVar = FioVariant
    must_write: ClassVar = False
    writing_keys: ClassVar = frozenset({"filesystem", "tests", "precondition", "options"})
    keeps_files: ClassVar = True
    kind: Literal["fio"] = kind_key("fio")
    filesystem: FileSystem = filesystem_key("none")
    tests: tuple[FioTest | SpeedTest, ...] = key(
        _TESTS,
        default=[*get_args(FioTest)],
        says="In their order: 1 MiB blocks in sequence, 4 KiB at random. Those with q and t in "
        "their names only read, with that queue depth and one thread, past the page cache.",
        brief="in this order",
    )
    """None where there are options."""
    size_bytes: int = key(
        size("1M", LARGEST, "1G", step=STEP),
        default="1G",
        says="How much the tests read and write in total, shared by the jobs: bytes, or a text.",
        brief="read and written in total",
        in_row=InRow(label="Size"),
    )
    """Of the file, or of the stretch of the bare drive; the jobs of a test share it."""
    runtime_s: int = key(
        SECONDS,
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
    iodepth: int = iodepth_key(1)
    ioengine: str = ioengine_key()
    page_cache: FioPageCache = key(
        one_of(*get_args(FioPageCache)),
        default="cold",
        says="cold: emptied before each test; warm: filled before it; "
        "bypass: O_DIRECT; bounded: by memory_max.",
        brief="state before each test",
    )
    memory_max_bytes: int = key(
        size("32M", LARGEST, "256M"),
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
    fresh_first: bool = key(
        flag(),
        default=False,
        says="The tests, all of them writing, first run on the drive with all of it discarded, "
        "and again after precondition: does use make it slower?",
        brief="fresh, then used",
    )
    """Discarding takes the whole drive, whatever `size` is."""
    steady_state: bool = key(
        flag(),
        default=False,
        says="Repeat each test until its last five rounds agree by SNIA's rules.",
        brief="rounds until five agree",
    )
    max_rounds: int = key(
        whole(5, 1000),
        default=_DEFAULT_MAX_ROUNDS,
        says="Give up on the steady state after this many rounds.",
        brief="then no steady state",
    )
    same_blocks: bool = key(
        flag(),
        default=False,
        says="Every round moves the very blocks of the first one: what does the drive learn?",
        brief="rounds on the same blocks",
    )
    """Each in the first one's order, and no more of them than that one reached in its time."""
    modes: tuple[CacheMode, ...] = key(
        each_once(
            one_of("writethrough", "writeback", "writearound"),
            N_("an array of at least one cache mode"),
        ),
        absent=(),
        says="The array's cache modes to compare: all tests run in each, with a cache that "
        "was emptied and warmed up. Absent: the tests run once.",
        brief="compared; only for an array",
    )
    warm_up_rounds: int = key(
        whole(2, 1000),
        name="warm_up",
        default=_DEFAULT_WARM_UP_ROUNDS,
        says="How many times a warm-up reads all of size at most before it ends unsettled.",
        brief="times size is read, at most",
    )
    options: tuple[tuple[str, str], ...] = key(
        pairs(
            scalar(),
            N_('a table of 1 to 64 of fio\'s options such as { rw = "randread", bs = "8K" }'),
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
    def discards(self) -> bool:
        return self.fresh_first

    @property
    @override
    def ways_to_read(self) -> tuple[str, ...]:
        """It writes in files, and on the bare drive with any test or job that does.

        Of a job in fio's own options its mode decides.
        """
        ways = {
            ON_THE_BARE_DRIVE: self.filesystem,
            "precondition = 0": self.precondition,
            N_('rw = "read" or "randread"'): self.own_modes - READING_MODES,
            READING_ALONE: set(self.tests) - READING_TESTS - SPEED_TESTS,
        }
        return tuple(way for way, is_needed in ways.items() if is_needed)

    @property
    @override
    def data_bytes(self) -> int:
        """How far into its file or drive the tests reach; fio's own options come first."""
        if not self.options:
            return self.size_bytes
        values = dict(self.options)
        apart_bytes = _own_bytes(values, "offset_increment", 0)
        end_bytes = (
            _own_bytes(values, "offset", 0)
            + apart_bytes * (int(values.get("numjobs", self.numjobs)) - 1)
            + _own_bytes(values, "size", self.size_bytes)
        )
        return max(end_bytes, self.size_bytes if self.precondition else 0)

    @property
    @override
    def wanted_ram_bytes(self) -> int:
        """Of a bounded test."""
        return self.memory_max_bytes

    @property
    @override
    def buffer_bytes(self) -> int:
        if not self.options:
            tests_bytes = classic_buffer_bytes(self.tests, self.iodepth * self.numjobs)
            block_bytes = find_whole_read_block(self.size_bytes) if self.modes else 0
            return max(tests_bytes, block_bytes * self.iodepth)
        defaults = (("iodepth", str(self.iodepth)), ("numjobs", str(self.numjobs)))
        return buffer_bytes((*defaults, *self.options))

    @property
    def own_modes(self) -> set[str]:
        """What a job's options say of `rw`, without what follows a colon; fio reads without."""
        # HOWTO, "readwrite"; it knows both names.
        modes = (value for key, value in self.options if key in {"rw", "readwrite"})
        return {mode.partition(":")[0] for mode in modes}

    @override
    def find_clashes(self, given: frozenset[str]) -> Iterator[Clash]:
        if self.page_cache == "bounded" and not self.memory_max_bytes:
            yield Clash(
                ("page_cache", "memory_max"),
                ("page_cache",),
                N_('needs memory_max when it is "bounded", such as memory_max = "256M"'),
            )
        if self.memory_max_bytes and self.page_cache != "bounded":
            yield Clash(
                ("page_cache", "memory_max"),
                ("memory_max",),
                Phrase(
                    N_('is only for page_cache = "bounded", not {value}'),
                    value=show_value(self.page_cache),
                ),
            )
        yield from _check_memory(self)
        yield from _check_rounds(self)
        yield from _check_speed(self)
        yield from _check_modes(self)
        yield from _check_fresh(self)
        if not {"ioengine", "iodepth"} & set(dict(self.options)):
            yield from check_depth(self.ioengine, self.iodepth)
        if set(self.tests) - RANDOM_TESTS and self.size_bytes < self.numjobs * _SEQUENTIAL_BYTES:
            yield Clash(
                ("tests", "size", "numjobs"),
                ("size",),
                Phrase(
                    N_(
                        'must give each of the {count} jobs a block of 1M, not "{value}" among them'
                    ),
                    count=self.numjobs,
                    value=show_size(self.size_bytes),
                ),
            )
        for name, value in self.options:
            if wrong := check_option(name, value):
                if wrong.startswith("must be"):
                    text = N_("{what}, not {given}")
                    wrong = Phrase(text, what=wrong, given=show_value(value))
                yield Clash(("options",), ("options", name), wrong)
            elif name in given:
                both = Phrase(N_("is in the workload too; leave one {key} out"), key=name)
                yield Clash(("options",), ("options", name), both)
        if self.options and "tests" in given:
            message = N_("take the place of tests; leave one out")
            yield Clash(("options", "tests"), ("options",), message)

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        if self.options:
            runs = parts
        else:
            rounds = self.max_rounds if self.steady_state else 1
            warm_up = self.warm_up_rounds * len(self.modes)
            states = 2 if self.fresh_first else max(1, len(self.modes))
            tests = len(self.tests) * rounds * states
            runs = tests + self.precondition + warm_up
        usual_s = float(runs * self.runtime_s)
        return Expected(runs=runs, results=13 * runs, runs_fio=True, usual_s=usual_s)


def is_speed_test(test: FioTest | SpeedTest) -> TypeIs[SpeedTest]:
    """Whether its name says how deep it is."""
    return test in SPEED_TESTS


def _own_bytes(options: Mapping[str, str], key: str, default: int) -> int:
    """A size in fio's words, which `samples.fio_options` has checked."""
    text = options.get(key, "")
    return parse_size(text.upper()) if text else default


def _check_memory(plan: FioPlan) -> Iterator[Clash]:
    """What RAM is asked for that it cannot do."""
    if any(check_option(name, value) for name, value in plan.options):
        return  # it is reported, and what it would take is not known
    if plan.page_cache == "bypass" and dict(plan.options).get("ioengine") == "mmap":
        yield Clash(
            ("page_cache", "options"),
            ("options", "ioengine"),
            N_('goes through the page cache with mmap; leave out page_cache = "bypass"'),
        )
    if 0 < plan.memory_max_bytes <= plan.buffer_bytes:
        yield Clash(
            ("memory_max", "tests", "size", "iodepth", "numjobs", "modes", "options"),
            ("memory_max",),
            Phrase(
                N_('must be more than the buffers (block × iodepth × numjobs) take: "{size}"'),
                size=show_size(plan.buffer_bytes),
            ),
        )


def _check_speed(plan: FioPlan) -> Iterator[Clash]:
    named = SPEED_TESTS & set(plan.tests)
    if named and (plan.page_cache != "bypass" or plan.numjobs != 1):
        yield Clash(
            ("tests", "page_cache", "numjobs"),
            ("tests",),
            Phrase(N_('{test} needs page_cache = "bypass" and numjobs = 1'), test=min(named)),
        )


def _check_rounds(plan: FioPlan) -> Iterator[Clash]:
    only = N_("is only for steady_state = true")
    if plan.max_rounds != _DEFAULT_MAX_ROUNDS and not plan.steady_state:
        yield Clash(("max_rounds", "steady_state"), ("max_rounds",), only)
    keys, place = ("same_blocks", "steady_state", "numjobs", "options"), ("same_blocks",)
    if plan.same_blocks and not plan.steady_state:
        yield Clash(keys, place, only)
    if plan.same_blocks and (plan.numjobs != 1 or plan.options):
        # How far each of several jobs came is not known, nor what a job of one's own draws.
        yield Clash(keys, place, N_("needs tests, and numjobs = 1"))


def _check_modes(plan: FioPlan) -> Iterator[Clash]:
    if plan.modes and plan.on != (ARRAY,):
        yield Clash(("modes", "on"), ("modes",), N_('are the array\'s; need on = "array" alone'))
    if plan.modes and plan.options:
        yield Clash(
            ("modes", "options"),
            ("modes",),
            N_("are compared with tests; leave modes or options out"),
        )
    if plan.warm_up_rounds != _DEFAULT_WARM_UP_ROUNDS and not plan.modes:
        yield Clash(("warm_up", "modes"), ("warm_up",), N_("is only for a step with modes"))


def _check_fresh(plan: FioPlan) -> Iterator[Clash]:
    if not plan.fresh_first:
        return
    needs = {
        ("precondition",): (
            N_("needs precondition, which makes the drive used"),
            plan.precondition,
        ),
        ("filesystem",): (N_('needs filesystem = "none"'), not plan.filesystem),
        ("tests", "options"): (
            N_('needs tests that write: tests = ["seq-write", "rand-write"] or one of them'),
            set(plan.tests) and not set(plan.tests) & (READING_TESTS | SPEED_TESTS),
        ),
        ("steady_state",): (N_("is only for steady_state = false"), not plan.steady_state),
        ("on",): (N_("is for drives, not for an array"), ARRAY not in plan.on),
        ("modes",): (N_("is for drives, not for modes of an array"), not plan.modes),
    }
    for keys, (text, is_met) in needs.items():
        if not is_met:
            yield Clash(("fresh_first", *keys), ("fresh_first",), text)


PLAN = FioPlan
