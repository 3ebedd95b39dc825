"""Conflicts between several keys of a plan.

Pure. Skips what `plan/tables` has complained about, so that every mistake is told at once. What
concerns the drives is `plan/drive_rules`'.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from appliance.plan.drive_rules import check_places
from appliance.plan.tables import Shape
from appliance.plan.workloads import (
    ARRAY,
    DEFAULT_MAX_ROUNDS,
    DEFAULT_WARM_UP_ROUNDS,
    MAX_TICKETS,
    RANDOM_TESTS,
    FioPlan,
    LotteryPlan,
    MatrixPlan,
    SelftestPlan,
    SqlPlan,
    SurfacePlan,
    SweepPlan,
    VerifyPlan,
    WorkloadPlan,
)
from appliance.problem import KeyPath, Problem
from appliance.samples.fio_options import check_option
from appliance.toml.fields import Reading
from appliance.toml.values import show_size, show_value

_SEQUENTIAL_BYTES = 1 << 20
_MAX_CELLS = 2000
_MAX_SWEEP_PARTS = 1000
MAX_REPLAYED_BYTES = 2 << 30
"""Each read's time is stored: some 50,000 in each boot."""


@dataclass(frozen=True, slots=True)
class _Clash:
    """A problem of one workload; it is only one if none of `keys` is broken."""

    keys: tuple[str, ...]
    path: KeyPath
    message: str


def find_contradictions(shape: Shape) -> list[Problem]:
    """Every contradiction in the plan, in no order."""
    problems = [
        Problem((*each.path, *clash.path), clash.message)
        for each in shape.workloads.values()
        for clash in _check_workload(each)
        if not each.broken & set(clash.keys)
    ]
    return [*problems, *_check_boot(shape), *check_places(shape)]


def _check_boot(shape: Shape) -> Iterator[Problem]:
    """What is only for one of the modes."""
    if shape.boot is None or "mode" in shape.boot.broken:
        return
    boot, given = shape.boot.value, shape.boot.given - shape.boot.broken
    if boot.mode == "install":
        if "trace" in given:
            yield Problem(("boot", "trace"), 'is only for mode = "replay"')
        return
    if "charts" in given and boot.charts != "none":
        yield Problem(("boot", "charts"), 'is for mode = "install"; a replay starts no system')
    if "boot_set" in given and boot.boot_set_bytes > MAX_REPLAYED_BYTES:
        told = f'must be at most "{show_size(MAX_REPLAYED_BYTES)}" with mode = "replay"'
        yield Problem(("boot", "boot_set"), told)


def _check_workload(workload: Reading[WorkloadPlan]) -> Iterator[_Clash]:
    match workload.value:
        case FioPlan() as plan:
            yield from _check_fio(plan, workload.given)
        case LotteryPlan() as plan:
            yield from _check_lottery(plan)
        case MatrixPlan() as plan:
            yield from _check_matrix(plan)
        case SweepPlan() as plan:
            yield from _check_sweep(plan)
        case VerifyPlan() as plan:
            if plan.power_cycle and ARRAY in plan.on:
                yield _Clash(
                    ("power_cycle", "on"),
                    ("power_cycle",),
                    f"is for drives by themselves; leave it out where on names {show_value(ARRAY)}",
                )
        case SqlPlan() | SurfacePlan() | SelftestPlan():
            pass


def _check_lottery(plan: LotteryPlan) -> Iterator[_Clash]:
    tickets = sum(count for _, count in plan.tickets)
    if tickets > MAX_TICKETS:
        told = f"must be at most {MAX_TICKETS} in all, not {tickets}"
        yield _Clash(("tickets",), ("tickets",), told)


def _check_fio(plan: FioPlan, given: frozenset[str]) -> Iterator[_Clash]:
    if plan.page_cache == "bounded" and not plan.memory_max_bytes:
        yield _Clash(
            ("page_cache", "memory_max"),
            ("page_cache",),
            'needs memory_max when it is "bounded", such as memory_max = "256M"',
        )
    if plan.memory_max_bytes and plan.page_cache != "bounded":
        yield _Clash(
            ("page_cache", "memory_max"),
            ("memory_max",),
            f'is only for page_cache = "bounded", not {show_value(plan.page_cache)}',
        )
    if plan.max_rounds != DEFAULT_MAX_ROUNDS and not plan.steady_state:
        yield _Clash(
            ("max_rounds", "steady_state"), ("max_rounds",), "is only for steady_state = true"
        )
    yield from _check_modes(plan)
    if not {"ioengine", "iodepth"} & set(dict(plan.options)):
        yield from _check_depth(plan)
    if set(plan.tests) - RANDOM_TESTS and plan.size_bytes < plan.numjobs * _SEQUENTIAL_BYTES:
        yield _Clash(
            ("tests", "size", "numjobs"),
            ("size",),
            f"must give each of the {plan.numjobs} jobs a block of 1M, not "
            f'"{show_size(plan.size_bytes)}" among them',
        )
    for key, value in plan.options:
        if wrong := check_option(key, value):
            found = f", not {show_value(value)}" if wrong.startswith("must be") else ""
            yield _Clash(("options",), ("options", key), f"{wrong}{found}")
        elif key in given:
            yield _Clash(
                ("options",), ("options", key), f"stands in the workload too; leave one {key} out"
            )
    if plan.options and "tests" in given:
        yield _Clash(("options", "tests"), ("options",), "take the place of tests; leave one out")


def _check_modes(plan: FioPlan) -> Iterator[_Clash]:
    if plan.modes and plan.on != (ARRAY,):
        yield _Clash(("modes", "on"), ("modes",), 'are the array\'s; need on = "array" alone')
    if plan.modes and plan.options:
        yield _Clash(
            ("modes", "options"), ("modes",), "are compared with tests; leave modes or options out"
        )
    if plan.warm_up_rounds != DEFAULT_WARM_UP_ROUNDS and not plan.modes:
        yield _Clash(("warm_up", "modes"), ("warm_up",), "is only for a step with modes")


def _check_depth(plan: FioPlan | SweepPlan) -> Iterator[_Clash]:
    if plan.ioengine == "psync" and plan.iodepth > 1:
        yield _Clash(
            ("ioengine", "iodepth"),
            ("iodepth",),
            f"must be 1 with psync, which has one I/O under way at a time, not {plan.iodepth}",
        )


def _check_matrix(plan: MatrixPlan) -> Iterator[_Clash]:
    largest_bytes = max(plan.file_sizes_bytes, default=0)
    for place, size_bytes in enumerate(plan.record_sizes_bytes):
        if largest_bytes and size_bytes > largest_bytes:
            yield _Clash(
                ("file_sizes", "record_sizes"),
                ("record_sizes", place),
                f'"{show_size(size_bytes)}" is larger than every file; '
                f'the largest has "{show_size(largest_bytes)}"',
            )
    # Absent file sizes become three.
    files = len(plan.file_sizes_bytes) or 3
    cells = files * len(plan.record_sizes_bytes) * len(plan.operations)
    if cells > _MAX_CELLS:
        yield _Clash(
            ("file_sizes", "record_sizes", "operations"),
            (),
            f"file_sizes × record_sizes × operations make {cells} cells; "
            f"at most {_MAX_CELLS} are allowed",
        )


def _check_sweep(plan: SweepPlan) -> Iterator[_Clash]:
    if not set(plan.tests) & RANDOM_TESTS:
        for key, value, default in (
            ("norandommap", plan.norandommap, (False, True)),
            ("distribution", plan.distribution, ("uniform",)),
        ):
            if value != default:
                yield _Clash(
                    ("tests", key), (key,), "is only for the tests rand-read and rand-write"
                )
    yield from _check_depth(plan)
    sizes, tests = len(plan.set_sizes_bytes), len(plan.tests)
    parts = sizes * tests * len(plan.norandommap) * len(plan.distribution)
    if parts > _MAX_SWEEP_PARTS:
        yield _Clash(
            ("set_sizes", "tests", "norandommap", "distribution"),
            (),
            f"set_sizes × tests × norandommap × distribution make {parts} parts; "
            f"at most {_MAX_SWEEP_PARTS} are allowed",
        )
