"""The shape of the `[[workload]]` tables whose work fio does: its tests, a job, a sweep.

Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from appliance.measure.fio_options import MAX_JOBS
from appliance.plan_keys import Allowed, AllowedEach, Once, Size, drop_default, one_of
from appliance.plan_workloads import (
    DEFAULT_MAX_ROUNDS,
    DEFAULT_WARM_UP_ROUNDS,
    Distribution,
    FioPageCache,
    FioPlan,
    SweepPlan,
)
from appliance.workload_keys import (
    BLOCK_BYTES,
    FILE_SYSTEMS,
    GIB,
    LARGEST_BYTES,
    MIB,
    TESTS,
    AnyPlace,
    Depth,
    Engine,
    Seconds,
    Tests,
    WorkloadTable,
    make_unique,
)


class FioTable(WorkloadTable):
    """The four classic tests, or a job of your own."""

    kind: Literal["fio"]
    filesystem: AnyPlace = "none"
    tests: Annotated[
        Tests, Field(description="In their order: 1 MiB blocks in sequence, 4 KiB at random.")
    ] = TESTS
    size: Annotated[
        Size,
        Field(
            ge=MIB,
            le=LARGEST_BYTES,
            multiple_of=BLOCK_BYTES,
            description="What the tests read and write, shared by the jobs: bytes, or a text.",
            json_schema_extra={"default": "1G"},
        ),
        Allowed('a size from "1M" to "16T" in steps of 4K such as "1G", or a number of bytes'),
    ] = GIB
    runtime: Annotated[Seconds, Field(description="The longest a test may take, in seconds.")] = 60
    numjobs: Annotated[
        int,
        Field(ge=1, le=MAX_JOBS, description="Jobs at once, each with its own share of size."),
        Allowed(f"a whole number from 1 to {MAX_JOBS}"),
    ] = 1
    iodepth: Depth = 1
    ioengine: Engine = "libaio"
    page_cache: Annotated[
        FioPageCache,
        Field(
            description="cold: emptied before each test; warm: filled before it; "
            "bypass: O_DIRECT; bounded: by memory_max."
        ),
        one_of("cold", "warm", "bypass", "bounded"),
    ] = "cold"
    memory_max: Annotated[
        Size,
        Field(
            ge=32 * MIB,
            le=LARGEST_BYTES,
            description="The memory, page cache included, that a bounded test may use.",
            json_schema_extra=drop_default,
        ),
        Allowed('a size from "32M" such as "256M", or a number of bytes'),
    ] = 0
    precondition: Annotated[
        int,
        Field(ge=0, le=10, description="How often all is overwritten before the first test."),
        Allowed("a whole number from 0 to 10"),
    ] = 0
    steady_state: Annotated[
        bool,
        Field(description="Repeat each test until its last five rounds agree by SNIA's rules."),
        Allowed("true or false"),
    ] = False
    max_rounds: Annotated[
        int,
        Field(ge=5, le=1000, description="When to give up waiting for the steady state."),
        Allowed("a whole number from 5 to 1000"),
    ] = DEFAULT_MAX_ROUNDS
    modes: Annotated[
        list[Literal["writethrough", "writeback", "writearound"]],
        Field(
            min_length=1,
            max_length=3,
            description="The array's cache modes to be compared: all tests are done in each, "
            "with a cache that was emptied and warmed up. Absent: the tests once.",
            json_schema_extra=make_unique,
        ),
        Once,
        Allowed("an array of at least one cache mode"),
        AllowedEach(one_of("writethrough", "writeback", "writearound").text),
    ] = []  # noqa: RUF012 - pydantic copies it
    warm_up: Annotated[
        int,
        Field(
            ge=2,
            le=1000,
            description="How often a warm-up reads all of size at most before it is given up.",
        ),
        Allowed("a whole number from 2 to 1000"),
    ] = DEFAULT_WARM_UP_ROUNDS
    options: Annotated[
        dict[str, str | int | float | bool],
        Field(
            min_length=1,
            max_length=64,
            description="One job in fio's own options, instead of tests.",
            json_schema_extra=drop_default,
        ),
        Allowed('a table of 1 to 64 of fio\'s options such as { rw = "randread", bs = "8K" }'),
        AllowedEach("a text, a number, true or false"),
    ] = {}  # noqa: RUF012 - pydantic copies it

    def build(self) -> FioPlan:
        """What it says, as the engine reads it."""
        return FioPlan(
            on=tuple(self.on),
            filesystem=FILE_SYSTEMS[self.filesystem],
            tests=() if self.options else tuple(self.tests),
            size_bytes=self.size,
            runtime_s=self.runtime,
            numjobs=self.numjobs,
            iodepth=self.iodepth,
            ioengine=self.ioengine,
            page_cache=self.page_cache,
            memory_max_bytes=self.memory_max,
            precondition=self.precondition,
            steady_state=self.steady_state,
            max_rounds=self.max_rounds,
            seed=self.seed,
            modes=tuple(self.modes),
            warm_up_rounds=self.warm_up,
            options=tuple((key, _as_fio(value)) for key, value in self.options.items()),
        )


def _as_fio(value: str | float | bool) -> str:  # noqa: FBT001 - one value of a table
    return str(int(value)) if isinstance(value, bool) else str(value)


class SweepTable(WorkloadTable):
    """fio's tests on working sets from a part of a cache's size to a multiple of it."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["cache_size"]}, {"required": ["set_sizes"]}]}
    )

    kind: Literal["sweep"]
    filesystem: AnyPlace = "none"
    cache_size: Annotated[
        Size,
        Field(
            ge=4 * MIB,
            le=LARGEST_BYTES,
            description="The cache's size. Without set_sizes a quarter, half, one and two of it.",
            json_schema_extra=drop_default,
        ),
        Allowed('a size from "4M" to "16T" such as "8G", or a number of bytes'),
    ] = 0
    set_sizes: Annotated[
        list[Annotated[Size, Field(ge=MIB, le=LARGEST_BYTES, multiple_of=BLOCK_BYTES)]],
        Field(
            min_length=1,
            max_length=64,
            description="The working sets, in their order.",
            json_schema_extra=make_unique,
        ),
        Once,
        Allowed("an array of 1 to 64 sizes"),
        AllowedEach('a size from "1M" to "16T" in steps of 4K such as "2G", or a number of bytes'),
    ] = []  # noqa: RUF012 - pydantic copies it
    tests: Annotated[Tests, Field(description="The tests on each working set.")] = TESTS
    norandommap: Annotated[
        list[bool],
        Field(
            min_length=1,
            max_length=2,
            description="false: random tests visit each block once; true: any block, any time.",
            json_schema_extra={"uniqueItems": True},
        ),
        Once,
        Allowed("[false], [true] or [false, true]"),
        AllowedEach("true or false"),
    ] = [False, True]  # noqa: RUF012 - pydantic copies it
    distribution: Annotated[
        list[Distribution],
        Field(
            min_length=1,
            max_length=2,
            description="Where random tests go: everywhere alike, or to some blocks more often.",
            json_schema_extra={"uniqueItems": True},
        ),
        Once,
        Allowed('an array of "uniform", "zipf" or both'),
        AllowedEach(one_of("uniform", "zipf").text),
    ] = ["uniform"]  # noqa: RUF012 - pydantic copies it
    runtime: Annotated[Seconds, Field(description="How long each test takes, in seconds.")] = 30
    iodepth: Depth = 16
    ioengine: Engine = "libaio"
    idle_timeout: Annotated[
        int,
        Field(
            ge=0,
            le=86_400,
            description="Seconds to wait before each read test for the drive to come to rest.",
        ),
        Allowed("a whole number of seconds from 0 to 86400"),
    ] = 120

    def build(self) -> SweepPlan:
        """What it says, as the engine reads it."""
        quarters = (1, 2, 4, 8) if self.cache_size else ()
        by_cache = [self.cache_size * each // 4 // MIB * MIB for each in quarters]
        return SweepPlan(
            on=tuple(self.on),
            filesystem=FILE_SYSTEMS[self.filesystem],
            cache_size_bytes=self.cache_size,
            set_sizes_bytes=tuple(self.set_sizes or by_cache),
            tests=tuple(self.tests),
            norandommap=tuple(self.norandommap),
            distribution=tuple(self.distribution),
            runtime_s=self.runtime,
            iodepth=self.iodepth,
            ioengine=self.ioengine,
            idle_timeout_s=self.idle_timeout,
            seed=self.seed,
        )
