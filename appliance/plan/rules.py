# SPDX-License-Identifier: Apache-2.0
"""A plan's rules about several keys: its drives' identities, releases, where workloads run.

Pure; rules between the keys of one workload are its class's. Skips what `plan/tables` has
complained about, so that every mistake is reported at once. Must never treat a drive as released
that is not.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from appliance.plan.compose import quote
from appliance.plan.model import Boot, PlannedDrive
from appliance.plan.tables import Shape
from appliance.plan.workloads import ARRAY, MAX_BOOTED_DRIVES, WorkloadPlan
from appliance.plan.writes import (
    MEMBER_ROLES,
    TESTED_ROLES,
    Cause,
    Work,
    find_causes,
    list_works,
)
from appliance.problem import Problem
from appliance.toml.fields import Reading
from appliance.toml.values import show_value
from appliance.units import show_size

type _Drives = Mapping[int, Reading[PlannedDrive]]
"""`[[drive]]` tables by their index."""

MAX_REPLAYED_BYTES = 2 << 30
"""Each read's time is stored: some 50,000 in each boot."""
MAX_DRAWN_ROWS = 250_000
"""Draws of lotteries, and their figures, of all drives: a report has them in memory at once. It
took 1.2 kB for each draw and 3.6 kB for each figure (40,000 and 12,000 of them, beside 40 MB), so
nearly all being draws these take 300 MB, and 900 MB if all were figures, of the 1 GiB that a
machine has at least. It is done in minutes, too."""
LEAST_COOLED_BYTES = 2 << 20
"""The built-in list of a smaller boot has too few reads for two probes on all but the smallest
drives, and there by chance. Of a larger one `plan_cooling` knows."""


def find_contradictions(shape: Shape) -> list[Problem]:
    """Every contradiction in the plan, in no order."""
    problems = [
        Problem((*workload.path, *clash.path), clash.message)
        for workload in shape.workloads.values()
        for clash in workload.value.find_clashes(workload.given)
        if not workload.broken & set(clash.keys)
    ]
    return [*problems, *_check_boot(shape), *_check_places(shape), *_check_draws(shape)]


def _check_draws(shape: Shape) -> Iterator[Problem]:
    """Lotteries whose report would need more memory than there is; the first one too many."""
    tested = sum(map(_is_tested, shape.drives.values()))
    rows = 0
    for workload in shape.workloads.values():
        rows += workload.value.drawn_rows * (len(workload.value.on) or tested)
        if workload.value.drawn_rows and rows > MAX_DRAWN_ROWS:
            yield Problem(
                workload.path,
                f"the plan's lotteries up to here make {rows} draws and figures on all drives; at "
                f"most {MAX_DRAWN_ROWS} are allowed, because the report holds them in memory at "
                "once; lower repeat or tickets, leave out passes, or test fewer drives in one plan",
            )
            return


def _check_boot(shape: Shape) -> Iterator[Problem]:
    """What is only for one of the modes."""
    if shape.boot is None or "mode" in shape.boot.broken:
        return
    boot, keys = shape.boot.value, shape.boot.given - shape.boot.broken
    if boot.mode == "install":
        if "trace" in keys:
            yield Problem(("boot", "trace"), 'is only for mode = "replay"')
        if "path" in keys and boot.path != "stick" and ARRAY in shape.plan.given:
            message = "is not for a plan with an [array]: no firmware starts from an array"
            yield Problem(("boot", "path"), f"{quote(boot.path)} {message}")
        if boot.starts_installed:
            yield from _check_installed(boot, keys)
        if "cool" in keys and boot.cool != "none":
            message = (
                'is for mode = "replay"; an installed system is read until the machine is off, '
                "and the drive would know it again"
            )
            yield Problem(("boot", "cool"), message)
    else:
        yield from _check_replay(boot, keys)


def _check_replay(boot: Boot, given: Collection[str]) -> Iterator[Problem]:
    """What is only for a system that is started, and what a replay cannot have at once."""
    if "cool" in given and boot.cool != "none" and "train" in given and boot.train:
        message = "makes a drive learn before its boots, and cool makes it forget; leave out one"
        yield Problem(("boot", "train"), message)
    if "charts" in given and boot.charts != "none":
        yield Problem(("boot", "charts"), 'is for mode = "install"; a replay starts no system')
    if "path" in given and boot.path != "stick":
        yield Problem(("boot", "path"), 'is for mode = "install"; a replay starts no system')
    if "boot_set" in given and boot.boot_set_bytes > MAX_REPLAYED_BYTES:
        message = f'must be at most "{show_size(MAX_REPLAYED_BYTES)}" with mode = "replay"'
        yield Problem(("boot", "boot_set"), message)
    is_cooled = "cool" in given and boot.cool != "none" and "trace" not in given
    if is_cooled and "boot_set" in given and boot.boot_set_bytes < LEAST_COOLED_BYTES:
        message = (
            f'must be at least "{show_size(LEAST_COOLED_BYTES)}" with cool = {quote(boot.cool)}: '
            "a smaller boot has too few reads to probe"
        )
        yield Problem(("boot", "boot_set"), message)


def _check_installed(boot: Boot, given: Collection[str]) -> Iterator[Problem]:
    """What is only for a system that Kaltstart has made."""
    if "boot_set" in given and boot.boot_set_bytes != Boot().boot_set_bytes:
        message = 'is not for path = "installed": the drive\'s own system reads what it reads'
        yield Problem(("boot", "boot_set"), message)
    if "charts" in given and boot.charts != "none":
        message = 'is not for path = "installed": the drive\'s own system draws no charts'
        yield Problem(("boot", "charts"), message)


def _check_starts(
    drives: _Drives, works: Sequence[Work], *, starts_installed: bool
) -> Iterator[Problem]:
    """Releases for being started: its own system writes to a drive as soon as it runs."""
    for index, drive in drives.items():
        identity = _identity_of(drive)
        if not identity or "start" in drive.broken:
            continue
        if not starts_installed:
            if "start" in drive.given:
                message = 'is only for a [boot] table with path = "installed"'
                yield Problem((*drive.path, "start"), message)
            continue
        message = (
            "the drive's own system is started, and no other test of the campaign may write to it"
        )
        if "erase" in drive.given:
            yield Problem((*drive.path, "erase"), f"must not be given: {message}")
        for cause in find_causes(works, index, _role_of(drive)):
            if isinstance(cause, int):
                yield Problem(("workload", cause), f"writes to {show_value(identity)}: {message}")
        if "start" not in drive.given and _is_tested(drive):
            yield Problem(
                ("drive", index),
                f"{show_value(identity)} is not released for being started: its own system writes "
                f"to it then; add start = {quote(identity)}",
                kind="release",
            )


def _check_places(shape: Shape) -> Iterator[Problem]:
    """Every contradiction about the drives, in no order; less where none of them can be read."""
    drives = shape.drives
    boot = shape.boot
    is_known = boot is not None and not boot.broken & {"mode", "path"}
    installs = boot is not None and is_known and boot.value.installs
    has_array = ARRAY in shape.plan.given
    yield from _check_names(drives)
    for drive in drives.values():
        yield from _check_drive(drive)
    if (has_array or installs) and len(drives) > MAX_BOOTED_DRIVES:
        message = f"must be at most {MAX_BOOTED_DRIVES} [[drive]] tables in a plan with "
        what = "an [array] table" if has_array else "a [boot] table"
        yield Problem(("drive",), f"{message}{what}: each drive has a boot entry of its own")
    if has_array:
        yield from _check_members(drives)
        yield from _check_use(shape)
    for drive in drives.values():
        if not has_array and _role_of(drive) in MEMBER_ROLES:
            message = f"{show_value(_role_of(drive))} is for a plan with an [array] table"
            yield Problem((*drive.path, "role"), message)
    works: list[Work] = []
    for index, workload in shape.workloads.items():
        if "on" not in workload.broken:
            yield from _check_workload(index, workload, drives, has_array=has_array, works=works)
    works_of_all = list_works(works, installs=installs, has_array=has_array)
    starts_installed = boot is not None and is_known and boot.value.starts_installed
    if boot is None or is_known:
        yield from _check_starts(drives, works_of_all, starts_installed=starts_installed)
    if not starts_installed:
        yield from _check_releases(drives, works_of_all, shape.workloads)


def _check_names(drives: _Drives) -> Iterator[Problem]:
    firsts: dict[tuple[str, str], int] = {}
    called: dict[str, int] = {}
    for index, drive in drives.items():
        identity = _identity_of(drive)
        first = called.setdefault(identity, index)
        if identity and first != index and _key_of(drive) != _key_of(drives[first]):
            yield Problem(
                drive.path,
                f"{show_value(identity)} is what drive {first + 1} is called too; "
                "name one of them by its other identity",
            )
        for key, other in (("serial", "wwn"), ("wwn", "serial")):
            value = drive.values[key]
            first = firsts.setdefault((key, value), index)
            if value and first != index:
                yield Problem(
                    (*drive.path, key),
                    f"{show_value(value)} is in drive {first + 1} already; "
                    "a drive may be named only once",
                )
            if value == ARRAY:
                yield Problem(
                    (*drive.path, key),
                    f'must not be "{ARRAY}", which is what on calls the array of two drives; '
                    f"name the drive by its {other} alone",
                )


def _check_drive(drive: Reading[PlannedDrive]) -> Iterator[Problem]:
    key, identity = _key_of(drive), _identity_of(drive)
    if not identity:
        return
    if identity != identity.strip(" "):
        yield Problem((*drive.path, key), "must not begin or end with a space")
    for release, typed in (("erase", drive.value.erase), ("start", drive.value.start)):
        if release in drive.given - drive.broken and typed != identity:
            yield Problem(
                (*drive.path, release),
                f"must repeat the {key} {show_value(identity)} exactly, not {show_value(typed)}",
                kind="release",
            )


def _check_members(drives: _Drives) -> Iterator[Problem]:
    """The drives that the array is made of."""
    for role in MEMBER_ROLES:
        numbers = [str(index + 1) for index, drive in drives.items() if _role_of(drive) == role]
        if len(numbers) > 1:
            reason = f"drives {' and '.join(numbers)} have it"
        elif not numbers and _has_known_roles(drives):
            reason = "no drive has it"
        else:
            continue
        yield Problem((ARRAY,), f"needs exactly one drive with role = {quote(role)}; {reason}")


def _check_use(shape: Shape) -> Iterator[Problem]:
    """An array that nothing runs on would be made for nothing."""
    boot, workloads = shape.boot, shape.workloads.values()
    if boot is not None:
        if boot.value.mode == "install" or "mode" in boot.broken:
            return
        if _has_known_roles(shape.drives) and not any(map(_is_tested, shape.drives.values())):
            message = (
                'only "install" boots an array; a replay reads drives with the role target or '
                "control, and no drive has it"
            )
            yield Problem(("boot", "mode"), message)
    if (boot is None and not workloads) or shape.has_unknown_workloads:
        return
    if not any(ARRAY in workload.value.on or "on" in workload.broken for workload in workloads):
        yield Problem(
            (ARRAY,),
            f"nothing uses it; add on = {quote(ARRAY)} to a workload, "
            'or a [boot] table with mode = "install"',
        )


def _check_workload(
    index: int,
    workload: Reading[WorkloadPlan],
    drives: _Drives,
    *,
    has_array: bool,
    works: list[Work],
) -> Iterator[Problem]:
    """Whether `on` names drives of the plan; what the workload does there is put into `works`."""
    places: set[int] = set()
    on = workload.value.on
    if on:
        yield from _find_places(workload, drives, has_array=has_array, found=places)
    elif has_array and _has_known_roles(drives) and not any(map(_is_tested, drives.values())):
        yield Problem(
            (*workload.path, "on"),
            "is missing, and no drive has the role target or control; "
            f"add on = {quote(ARRAY)} or a drive's serial number",
        )
    count = len(on) if on else sum(map(_is_tested, drives.values()))
    if workload.value.reads_others and count < 2 and (on or _has_known_roles(drives)):
        message = "compares drives with each other; it needs two or more"
        yield Problem(workload.path, message)
    if not workload.broken & workload.value.writing_keys:
        works.append(Work(index, frozenset(places) if on else None, workload.value.writes))


def _check_releases(
    drives: _Drives, works: Sequence[Work], workloads: Mapping[int, Reading[WorkloadPlan]]
) -> Iterator[Problem]:
    """The drives that the plan writes to and does not release; drives are called by their index."""
    for index, drive in drives.items():
        identity = _identity_of(drive)
        if not identity or "erase" in drive.given:
            continue
        causes = find_causes(works, index, _role_of(drive))
        # The array's own drives must be released whatever runs on them; that is reported once.
        for cause in ("array",) if "array" in causes else causes:
            yield _describe_unreleased(identity, index, cause, workloads)


def _describe_unreleased(
    identity: str, index: int, cause: Cause, workloads: Mapping[int, Reading[WorkloadPlan]]
) -> Problem:
    if not isinstance(cause, int):
        what = "a boot test in install mode" if cause == "boot" else "making the array"
        return Problem(
            ("drive", index),
            f"{show_value(identity)} is not released: {what} erases the drive; "
            f"add erase = {quote(identity)}",
            kind="release",
        )
    workload = workloads[cause]
    return Problem(
        workload.path,
        f"the {workload.value.kind} step writes to {show_value(identity)}, which is not "
        f"released; {_ways_out(workload.value, identity, index + 1)}",
        kind="release",
    )


def _find_places(
    workload: Reading[WorkloadPlan], drives: _Drives, *, has_array: bool, found: set[int]
) -> Iterator[Problem]:
    """Put the drives that `on` names into `found`."""
    on = workload.value.on
    for position, name in enumerate(on):
        path = (*workload.path, "on", *([position] if len(on) > 1 else []))
        if name == ARRAY:
            if not has_array:
                yield Problem(
                    path, f"{show_value(name)} needs an [array] table, which is not in this plan"
                )
            continue
        matching = {
            index
            for index, drive in drives.items()
            if name in {drive.value.serial, drive.value.wwn}
        }
        if not drives:
            continue
        if not matching:
            identities = filter(None, map(_identity_of, drives.values()))
            known = " or ".join(map(show_value, identities))
            those = f" ({known})" if known else ""
            array = f' or "{ARRAY}"' if has_array else ""
            yield Problem(
                path,
                f"must be the serial number or WWN of a drive of this plan{those}{array}, "
                f"not {show_value(name)}",
            )
        elif len(matching) > 1:
            numbers = " and ".join(str(index + 1) for index in sorted(matching))
            yield Problem(path, f"{show_value(name)} is in drives {numbers}")
        elif matching <= found:
            (index,) = matching
            yield Problem(path, f"{show_value(name)} is drive {index + 1}, which is already named")
        else:
            found |= matching


def _role_of(drive: Reading[PlannedDrive]) -> str:
    """Empty where it is none that there is."""
    return "" if "role" in drive.broken else drive.value.role


def _has_known_roles(drives: _Drives) -> bool:
    return bool(drives) and all(map(_role_of, drives.values()))


def _is_tested(drive: Reading[PlannedDrive]) -> bool:
    return _role_of(drive) in TESTED_ROLES


def _key_of(drive: Reading[PlannedDrive]) -> str:
    """By which of its keys a plan calls the drive."""
    return "serial" if "serial" in drive.given else "wwn"


def _identity_of(drive: Reading[PlannedDrive]) -> str:
    """What it calls the drive then; empty where it does not, or not so that it can be read."""
    return str(drive.values[_key_of(drive)])


def _ways_out(plan: WorkloadPlan, identity: str, number: int) -> str:
    release = f"add erase = {quote(identity)} to drive {number}"
    if ways := plan.ways_to_read:
        return f"{release}, or only read the bare drive with {' and '.join(ways)}"
    return f"{release}, or choose a released drive with on"
