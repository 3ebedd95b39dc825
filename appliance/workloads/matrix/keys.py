# SPDX-License-Identifier: Apache-2.0
"""The keys of a matrix in a plan, and the names of its results. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args, override

from appliance.phrases import N_, Phrase
from appliance.plan.workloads import (
    LARGEST,
    STEP,
    Clash,
    Expected,
    FileSystem,
    WorkloadPlan,
    filesystem_key,
    free_ram_key,
    kind_key,
)
from appliance.samples.variants import Variant
from appliance.toml.fields import InRow, each_once, key, one_of, size
from appliance.units import show_size

Operation = Literal[
    "write", "rewrite", "read", "reread", "rand-read", "rand-write", "backward", "stride"
]

LIMITED: tuple[Operation, ...] = ("rand-read", "rand-write", "backward", "stride")
"""These would take hours with small records on a disk; a sample of that length says as much."""
LIMIT_S = 60

_MAX_CELLS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixVariant(Variant):
    """An operation on a file of one size, in records of another."""

    PATTERN: ClassVar = r"(?P<size>[^/]+)/(?P<record>[^/]+)/(?P<operation>[^/]+)"
    size: str
    """`64M`, or `2x` the RAM that was free."""
    record: str
    operation: str

    @override
    def __str__(self) -> str:
        return f"{self.size}/{self.record}/{self.operation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPlan(WorkloadPlan):
    """File sizes × record sizes × operations, through the page cache."""

    called: ClassVar = N_("a matrix")
    label: ClassVar = "Matrix"
    does: ClassVar = "file sizes by record sizes by operations"
    variant: ClassVar = MatrixVariant
    kind: Literal["matrix"] = kind_key("matrix")
    filesystem: FileSystem = filesystem_key("ext4", bare=False)
    file_sizes_bytes: tuple[int, ...] = key(
        each_once(size("4K", LARGEST, "1G", step=STEP), N_("an array of 1 to 32 sizes"), most=32),
        absent=(),
        says="Absent: three sizes up to twice the free RAM.",
        brief="sizes of the files",
    )
    record_sizes_bytes: tuple[int, ...] = key(
        each_once(
            size(512, "16M", "64K", power_of_two=True), N_("an array of 1 to 16 sizes"), most=16
        ),
        default=["4K", "64K", "1M"],
        says="How much is read or written at a time.",
        brief="read or written at once",
    )
    operations: tuple[Operation, ...] = key(
        each_once(one_of(*get_args(Operation)), N_("an array of at least one operation")),
        default=[*get_args(Operation)],
        says="The operations on each file in records of each size.",
        brief="operations on each file",
    )
    free_ram_bytes: int = free_ram_key("it is not", InRow(label="Free RAM", offered="1G"))
    """0: no ballast."""

    @property
    @override
    def data_bytes(self) -> int:
        return max(self.file_sizes_bytes, default=0)

    @property
    @override
    def wanted_ram_bytes(self) -> int:
        return self.free_ram_bytes

    @override
    def find_clashes(self, given: frozenset[str]) -> Iterator[Clash]:
        largest_bytes = max(self.file_sizes_bytes, default=0)
        for place, size_bytes in enumerate(self.record_sizes_bytes):
            if largest_bytes and size_bytes > largest_bytes:
                yield Clash(
                    ("file_sizes", "record_sizes"),
                    ("record_sizes", place),
                    Phrase(
                        N_('"{value}" is larger than every file; the largest has "{most}"'),
                        value=show_size(size_bytes),
                        most=show_size(largest_bytes),
                    ),
                )
        # Absent file sizes become three.
        files = len(self.file_sizes_bytes) or 3
        cells = files * len(self.record_sizes_bytes) * len(self.operations)
        if cells > _MAX_CELLS:
            yield Clash(
                ("file_sizes", "record_sizes", "operations"),
                (),
                Phrase(
                    N_(
                        "file_sizes × record_sizes × operations make {count} cells; at most "
                        "{most} are allowed"
                    ),
                    count=cells,
                    most=_MAX_CELLS,
                ),
            )

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        # What is limited by time takes no longer, and most takes less.
        usual_s = float(LIMIT_S * parts)
        return Expected(runs=parts, results=7 * parts, runs_fio=True, usual_s=usual_s)


PLAN = MatrixPlan
