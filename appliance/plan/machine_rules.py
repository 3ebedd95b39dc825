# SPDX-License-Identifier: Apache-2.0
"""Conflicts between a plan and this machine: its drives, their sizes, its RAM.

Pure: it is given what `drives.probe` found, and must never touch a drive.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from appliance.drives.model import Drive, prefer_with_capacity
from appliance.drives.safety import STICK_LABELS, explain_no_capacity
from appliance.phrases import N_, Phrase, join_phrases
from appliance.plan.compose import quote
from appliance.plan.model import MIN_BUCKETS, ArrayPlan, Boot, Plan, PlannedDrive
from appliance.plan.workloads import ARRAY, WorkloadPlan
from appliance.problem import Problem
from appliance.samples.fio_options import BUFFER_SHARE
from appliance.toml.values import show_value
from appliance.units import format_drive_size, printable, show_size

# Partition table, alignment and the file system around the installed system.
_INSTALL_EXTRA_BYTES = 64 << 20
# What bcache keeps of the backing drive's beginning (BDEV_DATA_START_DEFAULT, bcache.h).
_ARRAY_START_BYTES = 16 * 512


def find_conflicts(
    plan: Plan,
    drives: Sequence[Drive],
    *,
    stick: Drive | None,
    root_bytes: int = 0,
    ram_bytes: int = 0,
) -> tuple[Problem, ...]:
    """What forbids running `plan` on the `drives` that are here: safety refusals.

    `stick` is the stick this runs from; `root_bytes` is the size of the system an install writes;
    `ram_bytes` is the machine's memory, 0 where it is not known.
    """
    conflicts: list[Problem] = []
    paths: list[str] = []
    for planned in plan.drives:
        conflicts += _check_live(plan, planned, drives, stick=stick, root_bytes=root_bytes)
        paths += [drive.path for drive in _find_live(planned, drives)]
    conflicts += [
        _say(
            Phrase(
                N_("{path} is named twice in the plan, by serial and by WWN"), path=printable(path)
            )
        )
        for path, times in Counter(paths).items()
        if times > 1
    ]
    conflicts += find_bystanders(plan, drives, stick=stick)
    if ram_bytes:
        conflicts += _check_ram(plan, ram_bytes)
    return tuple(conflicts)


def _say(text: str, *path: str | int) -> Problem:
    """With what of the plan to change, if that would help."""
    return Problem(path, text, kind="conflict")


@dataclass(frozen=True, slots=True)
class _Room:
    """Where steps run: a drive, or the array."""

    name: str
    """For people."""
    place: str
    """As `Plan.places_of` calls it."""
    size_bytes: int
    is_booted: bool
    undone_by: frozenset[str]
    """The places whose steps erase what lies here: an array's are its own drives."""


def _check_room(plan: Plan, room: _Room, *, root_bytes: int) -> Iterator[Problem]:
    """What does not fit there."""

    def tell(what: str, needed_bytes: int, *path: str | int) -> Problem:
        return _say(
            Phrase(
                N_("{name} holds {size}; {what} needs about {needed}"),
                name=room.name,
                size=format_drive_size(room.size_bytes),
                what=what,
                needed=format_drive_size(needed_bytes),
            ),
            *path,
        )

    if plan.boot is not None and room.is_booted:
        needed = _count_boot_bytes(plan.boot, root_bytes)
        if room.size_bytes < needed:
            yield tell(N_("the boot test"), needed, "boot")
    made = ""
    files_by_kind: dict[str, tuple[str, int]] = {}
    for number, workload, where in _list_steps(plan):
        if where in room.undone_by:
            made, files_by_kind = "", {}
        if where != room.place:
            continue
        if workload.writes and workload.filesystem != made:
            made = workload.filesystem
            files_by_kind = {}
        # What a kind finds of its own it uses again, or puts its new files in its place.
        others = [
            files
            for kind, files in files_by_kind.items()
            if workload.filesystem and kind != workload.kind
        ]
        needed = workload.needed_bytes(others_bytes=sum(size_bytes for _, size_bytes in others))
        if room.size_bytes < needed:
            step = _name(number, workload, beside=[name for name, _ in others])
            yield tell(step, needed, "workload", number - 1)
            continue
        own_bytes = workload.data_bytes
        # The file of fio never becomes smaller.
        is_smaller = workload.kind == "fio" and own_bytes < files_by_kind.get("fio", ("", 0))[1]
        if workload.filesystem and workload.keeps_files and not is_smaller:
            files_by_kind[workload.kind] = _name(number, workload), own_bytes


def _count_boot_bytes(boot: Boot, root_bytes: int) -> int:
    if boot.starts_installed:
        return 0
    if boot.mode == "install":
        return root_bytes + boot.boot_set_bytes + _INSTALL_EXTRA_BYTES
    return 0 if boot.trace else boot.boot_set_bytes  # a trace is compared with the drives itself


def _list_steps(plan: Plan) -> Iterator[tuple[int, WorkloadPlan, str]]:
    for number, workload in enumerate(plan.workloads, start=1):
        for place in plan.places_of(workload):
            yield number, workload, place


def _check_member(array: ArrayPlan, role: str, drive: Drive, *, name: str) -> Iterator[Problem]:
    """What of a live drive is against making the array of it."""
    logical_bytes = drive.logical_block_bytes
    # "Superblock block size smaller than device block size" (super.c, `read_super_common`).
    if 0 < array.block_bytes < logical_bytes:
        yield _say(
            Phrase(
                N_(
                    "{name} has logical blocks of {bytes} bytes; array.block must be that at "
                    "least, not {least}"
                ),
                name=name,
                bytes=logical_bytes,
                least=array.block_bytes,
            ),
            "array",
            "block",
        )
    least_bytes = MIN_BUCKETS * array.bucket_bytes
    if role == "cache" and drive.size_bytes < least_bytes:
        yield _say(
            Phrase(
                N_(
                    '{name} holds {size}; a cache in buckets of "{bucket}" needs about '
                    "{least}; make array.bucket smaller"
                ),
                name=name,
                size=format_drive_size(drive.size_bytes),
                bucket=show_size(array.bucket_bytes),
                least=format_drive_size(least_bytes),
            ),
            "array",
            "bucket",
        )


def _join(words: Iterable[str]) -> str:
    return join_phrases(words, N_("{first} and {rest}"))


def _name(number: int, workload: WorkloadPlan, *, beside: Sequence[str] = ()) -> str:
    """`beside`: whose files are there already."""
    name = Phrase(N_("workload {number} ({kind})"), number=number, kind=workload.kind)
    if not beside:
        return name
    return Phrase(N_("{what}, beside the files of {name},"), what=name, name=_join(beside))


def _check_ram(plan: Plan, ram_bytes: int) -> Iterator[Problem]:
    for number, workload in enumerate(plan.workloads, start=1):
        wanted_bytes = workload.wanted_ram_bytes
        if wanted_bytes >= ram_bytes:
            yield _say(
                Phrase(
                    N_("{name} is to run in {size} of RAM; this machine has no more than {total}"),
                    name=_name(number, workload),
                    size=_show_ram(wanted_bytes),
                    total=_show_ram(ram_bytes),
                ),
                "workload",
                number - 1,
            )
        if workload.buffer_bytes > ram_bytes * BUFFER_SHARE:
            yield _say(
                Phrase(
                    N_(
                        "{name} takes {size} of RAM for its buffers (block × iodepth × "
                        "numjobs), more than a quarter of this machine's {total}; make one "
                        "of them smaller"
                    ),
                    name=_name(number, workload),
                    size=_show_ram(workload.buffer_bytes),
                    total=_show_ram(ram_bytes),
                ),
                "workload",
                number - 1,
            )


def _show_ram(size_bytes: int) -> str:
    """Memory is sold in binary units."""
    if size_bytes < 1 << 30:
        return f"{size_bytes / (1 << 20):.0f} MiB"
    return f"{size_bytes / (1 << 30):.1f} GiB"


def _find_live(planned: PlannedDrive, drives: Sequence[Drive]) -> list[Drive]:
    here = [drive for drive in drives if not drive.main_path]
    if planned.serial:
        return prefer_with_capacity([drive for drive in here if drive.serial == planned.serial])
    return prefer_with_capacity([drive for drive in here if drive.wwn == planned.wwn])


def _check_live(
    plan: Plan,
    planned: PlannedDrive,
    drives: Sequence[Drive],
    *,
    stick: Drive | None,
    root_bytes: int,
) -> Iterator[Problem]:
    key = "serial" if planned.serial else "WWN"
    name = Phrase(N_("drive {drive}"), drive=show_value(planned.identity))
    live = _find_live(planned, drives)
    if stick is not None and (
        stick.path in {drive.path for drive in live} or _find_live(planned, [stick])
    ):
        yield _say(
            Phrase(N_("{name} is the stick this runs from; it is never a drive to test"), name=name)
        )
        return
    if not live:
        yield _say(_describe_absence(planned, drives, stick=stick))
        return
    if len(live) > 1:
        words = N_("{name} is ambiguous: {what} report the same {key}; take out all but one")
        message = Phrase(
            words, name=name, what=_join(printable(drive.path) for drive in live), key=key
        )
        yield _say(_offer_wwns(live, _explain_sharing(live, message)))
        return
    drive = live[0]
    if not drive.size_bytes:
        yield _say(
            Phrase(
                "{name} ({path}) {what}",
                name=name,
                path=printable(drive.path),
                what=explain_no_capacity(drive),
            )
        )
        return
    yield from _check_identity(planned, drive)
    if drive.mountpoints:
        places = ", ".join(show_value(place) for place in drive.mountpoints)
        yield _say(
            Phrase(
                N_("{name} ({path}) is mounted at {places}"),
                name=name,
                path=printable(drive.path),
                places=places,
            )
        )
    if drive.holders:
        holders = ", ".join(printable(holder) for holder in drive.holders)
        yield _say(
            Phrase(
                N_("{name} ({path}) is in use by {holders}"),
                name=name,
                path=printable(drive.path),
                holders=holders,
            )
        )
    if drive.write_protected and planned in plan.written_drives:
        yield _say(
            Phrase(
                N_(
                    "{name} ({path}) is write-protected by the drive itself; look for a "
                    "switch on it or on its case and plug it in again, or give it only tests "
                    "that read"
                ),
                name=name,
                path=printable(drive.path),
            )
        )
    if drive.twins and planned in plan.written_drives:
        paths = ", ".join(printable(path) for path in drive.twins)
        yield _say(
            Phrase(
                N_(
                    "{name} ({path}) shows the same identity as {paths}, so nothing is "
                    "written to it; take out all but one, or give it only tests that read"
                ),
                name=name,
                path=printable(drive.path),
                paths=paths,
            )
        )
    yield from _check_paths(plan, planned, drive, name=name)
    yield from _check_fit(plan, planned, drive, root_bytes=root_bytes)


def _check_paths(
    plan: Plan, planned: PlannedDrive, drive: Drive, *, name: str
) -> Iterator[Problem]:
    """What a drive with two paths is not used for: the kernel takes either path by a UUID."""
    is_booted = plan.boot is not None and plan.boot.mode == "install" and planned.is_tested
    is_member = plan.array is not None and not planned.is_tested
    if drive.other_paths and (is_booted or is_member):
        paths = _join(printable(path) for path in (drive.path, *drive.other_paths))
        what = N_("an array") if is_member else N_("a boot test that installs a system")
        yield _say(
            Phrase(
                N_(
                    "{name} is reached over {rest}: for {what} take out the cable of all "
                    "paths but one"
                ),
                name=name,
                rest=paths,
                what=what,
            )
        )


def _explain_sharing(live: Sequence[Drive], message: str) -> str:
    """What cannot be distinguished: devices of one drive share its serial number."""
    shared = {
        "nvme": N_("namespaces of one NVMe drive"),
        "sas": N_("the two actuators of one SAS drive"),
    }
    what = {shared.get(drive.transport, "") for drive in live}
    if len(what) != 1 or "" in what:
        return message
    words = N_("{what}; if they are {name}, it cannot be tested")
    return Phrase(words, what=message, name=what.pop())


def _offer_wwns(live: Sequence[Drive], message: str) -> str:
    """By what else they can be named, where that tells them apart."""
    if len({drive.wwn for drive in live} - {""}) < len(live):
        return message
    names = join_phrases((f"wwn = {quote(drive.wwn)}" for drive in live), N_("{first} or {rest}"))
    words = N_("{what}, or only read the one you mean and name it by its WWN alone: {name}")
    return Phrase(words, what=message, name=names)


def _check_identity(planned: PlannedDrive, drive: Drive) -> Iterator[Problem]:
    """What the live drive is otherwise than the plan says."""
    name = Phrase(N_("drive {drive}"), drive=show_value(planned.identity))
    if planned.wwn and drive.wwn != planned.wwn:
        there = f"WWN {show_value(drive.wwn)}" if drive.wwn else N_("no WWN")
        words = N_("{name} reports {what}, the plan says {planned}")
        yield _say(Phrase(words, name=name, what=there, planned=show_value(planned.wwn)))
    if planned.model and planned.model not in {drive.model, drive.bare_model}:
        there, planned_model = show_value(drive.model), show_value(planned.model)
        yield _say(
            Phrase(
                N_("{name} is a {model}, the plan says {planned}"),
                name=name,
                model=there,
                planned=planned_model,
            )
        )
    if planned.size_bytes and planned.size_bytes != drive.size_bytes:
        yield _say(
            Phrase(
                N_("{name} has {bytes} bytes, the plan says {planned}"),
                name=name,
                bytes=drive.size_bytes,
                planned=planned.size_bytes,
            )
        )
    if not ((planned.released or planned.may_start) and drive.serial_doubt):
        return
    # A number that other drives have too releases nothing alone.
    needed = []
    if drive.model and not planned.model:
        needed.append(f"model = {quote(drive.model)}")
    if not planned.size_bytes:
        needed.append(f"size = {drive.size_bytes}")
    if needed:
        yield _say(
            Phrase(
                N_(
                    "{name}: {what}; to release it add {rest} beside {key}, if this is the drive "
                    "you mean"
                ),
                name=name,
                what=drive.serial_doubt,
                rest=_join(needed),
                key="erase" if planned.released else "start",
            )
        )


def _describe_absence(
    planned: PlannedDrive, drives: Sequence[Drive], *, stick: Drive | None
) -> str:
    name = Phrase(N_("drive {drive}"), drive=show_value(planned.identity))
    housed = [
        show_value(drive.identity)
        for drive in drives
        if planned.serial and drive.enclosure_serial == planned.serial
    ]
    if housed:
        return Phrase(
            N_("{name} is no drive but the enclosure of {what}; name the drive"),
            name=name,
            what=_join(housed),
        )
    words = N_("{name} is not here; {what}")
    return Phrase(words, name=name, what=_list_drives(drives, stick=stick))


def find_doubtful_releases(plan: Plan, drives: Sequence[Drive]) -> tuple[str, ...]:
    """Why `plan` is not to start automatically, one line for each drive; empty where it may."""
    return tuple(
        Phrase(
            N_(
                "drive {drive}: {what}; the plan does not start automatically: look at the "
                "drive, then start it by hand"
            ),
            drive=show_value(planned.identity),
            what=drive.serial_doubt,
        )
        for planned in plan.drives
        if planned.released or planned.may_start
        for drive in _find_live(planned, drives)
        if drive.serial_doubt
    )


def find_bystanders(
    plan: Plan, drives: Sequence[Drive], *, stick: Drive | None = None
) -> tuple[Problem, ...]:
    """Drives that a started system may write to although they were not released, one by one.

    Sticks are none. Then those of which one may be started for the other. Empty for plans that
    start no system but Kaltstart's.
    """
    if plan.boot is None or not plan.boot.starts_installed:
        return ()
    released = {
        drive.path
        for planned in plan.drives
        if planned.may_start
        for drive in _find_live(planned, drives)
    }
    strangers = tuple(
        _say(
            Phrase(
                N_(
                    "drive {drive} ({path}) is not in the plan, and a system that is started "
                    "may write to every drive in the machine: unplug it, or add it with start"
                ),
                drive=show_value(drive.identity),
                path=printable(drive.path),
            )
        )
        for drive in drives
        # What is not ready yet may be by then; a reader without a medium has nothing to write to.
        if (drive.size_bytes or not drive.removable)
        and drive.path not in {*released, stick.path if stick else ""}
        and not STICK_LABELS & set(drive.partition_labels)
    )
    return strangers + tuple(_find_copies([drive for drive in drives if drive.path in released]))


def _find_copies(drives: Sequence[Drive]) -> Iterator[Problem]:
    """The firmware finds a loader, and a system its partitions and file systems, by their UUIDs."""
    for first, other in combinations(drives, 2):
        names = _join(
            f"{show_value(drive.identity)} ({printable(drive.path)})" for drive in (first, other)
        )
        if set(first.partition_uuids) & set(other.partition_uuids):
            yield _say(
                Phrase(
                    N_(
                        "drives {what} have partitions with the same UUID, as a copied "
                        "system has: either may be started for the other; unplug one and "
                        "test it in a campaign of its own"
                    ),
                    what=names,
                )
            )
        elif set(first.file_system_uuids) & set(other.file_system_uuids):
            # Some programs that clone a drive give its partitions new UUIDs.
            yield _say(
                Phrase(
                    N_(
                        "drives {what} have file systems with the same UUID, as a copied "
                        "system has: the system of one drive may mount the other's; unplug "
                        "one and test it in a campaign of its own. Drives of one array "
                        "cannot be started one by one"
                    ),
                    what=names,
                )
            )


def _check_fit(
    plan: Plan, planned: PlannedDrive, drive: Drive, *, root_bytes: int
) -> Iterator[Problem]:
    """What does not fit on the drive, nor on the array if the drive is of it."""
    name = Phrase(N_("drive {drive}"), drive=show_value(planned.identity))
    members = {drive.identity for drive in plan.drives if not drive.is_tested}
    rooms = [
        _Room(
            name,
            place=planned.identity,
            size_bytes=drive.size_bytes,
            is_booted=planned.is_tested,
            undone_by=frozenset() if planned.is_tested else frozenset({ARRAY}),
        )
    ]
    if plan.array is not None and not planned.is_tested:
        yield from _check_member(plan.array, planned.role, drive, name=name)
    if planned.role == "backing":
        rooms.append(
            _Room(
                Phrase(N_("the array on {name}"), name=name),
                place=ARRAY,
                size_bytes=drive.size_bytes - _ARRAY_START_BYTES,
                is_booted=planned in plan.booted_drives,  # not by a replay
                undone_by=frozenset(members),
            )
        )
    for room in rooms:
        yield from _check_room(plan, room, root_bytes=root_bytes)


def _list_drives(drives: Sequence[Drive], *, stick: Drive | None) -> str:
    others = [
        drive
        for drive in drives
        if not drive.main_path and (stick is None or drive.path != stick.path)
    ]
    if not others:
        return N_("no drive is")
    names = join_phrases(
        (
            Phrase(
                "{name} ({place}, {size})",
                name=show_value(drive.identity)
                if drive.identity
                else N_("one without serial or WWN"),
                place=f"{_tell_wwn(drive, others)}{printable(drive.path)}",
                size=format_drive_size(drive.size_bytes),
            )
            for drive in others
        ),
        "{first}, {rest}",
    )
    words = N_("here is {what}") if len(others) == 1 else N_("here are {what}")
    return Phrase(words, what=names)


def _tell_wwn(drive: Drive, others: Sequence[Drive]) -> str:
    """What distinguishes it from another one with its serial number; empty without one."""
    is_shared = sum(other.identity == drive.identity for other in others) > 1
    return f"WWN {show_value(drive.wwn)}, " if is_shared and drive.serial and drive.wwn else ""
