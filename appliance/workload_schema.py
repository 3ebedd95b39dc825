"""The shape of the `[[workload]]` tables: for each kind its keys, their ranges and defaults.

Owns what can be said about one key at a time; what takes several keys, or the drives, is in
`plan_checks`. Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from appliance.field_schema import SelftestTable, SurfaceTable, VerifyTable
from appliance.fio_schema import FioTable, SweepTable
from appliance.plan_keys import (
    Allowed,
    AllowedEach,
    AllowedNames,
    Once,
    Size,
    drop_default,
    mistake,
    one_of,
)
from appliance.plan_workloads import LotteryPass, LotteryPlan, MatrixPlan, Operation, SqlPlan
from appliance.workload_keys import (
    BLOCK_BYTES,
    FILE_SYSTEMS,
    GIB,
    KIB,
    LARGEST_BYTES,
    MIB,
    TIB,
    AnyPlace,
    FilesOnly,
    WorkloadTable,
    make_unique,
)

MAX_TICKETS = 10_000
# What `caches.ballast` leaves free in any case, lest the machine goes down.
SMALLEST_FREE_RAM_BYTES = 96 * MIB
# The engine needs three thousandths of it in RAM for the answers (`workloads.sql_data`).
_LARGEST_DATA_BYTES = 64 * GIB
_OPERATIONS: list[Operation] = [
    "write",
    "rewrite",
    "read",
    "reread",
    "rand-read",
    "rand-write",
    "backward",
    "stride",
]
_TICKETS = {"a": 4, "b": 6, "c": 8, "d": 10, "e": 12, "f": 24, "g": 18, "h": 10, "i": 6, "j": 2}

_FreeRam = Annotated[
    Size,
    Field(ge=SMALLEST_FREE_RAM_BYTES, le=LARGEST_BYTES, json_schema_extra=drop_default),
    Allowed('a size from "96M" such as "1G", or a number of bytes'),
]


def _bound_tickets(tickets: dict[str, int]) -> dict[str, int]:
    total = sum(tickets.values())
    if total > MAX_TICKETS:
        shown = total if total.bit_length() <= 64 else "far too many"
        raise mistake(f"must be at most {MAX_TICKETS} in all, not {shown}")
    return tickets


class LotteryTable(WorkloadTable):
    """Tickets are drawn without replacement; the file that each names is read and timed."""

    kind: Literal["lottery"]
    filesystem: AnyPlace = "ext4"
    file_size: Annotated[
        Size,
        Field(
            ge=BLOCK_BYTES,
            le=TIB,
            multiple_of=BLOCK_BYTES,
            description="The size of each file: bytes, or a text such as 100M.",
            json_schema_extra={"default": "100M"},
        ),
        Allowed('a size from "4K" to "1T" in steps of 4K such as "100M", or a number of bytes'),
    ] = 100 * MIB
    tickets: Annotated[
        dict[
            # Digits alone are the number of a repetition in the rows' names: "cold/2".
            Annotated[str, Field(pattern=r"^[0-9]*[A-Za-z_-][A-Za-z0-9_-]*$", max_length=32)],
            Annotated[int, Field(ge=1, le=MAX_TICKETS)],
        ],
        Field(
            min_length=1,
            description="The files, and how many tickets each is on.",
            json_schema_extra={"additionalProperties": False, "propertyNames": {"maxLength": 32}},
        ),
        AfterValidator(_bound_tickets),
        Allowed("a table of at least one file and its tickets such as { a = 4, b = 6 }"),
        AllowedEach(f"a whole number from 1 to {MAX_TICKETS}"),
        AllowedNames("1 to 32 plain letters, digits, - or _, and not digits alone"),
    ] = _TICKETS
    passes: Annotated[
        list[LotteryPass],
        Field(
            min_length=1,
            max_length=5,
            description="All tickets are drawn once in each pass, in this order.",
            json_schema_extra={"uniqueItems": True},
        ),
        Once,
        Allowed("an array of at least one pass"),
        AllowedEach(one_of("cold", "warm", "direct", "mmap", "buffered-app").text),
    ] = ["direct", "cold", "warm", "mmap"]  # noqa: RUF012 - pydantic copies it
    repeat: Annotated[
        int,
        Field(ge=1, le=100, description="How often all passes are done: repeats feed the drive."),
        Allowed("a whole number from 1 to 100"),
    ] = 1

    def build(self) -> LotteryPlan:
        """What it says, as the engine reads it."""
        return LotteryPlan(
            on=tuple(self.on),
            filesystem=FILE_SYSTEMS[self.filesystem],
            file_size_bytes=self.file_size,
            tickets=tuple(self.tickets.items()),
            passes=tuple(self.passes),
            repeat=self.repeat,
            seed=self.seed,
        )


def _refuse_odd_record(size: int) -> int:
    if size.bit_count() != 1:
        raise ValueError("no power of two")
    return size


class MatrixTable(WorkloadTable):
    """File sizes × record sizes × operations, through the page cache."""

    kind: Literal["matrix"]
    filesystem: FilesOnly = "ext4"
    file_sizes: Annotated[
        list[Annotated[Size, Field(ge=BLOCK_BYTES, le=LARGEST_BYTES, multiple_of=BLOCK_BYTES)]],
        Field(
            min_length=1,
            max_length=32,
            description="Absent: three sizes up to twice the RAM that is left free.",
            json_schema_extra=make_unique,
        ),
        Once,
        Allowed("an array of 1 to 32 sizes"),
        AllowedEach('a size from "4K" to "16T" in steps of 4K such as "1G", or a number of bytes'),
    ] = []  # noqa: RUF012 - pydantic copies it
    record_sizes: Annotated[
        list[Annotated[Size, Field(ge=512, le=16 * MIB), AfterValidator(_refuse_odd_record)]],
        Field(
            min_length=1,
            max_length=16,
            description="How much is read or written at once.",
            json_schema_extra={"uniqueItems": True, "default": ["4K", "64K", "1M"]},
        ),
        Once,
        Allowed("an array of 1 to 16 sizes"),
        AllowedEach('a power of two from 512 to "16M" such as "64K"'),
    ] = [4 * KIB, 64 * KIB, MIB]  # noqa: RUF012 - pydantic copies it
    operations: Annotated[
        list[Operation],
        Field(
            min_length=1,
            max_length=len(_OPERATIONS),
            description="What is done with each file in records of each size.",
            json_schema_extra={"uniqueItems": True},
        ),
        Once,
        Allowed("an array of at least one operation"),
        AllowedEach(one_of(*_OPERATIONS).text),
    ] = _OPERATIONS
    free_ram: Annotated[
        _FreeRam, Field(description="RAM is filled until so much is free. Absent: it is not.")
    ] = 0

    def build(self) -> MatrixPlan:
        """What it says, as the engine reads it."""
        return MatrixPlan(
            on=tuple(self.on),
            filesystem=self.filesystem,
            file_sizes_bytes=tuple(self.file_sizes),
            record_sizes_bytes=tuple(self.record_sizes),
            operations=tuple(self.operations),
            free_ram_bytes=self.free_ram,
            seed=self.seed,
        )


class SqlTable(WorkloadTable):
    """Five timed phases of a database larger than the RAM it is allowed."""

    kind: Literal["sql"]
    filesystem: FilesOnly = "ext4"
    data_size: Annotated[
        Size,
        Field(
            ge=16 * MIB,
            le=_LARGEST_DATA_BYTES,
            description="How much data the dump holds: bytes, or a text such as 512M.",
            json_schema_extra={"default": "512M"},
        ),
        Allowed('a size from "16M" to "64G" such as "512M", or a number of bytes'),
    ] = 512 * MIB
    free_ram: Annotated[
        _FreeRam,
        Field(
            description="RAM is filled until so much is free. "
            "Absent: half of data_size, at least 256 MiB."
        ),
    ] = 0

    def build(self) -> SqlPlan:
        """What it says, as the engine reads it."""
        return SqlPlan(
            on=tuple(self.on),
            filesystem=self.filesystem,
            data_size_bytes=self.data_size,
            free_ram_bytes=self.free_ram,
            seed=self.seed,
        )


AnyTable = (
    FioTable
    | LotteryTable
    | MatrixTable
    | SweepTable
    | SqlTable
    | SurfaceTable
    | VerifyTable
    | SelftestTable
)

WORKLOAD_TABLES: dict[str, type[AnyTable]] = {
    "fio": FioTable,
    "lottery": LotteryTable,
    "matrix": MatrixTable,
    "sweep": SweepTable,
    "sql": SqlTable,
    "surface": SurfaceTable,
    "verify": VerifyTable,
    "selftest": SelftestTable,
}
