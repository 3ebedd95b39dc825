"""What a plan's tables say of its drives: who is who, what is released, where workloads run.

Pure. Takes what TOML made of the text, of any shape, and skips what `plan_mistakes` has complained
about, so that every mistake is told at once. Must never take a drive for released that is not.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appliance.measure.fio_options import READING_MODES
from appliance.plan_lines import Path
from appliance.plan_text import quote
from appliance.plan_values import show_value
from appliance.plan_workloads import (
    ARRAY,
    READING_TESTS,
    WRITING_KEYS,
    FioPlan,
    LotteryPlan,
    MatrixPlan,
    SelftestPlan,
    SqlPlan,
    SurfacePlan,
    VerifyPlan,
    WorkloadPlan,
)
from appliance.plan_writes import (
    MEMBER_ROLES,
    TESTED_ROLES,
    Cause,
    Work,
    find_causes,
    list_works,
)

_MAX_DRIVES_READ = 100

type _Tables = Mapping[int, Mapping[str, Any]]
"""`[[drive]]` tables by their index."""


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


def check_places(data: Mapping[str, Any], workloads: Sequence[ShapedWorkload]) -> Iterator[Problem]:
    """Every contradiction about the drives, in no order; nothing where they cannot be read."""
    drives = data.get("drive")
    if not isinstance(drives, list):
        return
    tables = {
        index: table
        for index, table in enumerate(drives[:_MAX_DRIVES_READ])
        if isinstance(table, dict)
    }
    boot = data.get("boot")
    installs = isinstance(boot, dict) and boot.get("mode", "install") == "install"
    has_array = "array" in data
    yield from _check_names(tables)
    for index, table in tables.items():
        yield from _check_drive(table, path=("drive", index))
    if has_array:
        yield from _check_members(tables)
        yield from _check_use(data, workloads)
    for index, table in tables.items():
        if not has_array and _role_of(table) in MEMBER_ROLES:
            yield Problem(
                ("drive", index, "role"),
                f"{show_value(_role_of(table))} is for a plan with an [array] table",
            )
    works: list[Work] = []
    for each in workloads:
        if "on" not in each.broken:
            yield from _check_workload(each, tables, has_array=has_array, works=works)
    yield from _check_releases(
        tables,
        list_works(works, installs=installs, has_array=has_array),
        {each.index: each for each in workloads},
    )


def _check_names(tables: _Tables) -> Iterator[Problem]:
    lines_of_key: dict[tuple[str, str], int] = {}
    called: dict[str, int] = {}
    for index, table in tables.items():
        identity = _identity_of(table)
        first = called.setdefault(identity, index)
        if identity and first != index and ("serial" in table) != ("serial" in tables[first]):
            yield Problem(
                ("drive", index),
                f"{show_value(identity)} is what drive {first + 1} is called too; "
                "name one of them by its other identity",
            )
        for key, other in (("serial", "wwn"), ("wwn", "serial")):
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
            if value == ARRAY:
                yield Problem(
                    ("drive", index, key),
                    f'must not be "{ARRAY}", which is what on calls the array of two drives; '
                    f"name the drive by its {other} alone",
                )


def _check_drive(table: Mapping[str, Any], *, path: Path) -> Iterator[Problem]:
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


def _check_members(tables: _Tables) -> Iterator[Problem]:
    """The drives that the array is made of."""
    for role in MEMBER_ROLES:
        numbers = [str(index + 1) for index, table in tables.items() if _role_of(table) == role]
        if len(numbers) > 1:
            found = f"drives {' and '.join(numbers)} have it"
        elif not numbers and _has_known_roles(tables):
            found = "no drive has it"
        else:
            continue
        yield Problem((ARRAY,), f"needs exactly one drive with role = {quote(role)}; {found}")


def _check_use(data: Mapping[str, Any], workloads: Sequence[ShapedWorkload]) -> Iterator[Problem]:
    """An array that nothing runs on would be made for nothing."""
    if "boot" in data or not workloads or len(workloads) < len(data["workload"]):
        return
    if not any(ARRAY in each.plan.on or "on" in each.broken for each in workloads):
        yield Problem(
            (ARRAY,),
            f"nothing runs on it; add on = {quote(ARRAY)} to a workload, or a [boot] table",
        )


def _check_workload(
    workload: ShapedWorkload, tables: _Tables, *, has_array: bool, works: list[Work]
) -> Iterator[Problem]:
    """Whether `on` names drives of the plan; what the workload does there is put into `works`."""
    places: dict[int, Mapping[str, Any]] = {}
    if workload.plan.on:
        yield from _find_places(workload, tables, has_array=has_array, found=places)
    elif has_array and _has_known_roles(tables) and not any(map(_is_tested, tables.values())):
        yield Problem(
            (*workload.path, "on"),
            "is missing, and no drive has the role target or control; "
            f"add on = {quote(ARRAY)} or a drive's serial number",
        )
    if not workload.broken & WRITING_KEYS:
        on = frozenset(places) if workload.plan.on else None
        works.append(Work(workload.index, on, workload.plan.writes))


def _check_releases(
    tables: _Tables, works: Sequence[Work], workloads: Mapping[int, ShapedWorkload]
) -> Iterator[Problem]:
    """The drives that the plan writes to and does not release; drives are called by their index."""
    for index, table in tables.items():
        identity = _identity_of(table)
        if not identity or table.get("erase") is not None:
            continue
        causes = find_causes(works, index, _role_of(table))
        # The array's own drives must be released whatever runs on them; that is told once.
        for cause in ("array",) if "array" in causes else causes:
            yield _describe_unreleased(identity, index, cause, workloads)


def _describe_unreleased(
    identity: str, index: int, cause: Cause, workloads: Mapping[int, ShapedWorkload]
) -> Problem:
    release = f"add erase = {quote(identity)}"
    match cause:
        case "boot":
            return Problem(
                ("drive", index),
                f"{show_value(identity)} is not released: a boot test in install mode erases the "
                f"drive; {release}",
            )
        case "array":
            return Problem(
                ("drive", index),
                f"{show_value(identity)} is not released: making the array erases the drive; "
                f"{release}",
                is_safety=True,
            )
        case _:
            workload = workloads[cause]
            return Problem(
                workload.path,
                f"the {workload.plan.kind} step writes to {show_value(identity)}, which is not "
                f"released; {_ways_out(workload.plan, identity, index + 1)}",
                is_safety=True,
            )


def _find_places(
    workload: ShapedWorkload,
    tables: _Tables,
    *,
    has_array: bool,
    found: dict[int, Mapping[str, Any]],
) -> Iterator[Problem]:
    """Put the drives that `on` names into `found`."""
    for position, wanted in enumerate(workload.plan.on):
        path = (*workload.path, "on", *([position] if len(workload.plan.on) > 1 else []))
        if wanted == ARRAY:
            if not has_array:
                yield Problem(
                    path, f"{show_value(wanted)} needs an [array] table, which is not in this plan"
                )
            continue
        matching = {
            index: table
            for index, table in tables.items()
            # Not a set: the values may be unhashable.
            if wanted in [table.get("serial"), table.get("wwn")]
        }
        if not matching:
            known = " or ".join(show_value(_identity_of(each)) for each in tables.values())
            array = f' or "{ARRAY}"' if has_array else ""
            yield Problem(
                path,
                f"must be the serial number or WWN of a drive of this plan ({known}){array}, "
                f"not {show_value(wanted)}",
            )
        elif len(matching) > 1:
            numbers = " and ".join(str(index + 1) for index in matching)
            yield Problem(path, f"{show_value(wanted)} stands in drives {numbers}")
        elif matching.keys() <= found.keys():
            (index,) = matching
            yield Problem(
                path, f"{show_value(wanted)} is drive {index + 1}, which is named already"
            )
        else:
            found |= matching


def _role_of(table: Mapping[str, Any]) -> object:
    return table.get("role", "target")


def _has_known_roles(tables: _Tables) -> bool:
    return all(_role_of(each) in TESTED_ROLES + MEMBER_ROLES for each in tables.values())


def _is_tested(table: Mapping[str, Any]) -> bool:
    return _role_of(table) in TESTED_ROLES


def _identity_of(table: Mapping[str, Any]) -> str:
    """What a `[[drive]]` table calls its drive; empty where it does not."""
    identity = table["serial"] if "serial" in table else table.get("wwn")
    return identity if isinstance(identity, str) else ""


def _ways_out(plan: WorkloadPlan, identity: str, number: int) -> str:
    release = f"add erase = {quote(identity)} to drive {number}"
    if isinstance(plan, MatrixPlan | SqlPlan | SurfacePlan | VerifyPlan | SelftestPlan):
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
