# SPDX-License-Identifier: Apache-2.0
"""A plan's rules about several keys: its drives' identities, releases, where workloads run.

Pure; rules between the keys of one workload are its class's. Skips what `plan/tables` has
complained about, so that every mistake is reported at once. Must never treat a drive as released
that is not.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from appliance.phrases import N_, Phrase, join_phrases
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
                Phrase(
                    N_(
                        "the plan's lotteries up to here make {count} draws and figures on "
                        "all drives; at most {most} are allowed, because the report holds "
                        "them in memory at once; lower repeat or tickets, leave out passes, "
                        "or test fewer drives in one plan"
                    ),
                    count=rows,
                    most=MAX_DRAWN_ROWS,
                ),
            )
            return


def _check_boot(shape: Shape) -> Iterator[Problem]:
    """What is only for one of the modes."""
    if shape.boot is None or "mode" in shape.boot.broken:
        return
    boot, keys = shape.boot.value, shape.boot.given - shape.boot.broken
    if boot.mode == "install":
        if "trace" in keys:
            yield Problem(("boot", "trace"), N_('is only for mode = "replay"'))
        if "path" in keys and boot.path != "stick" and ARRAY in shape.plan.given:
            words = N_(
                "{value} is not for a plan with an [array]: no firmware starts from an array"
            )
            yield Problem(("boot", "path"), Phrase(words, value=quote(boot.path)))
        if boot.starts_installed:
            yield from _check_installed(boot, keys)
        if "cool" in keys and boot.cool != "none":
            message = N_(
                'is for mode = "replay"; an installed system is read until the '
                "machine is off, and the drive would know it again"
            )
            yield Problem(("boot", "cool"), message)
    else:
        yield from _check_replay(boot, keys)


def _check_replay(boot: Boot, given: Collection[str]) -> Iterator[Problem]:
    """What is only for a system that is started, and what a replay cannot have at once."""
    if "cool" in given and boot.cool != "none" and "train" in given and boot.train:
        message = N_(
            "makes a drive learn before its boots, and cool makes it forget; leave out one"
        )
        yield Problem(("boot", "train"), message)
    if "charts" in given and boot.charts != "none":
        yield Problem(("boot", "charts"), N_('is for mode = "install"; a replay starts no system'))
    if "path" in given and boot.path != "stick":
        yield Problem(("boot", "path"), N_('is for mode = "install"; a replay starts no system'))
    if "boot_set" in given and boot.boot_set_bytes > MAX_REPLAYED_BYTES:
        message = Phrase(
            N_('must be at most "{value}" with mode = "replay"'),
            value=show_size(MAX_REPLAYED_BYTES),
        )
        yield Problem(("boot", "boot_set"), message)
    is_cooled = "cool" in given and boot.cool != "none" and "trace" not in given
    if is_cooled and "boot_set" in given and boot.boot_set_bytes < LEAST_COOLED_BYTES:
        message = Phrase(
            N_(
                'must be at least "{least}" with cool = {value}: a smaller boot has too '
                "few reads to probe"
            ),
            least=show_size(LEAST_COOLED_BYTES),
            value=quote(boot.cool),
        )
        yield Problem(("boot", "boot_set"), message)


def _check_installed(boot: Boot, given: Collection[str]) -> Iterator[Problem]:
    """What is only for a system that Kaltstart has made."""
    if "boot_set" in given and boot.boot_set_bytes != Boot().boot_set_bytes:
        message = N_('is not for path = "installed": the drive\'s own system reads what it reads')
        yield Problem(("boot", "boot_set"), message)
    if "charts" in given and boot.charts != "none":
        message = N_('is not for path = "installed": the drive\'s own system draws no charts')
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
                message = N_('is only for a [boot] table with path = "installed"')
                yield Problem((*drive.path, "start"), message)
            continue
        message = N_(
            "the drive's own system is started, and no other test of the campaign may write to it"
        )
        if "erase" in drive.given:
            yield Problem(
                (*drive.path, "erase"), Phrase(N_("must not be given: {what}"), what=message)
            )
        for cause in find_causes(works, index, _role_of(drive)):
            if isinstance(cause, int):
                yield Problem(
                    ("workload", cause),
                    Phrase(
                        N_("writes to {value}: {what}"), value=show_value(identity), what=message
                    ),
                )
        if "start" not in drive.given and _is_tested(drive):
            yield Problem(
                ("drive", index),
                Phrase(
                    N_(
                        "{value} is not released for being started: its own system writes to "
                        "it then; add start = {identity}"
                    ),
                    value=show_value(identity),
                    identity=quote(identity),
                ),
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
        words = N_(
            "must be at most {most} [[drive]] tables in a plan with {what}: each drive has a boot "
            "entry of its own"
        )
        what = N_("an [array] table") if has_array else N_("a [boot] table")
        yield Problem(("drive",), Phrase(words, most=MAX_BOOTED_DRIVES, what=what))
    if has_array:
        yield from _check_members(drives)
        yield from _check_use(shape)
    for drive in drives.values():
        if not has_array and _role_of(drive) in MEMBER_ROLES:
            message = Phrase(
                N_("{value} is for a plan with an [array] table"), value=show_value(_role_of(drive))
            )
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
                Phrase(
                    N_(
                        "{value} is what drive {number} is called too; name one of them by "
                        "its other identity"
                    ),
                    value=show_value(identity),
                    number=first + 1,
                ),
            )
        for key, other in (("serial", "wwn"), ("wwn", "serial")):
            value = drive.values[key]
            first = firsts.setdefault((key, value), index)
            if value and first != index:
                yield Problem(
                    (*drive.path, key),
                    Phrase(
                        N_("{value} is in drive {number} already; a drive may be named only once"),
                        value=show_value(value),
                        number=first + 1,
                    ),
                )
            if value == ARRAY:
                yield Problem(
                    (*drive.path, key),
                    Phrase(
                        N_(
                            'must not be "{value}", which is what on calls the array of two '
                            "drives; name the drive by its {other} alone"
                        ),
                        value=ARRAY,
                        other=other,
                    ),
                )


def _check_drive(drive: Reading[PlannedDrive]) -> Iterator[Problem]:
    key, identity = _key_of(drive), _identity_of(drive)
    if not identity:
        return
    if identity != identity.strip(" "):
        yield Problem((*drive.path, key), N_("must not begin or end with a space"))
    for release, typed in (("erase", drive.value.erase), ("start", drive.value.start)):
        if release in drive.given - drive.broken and typed != identity:
            yield Problem(
                (*drive.path, release),
                Phrase(
                    N_("must repeat the {key} {value} exactly, not {typed}"),
                    key=key,
                    value=show_value(identity),
                    typed=show_value(typed),
                ),
                kind="release",
            )


def _check_members(drives: _Drives) -> Iterator[Problem]:
    """The drives that the array is made of."""
    for role in MEMBER_ROLES:
        numbers = [str(index + 1) for index, drive in drives.items() if _role_of(drive) == role]
        if len(numbers) > 1:
            reason: str = Phrase(N_("drives {what} have it"), what=_join(numbers))
        elif not numbers and _has_known_roles(drives):
            reason = N_("no drive has it")
        else:
            continue
        yield Problem(
            (ARRAY,),
            Phrase(
                N_("needs exactly one drive with role = {value}; {what}"),
                value=quote(role),
                what=reason,
            ),
        )


def _check_use(shape: Shape) -> Iterator[Problem]:
    """An array that nothing runs on would be made for nothing."""
    boot, workloads = shape.boot, shape.workloads.values()
    if boot is not None:
        if boot.value.mode == "install" or "mode" in boot.broken:
            return
        if _has_known_roles(shape.drives) and not any(map(_is_tested, shape.drives.values())):
            message = N_(
                'only "install" boots an array; a replay reads drives with the role '
                "target or control, and no drive has it"
            )
            yield Problem(("boot", "mode"), message)
    if (boot is None and not workloads) or shape.has_unknown_workloads:
        return
    if not any(ARRAY in workload.value.on or "on" in workload.broken for workload in workloads):
        yield Problem(
            (ARRAY,),
            Phrase(
                N_(
                    "nothing uses it; add on = {value} to a workload, or a [boot] table with "
                    'mode = "install"'
                ),
                value=quote(ARRAY),
            ),
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
            Phrase(
                N_(
                    "is missing, and no drive has the role target or control; add on = "
                    "{value} or a drive's serial number"
                ),
                value=quote(ARRAY),
            ),
        )
    count = len(on) if on else sum(map(_is_tested, drives.values()))
    if workload.value.reads_others and count < 2 and (on or _has_known_roles(drives)):
        message = N_("compares drives with each other; it needs two or more")
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
        what = N_("a boot test in install mode") if cause == "boot" else N_("making the array")
        return Problem(
            ("drive", index),
            Phrase(
                N_("{value} is not released: {what} erases the drive; add erase = {identity}"),
                value=show_value(identity),
                what=what,
                identity=quote(identity),
            ),
            kind="release",
        )
    workload = workloads[cause]
    return Problem(
        workload.path,
        Phrase(
            N_("the {kind} step writes to {value}, which is not released; {what}"),
            kind=workload.value.kind,
            value=show_value(identity),
            what=_ways_out(workload.value, identity, index + 1),
        ),
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
                    path,
                    Phrase(
                        N_("{value} needs an [array] table, which is not in this plan"),
                        value=show_value(name),
                    ),
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
            known = join_phrases(map(show_value, identities), N_("{first} or {rest}"))
            wanted: str = N_("the serial number or WWN of a drive of this plan")
            if known:
                wanted = Phrase("{what} ({detail})", what=wanted, detail=known)
            if has_array:
                wanted = Phrase(N_("{first} or {rest}"), first=wanted, rest=quote(ARRAY))
            message = Phrase(N_("must be {what}, not {given}"), what=wanted, given=show_value(name))
            yield Problem(path, message)
        elif len(matching) > 1:
            numbers = _join(str(index + 1) for index in sorted(matching))
            yield Problem(
                path,
                Phrase(N_("{value} is in drives {what}"), value=show_value(name), what=numbers),
            )
        elif matching <= found:
            (index,) = matching
            yield Problem(
                path,
                Phrase(
                    N_("{value} is drive {number}, which is already named"),
                    value=show_value(name),
                    number=index + 1,
                ),
            )
        else:
            found |= matching


def _join(words: Iterable[str]) -> str:
    return join_phrases(words, N_("{first} and {rest}"))


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
    release = Phrase(
        N_("add erase = {identity} to drive {number}"), identity=quote(identity), number=number
    )
    if ways := plan.ways_to_read:
        return Phrase(
            N_("{what}, or only read the bare drive with {name}"),
            what=release,
            name=_join(ways),
        )
    return Phrase(N_("{what}, or choose a released drive with on"), what=release)
