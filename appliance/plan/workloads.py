# SPDX-License-Identifier: Apache-2.0
"""What all `[[workload]]` tables of a plan share, as frozen dataclasses. Pure data.

Each kind has its own class in `appliance/workloads/KIND/keys.py`, where each field that is a key of
the plan declares all there is to say of it alone. Sizes are bytes, times seconds. An empty
`filesystem` is the bare drive.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from appliance.phrases import N_, Phrase
from appliance.problem import KeyPath
from appliance.samples.variants import NamedVariant, Variant
from appliance.toml.fields import InRow, each_once, key, one_of, size, text, whole

FileSystem = Literal["", "ext4", "xfs", "btrfs"]
FioTest = Literal["seq-read", "seq-write", "rand-read", "rand-write"]

READING_TESTS = frozenset({"seq-read", "rand-read"})
RANDOM_TESTS = frozenset({"rand-read", "rand-write"})
MAX_DRIVES = 64
MAX_BOOTED_DRIVES = 16
"""Each has boot entries of its own, which the image brings (`reference_os.install.SLOTS`)."""
ARRAY = "array"
"""What a plan and a step's `device` call the array of the cache and the backing drive."""
# O_DIRECT wants whole logical blocks (open(2), "O_DIRECT"); no drive has larger ones than 4 KiB.
STEP = "4K"
LARGEST = "16T"
# What `caches.ballast` leaves free in any case, lest the machine goes down.
SMALLEST_FREE_RAM = "96M"
ON_THE_BARE_DRIVE = 'filesystem = "none"'
READING_ALONE = 'tests = ["seq-read", "rand-read"]'
SECONDS = whole(1, 86_400, of=N_("seconds"))

# Smaller ones are refused by mkfs.xfs and mkfs.btrfs of Debian 13, the latter naming its minimum.
_SMALLEST_BYTES = {"": 0, "ext4": 0, "xfs": 300 << 20, "btrfs": 109 << 20}
_LEAST_BLOCK_BYTES = 4096
_LEAST_BLOCKS = 2048
"""With fewer, chance alone keeps the hit ratio of what does not fit from settling. Simulated for a
cache of half the file, least recently used goes first: of 60 warm-ups in blocks of this number all
settle in ten rounds, with 128 blocks 22."""
_TESTS = each_once(one_of(*get_args(FioTest)), N_("an array of at least one test"))


def kind_key(name: str) -> Any:  # noqa: ANN401 - the type is the field's
    """The key `kind`."""
    return key(one_of(name), absent=name, is_required=True)


def filesystem_key(default: str, *, bare: bool = True) -> Any:  # noqa: ANN401 - as above
    """What the workload's files are on; `bare`: it may do without."""
    says = "The file system made on the released drive"
    return key(
        one_of(*(["none"] if bare else []), "ext4", "xfs", "btrfs", meanings={"none": ""}),
        default=default,
        says=f"{says}; none: the bare drive." if bare else f"{says}.",
        brief="made on the drive; or none",
    )


def tests_key(says: str) -> Any:  # noqa: ANN401 - as above
    """Which of the four classic tests."""
    return key(_TESTS, default=[*_TESTS.choices], says=says, brief="in this order")


def iodepth_key(default: int) -> Any:  # noqa: ANN401 - as above
    """How deep the queue is."""
    return key(
        whole(1, 1024),
        default=default,
        says="How many I/Os are in flight at once.",
        brief="I/Os in flight",
    )


def ioengine_key() -> Any:  # noqa: ANN401 - as above
    """How fio submits."""
    return key(
        one_of("io_uring", "libaio", "psync"),
        default="libaio",
        says="How fio submits its I/Os to the kernel.",
        brief="how fio submits its I/Os",
    )


def free_ram_key(absent: str, in_row: InRow | None = None) -> Any:  # noqa: ANN401 - as above
    """How much RAM the ballast leaves; `absent` says what is without it."""
    return key(
        size(SMALLEST_FREE_RAM, LARGEST, "1G"),
        absent=0,
        says=f"RAM is filled until only this much is free. Absent: {absent}.",
        brief="RAM left free by ballast",
        in_row=in_row,
    )


@dataclass(frozen=True, slots=True)
class Clash:
    """A problem of one workload; it is only one if none of `keys` is broken."""

    keys: tuple[str, ...]
    path: KeyPath
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a step will take and store, before it has run."""

    runs: int
    """How often a tool runs at most."""
    results: int
    """Figures."""
    tickets: int = 0
    slices: int = 0
    runs_fio: bool = False
    moved_bytes: float = 0.0
    """What the drive must read and write in any case; 0 if RAM or time may end it before."""
    least_s: float = 0.0
    usual_s: float = 120.0
    """How long it takes at least, and may well take, if no byte count tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPlan:
    """What all kinds have."""

    called: ClassVar[str]
    """Its table in a sentence, for people."""
    label: ClassVar[str]
    does: ClassVar[str]
    """Its name in the form, and what it does in a few words; in English."""
    variant: ClassVar[type[Variant]] = NamedVariant
    """What its figures are of."""
    must_write: ClassVar = True
    """Whether it writes however it is set; else only where `ways_to_read` has what would help."""
    writing_keys: ClassVar = frozenset({"filesystem"})
    """The keys that decide whether it writes: see `writes`."""
    judges: ClassVar = False
    """Whether it is run to judge a drive: where none is, no page begins with verdicts."""
    keeps_files: ClassVar = False
    """Whether its files stay on the file system until another one is made."""
    on_array: ClassVar = True
    """Whether it is offered for an array as a whole."""
    loads_machine: ClassVar = True
    """Whether the machine has work with it, or the drive alone."""
    may_run_beside: ClassVar = False
    """Whether drives are tested by it at the same time. Never where a time is what it is for.

    It touches nothing but its drive: no page cache, no RAM held, no power."""
    reads_others: ClassVar = False
    """Whether it reads the other drives of the same table meanwhile, as a load."""

    kind: str
    on: tuple[str, ...] = key(
        each_once(
            text(N_('the serial number of one of the plan\'s drives or "array"'), most=256),
            N_(
                'the serial number of one of the plan\'s drives or "array" as a text in quotes, or '
                "several in brackets"
            ),
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
        return self.must_write or bool(self.ways_to_read)

    @property
    def ways_to_read(self) -> tuple[str, ...]:
        """Keys, as a plan has them, with which it would only read; empty where none would help."""
        return ()

    @property
    def discards(self) -> bool:
        """Whether it tells the drive that nothing on it is needed: what is read then is no data."""
        return False

    @property
    def repeat_at_end(self) -> "WorkloadPlan | None":
        """What runs again after all others of the plan; None: it runs once."""
        return None

    @property
    def data_bytes(self) -> int:
        """Its files, or how far into the bare drive it reaches; 0: that shows at run time."""
        return 0

    @property
    def wanted_ram_bytes(self) -> int:
        """How much RAM it wants free or allowed, not more; 0 where it takes what there is."""
        return 0

    @property
    def drawn_rows(self) -> int:
        """How many draws and figures of draws it stores on each drive; 0 without draws."""
        return 0

    @property
    def buffer_bytes(self) -> int:
        """RAM for what fio has under way at once; 0 where that is next to nothing."""
        return 0

    def find_clashes(self, given: frozenset[str]) -> Iterator["Clash"]:  # noqa: ARG002
        """What is wrong between its keys; `given` are those that the plan has."""
        yield from ()

    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> "Expected":
        """What so many parts will take, on a drive of that size and, as a guess, that speed."""
        raise NotImplementedError

    def needed_bytes(self, *, others_bytes: int = 0) -> int:
        """What it takes of a drive, file system included; 0 where that shows at run time.

        `others_bytes` is what lies on that file system already.
        """
        size_bytes = self.data_bytes + others_bytes
        if not self.filesystem:
            return size_bytes
        return max(size_bytes + size_bytes // 10 + (64 << 20), _SMALLEST_BYTES[self.filesystem])


def classic_buffer_bytes(tests: Iterable[str], at_once: int) -> int:
    """What the deepest of fio's classic tests has under way: sequential ones move 1 MiB at a time.

    The tests with a depth of their own take next to nothing.
    """
    blocks = (1 << 20 if test.startswith("seq-") else 4 << 10 for test in tests)
    return at_once * max(blocks, default=0)


def find_whole_read_block(size_bytes: int) -> int:
    """In what blocks all of it is read to warm a cache up, in bytes: as large as can be."""
    # The largest power of two that divides the size: fio leaves out what is no whole block.
    block_bytes = min(size_bytes & -size_bytes, 1 << 20)
    while block_bytes > _LEAST_BLOCK_BYTES and size_bytes // block_bytes < _LEAST_BLOCKS:
        block_bytes //= 2
    return block_bytes


def check_depth(ioengine: str, iodepth: int) -> Iterator[Clash]:
    """An engine that has one I/O under way at a time, with a queue."""
    if ioengine == "psync" and iodepth > 1:
        yield Clash(
            ("ioengine", "iodepth"),
            ("iodepth",),
            Phrase(
                N_("must be 1 with psync, which has one I/O under way at a time, not {number}"),
                number=iodepth,
            ),
        )
