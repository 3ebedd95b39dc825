"""What the `[[workload]]` tables have in common: sizes, places, the keys of several kinds.

Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from appliance.plan_keys import Allowed, AllowedEach, Once, Table, drop_default, one_of
from appliance.plan_workloads import FileSystem, FioTest

MAX_DRIVES = 16
KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
# O_DIRECT wants whole logical blocks (open(2), "O_DIRECT"); no drive has larger ones than 4 KiB.
BLOCK_BYTES = 4 * KIB
LARGEST_BYTES = 16 * TIB
KINDS = ("fio", "lottery", "matrix", "sweep", "sql", "surface", "verify", "selftest")
TESTS: list[FioTest] = ["seq-read", "seq-write", "rand-read", "rand-write"]
FILE_SYSTEMS: dict[str, FileSystem] = {"none": "", "ext4": "ext4", "xfs": "xfs", "btrfs": "btrfs"}
AnyPlace = Annotated[
    Literal["none", "ext4", "xfs", "btrfs"],
    Field(description="The file system made on the released drive; none: the bare drive."),
    one_of("none", "ext4", "xfs", "btrfs"),
]
FilesOnly = Annotated[
    Literal["ext4", "xfs", "btrfs"],
    Field(description="The file system made on the released drive."),
    one_of("ext4", "xfs", "btrfs"),
]
Tests = Annotated[
    list[FioTest],
    Field(min_length=1, max_length=4, json_schema_extra={"uniqueItems": True}),
    Once,
    Allowed("an array of at least one test"),
    AllowedEach(one_of(*TESTS).text),
]
Seconds = Annotated[
    int, Field(ge=1, le=86_400), Allowed("a whole number of seconds from 1 to 86400")
]
Depth = Annotated[
    int,
    Field(ge=1, le=1024, description="How many I/Os are under way at once."),
    Allowed("a whole number from 1 to 1024"),
]
Engine = Annotated[
    Literal["io_uring", "libaio", "psync"],
    Field(description="How fio hands its I/Os to the kernel."),
    one_of("io_uring", "libaio", "psync"),
]


def make_unique(schema: dict[str, Any]) -> None:
    """Say in the JSON schema that no element stands twice in an array without a default."""
    schema["uniqueItems"] = True
    drop_default(schema)


def _take_one(value: object) -> object:
    return [value] if isinstance(value, str) else value


class _PlacesSchema:
    """Places in the JSON schema: a text, or an array of texts."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        several = handler(core)
        return {"anyOf": [several["items"], {"uniqueItems": True, **several}]}


_Places = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=256)]],
    # Every drive, and the array.
    Field(min_length=1, max_length=MAX_DRIVES + 1),
    BeforeValidator(_take_one),
    _PlacesSchema(),
]


class WorkloadTable(Table):
    """What all kinds have."""

    kind: Annotated[str, one_of(*KINDS)]
    on: Annotated[
        _Places,
        Field(
            description="Where it runs, in this order: drives by serial number or WWN, or array. "
            "Absent: every target and control drive.",
            json_schema_extra=drop_default,
        ),
        Once,
        Allowed(
            'the serial number of one of the plan\'s drives or "array" as a text in quotes, or '
            "several in brackets"
        ),
        AllowedEach('the serial number of one of the plan\'s drives or "array"'),
    ] = []  # noqa: RUF012 - pydantic copies it
    seed: Annotated[
        int,
        Field(ge=0, le=0xFFFF_FFFF, description="The same seed gives the same accesses."),
        Allowed("a whole number from 0 to 4294967295"),
    ] = 1
