"""What no single key of a plan can be blamed for: clashes between keys, tables and releases.

Pure. Takes what TOML made of the text, of any shape, and skips what `plan_schema` has complained
about, so that every mistake is told at once. Must never take a drive for released that is not.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appliance.measure.fio_options import READING_MODES, check_option
from appliance.plan_lines import Path
from appliance.plan_text import NOT_YET, quote, show_size, show_value
from appliance.plan_workloads import (
    DEFAULT_MAX_ROUNDS,
    RANDOM_TESTS,
    READING_TESTS,
    FioPlan,
    LotteryPlan,
    MatrixPlan,
    SqlPlan,
    SweepPlan,
    WorkloadPlan,
)

_SEQUENTIAL_BYTES = 1 << 20
_MAX_CELLS = 2000
_MAX_SWEEP_PARTS = 1000
_MAX_DRIVES_READ = 100
# What decides whether a workload writes.
_WRITING_KEYS = frozenset({"on", "filesystem", "tests", "precondition", "options"})


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake, where it is, and whether safety says no or the plan is none."""

    path: Path
    message: str
    is_safety: bool = False


@dataclass(frozen=True, slots=True)
class ShapedWorkload:
    """A `[[workload]]` table whose kind is known."""

    index: int
    plan: WorkloadPlan
    """Broken keys have their defaults here."""
    given: frozenset[str]
    broken: frozenset[str]
    """Keys that were complained about already."""

    @property
    def path(self) -> Path:
        """Where it stands."""
        return ("workload", self.index)


@dataclass(frozen=True, slots=True)
class _Clash:
    """A problem of one workload; it is only one if none of `keys` is broken."""

    keys: tuple[str, ...]
    path: Path
    message: str


def find_contradictions(
    data: Mapping[str, Any], workloads: Sequence[ShapedWorkload]
) -> list[Problem]:
    """Every contradiction in the plan, in no order."""
    problems = []
    if not {"boot", "workload", "array"} & set(data):
        problems.append(
            Problem((), "there is nothing to do; add a [boot] table or [[workload]] tables")
        )
    for each in workloads:
        problems += [
            Problem((*each.path, *clash.path), clash.message)
            for clash in _check_workload(each)
            if not each.broken & set(clash.keys)
        ]
    drives = data.get("drive")
    if isinstance(drives, list):
        tables = {
            index: table
            for index, table in enumerate(drives[:_MAX_DRIVES_READ])
            if isinstance(table, dict)
        }
        problems += _check_drives(tables, boot=data.get("boot"))
        for each in workloads:
            problems += _check_place(each, tables)
    return problems


def _check_drives(tables: Mapping[int, Mapping[str, Any]], *, boot: object) -> Iterator[Problem]:
    installs = isinstance(boot, dict) and boot.get("mode", "install") == "install"
    lines_of_key: dict[tuple[str, str], int] = {}
    for index, table in tables.items():
        for key in ("serial", "wwn"):
            value = table.get(key)
            if not isinstance(value, str):
                continue
            first = lines_of_key.setdefault((key, value), index)
            if first != index:
                yield Problem(
                    ("drive", index, key),
                    f"{show_value(value)} stands in drive {first + 1} already; "
                    "each drive may be named only once",
                )
        yield from _check_drive(table, path=("drive", index), installs=installs)


def _check_drive(table: Mapping[str, Any], *, path: Path, installs: bool) -> Iterator[Problem]:
    if "serial" not in table and "wwn" not in table:
        yield Problem(path, "has neither serial nor wwn; must have one of them")
        return
    key = "serial" if "serial" in table else "wwn"
    identity, erase = table[key], table.get("erase")
    if not isinstance(identity, str):
        return
    if identity != identity.strip(" "):
        yield Problem((*path, key), "must not begin or end with a blank")
    if isinstance(erase, str) and erase != identity:
        yield Problem(
            (*path, "erase"),
            f"must repeat the {key} {show_value(identity)} exactly, not {show_value(erase)}",
            is_safety=True,
        )
    if erase is None and installs and _is_tested(table):
        yield Problem(
            path,
            f"{show_value(identity)} is not released: a boot test in install mode erases the "
            f"drive; add erase = {quote(identity)}",
        )


def _is_tested(table: Mapping[str, Any]) -> bool:
    role = table.get("role", "target")
    return role in ["target", "control"]  # not a set: it may be unhashable


def _identity_of(table: Mapping[str, Any]) -> str:
    """What a `[[drive]]` table calls its drive; empty where it does not."""
    identity = table["serial"] if "serial" in table else table.get("wwn")
    return identity if isinstance(identity, str) else ""


def _check_place(
    workload: ShapedWorkload, tables: Mapping[int, Mapping[str, Any]]
) -> Iterator[Problem]:
    """The drives that a workload runs on: whether `on` is one, and whether they are released."""
    if "on" in workload.broken:
        return
    wanted = workload.plan.on
    places = {
        index: table
        for index, table in tables.items()
        # Not a set: the values may be unhashable.
        if (wanted in [table.get("serial"), table.get("wwn")] if wanted else _is_tested(table))
    }
    if wanted == "array":
        yield Problem((*workload.path, "on"), f'"array": {NOT_YET}')
        return
    if wanted and not places:
        known = " or ".join(show_value(_identity_of(each)) for each in tables.values())
        yield Problem(
            (*workload.path, "on"),
            f"must be the serial number or WWN of a drive of this plan ({known}), "
            f"not {show_value(wanted)}",
        )
        return
    if len(places) > 1 and wanted:
        numbers = " and ".join(str(index + 1) for index in places)
        yield Problem((*workload.path, "on"), f"{show_value(wanted)} stands in drives {numbers}")
        return
    if workload.broken & _WRITING_KEYS or not workload.plan.writes:
        return
    for index, table in places.items():
        identity = _identity_of(table)
        if identity and table.get("erase") is None:
            yield Problem(
                workload.path,
                f"the {workload.plan.kind} step writes to {show_value(identity)}, which is not "
                f"released; {_ways_out(workload.plan, identity, index + 1)}",
                is_safety=True,
            )


def _ways_out(plan: WorkloadPlan, identity: str, number: int) -> str:
    release = f"add erase = {quote(identity)} to drive {number}"
    if isinstance(plan, MatrixPlan | SqlPlan):
        return f"{release}, or choose a released drive with on"
    keys = []
    if plan.filesystem:
        keys.append('filesystem = "none"')
    if isinstance(plan, FioPlan) and plan.precondition:
        keys.append("precondition = 0")
    if isinstance(plan, FioPlan) and plan.own_modes - READING_MODES:
        keys.append('rw = "read" or "randread"')
    if not isinstance(plan, LotteryPlan) and set(plan.tests) - READING_TESTS:
        keys.append('tests = ["seq-read", "rand-read"]')
    return f"{release}, or only read the bare drive with {' and '.join(keys)}"


def _check_workload(workload: ShapedWorkload) -> Iterator[_Clash]:
    match workload.plan:
        case FioPlan() as plan:
            yield from _check_fio(plan, workload.given)
        case MatrixPlan() as plan:
            yield from _check_matrix(plan)
        case SweepPlan() as plan:
            yield from _check_sweep(plan)
        case LotteryPlan() | SqlPlan():
            pass


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
    if not plan.set_sizes_bytes:
        yield _Clash(
            ("cache_size", "set_sizes"),
            (),
            "has neither cache_size nor set_sizes; must have one of them",
        )
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
