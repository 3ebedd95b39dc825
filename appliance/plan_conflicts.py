"""A plan against the machine that is to run it: its drives, their sizes, its RAM.

Pure: it is given what `drives.probe` found, and must never touch a drive.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from appliance.drives.model import Drive
from appliance.plan_model import Plan, PlannedDrive
from appliance.plan_text import show_value
from appliance.plan_workloads import WorkloadPlan, data_bytes, needed_bytes, wanted_ram_bytes
from appliance.units import format_drive_size, printable

# Partition table, alignment and the file system around the installed system.
_INSTALL_EXTRA_BYTES = 64 << 20
# Their files stay on the file system, for what a drive has learned of them; others clear up.
_KEEPING = frozenset({"fio", "lottery", "sql"})


def find_conflicts(
    plan: Plan,
    drives: Sequence[Drive],
    *,
    stick: Drive | None,
    root_bytes: int = 0,
    ram_bytes: int = 0,
) -> tuple[str, ...]:
    """What forbids running `plan` on the `drives` that are here: safety refusals, one line each.

    `stick` is the stick this runs from; `root_bytes` is the size of the system an install writes;
    `ram_bytes` is the machine's memory, 0 where it is not known.
    """
    conflicts: list[str] = []
    found: list[str] = []
    for planned in plan.drives:
        conflicts += _check_live(plan, planned, drives, stick=stick, root_bytes=root_bytes)
        found += [each.path for each in _find_live(planned, drives)]
    conflicts += [
        f"{printable(path)} is named twice in the plan, by serial and by WWN"
        for path, times in Counter(found).items()
        if times > 1
    ]
    if ram_bytes:
        conflicts += _check_ram(plan, ram_bytes)
    return tuple(conflicts)


def _check_room(
    plan: Plan, planned: PlannedDrive, drive_bytes: int, *, root_bytes: int
) -> Iterator[tuple[str, int]]:
    """What does not fit on the drive, and how many bytes it takes there."""
    if plan.boot is not None:
        needed = root_bytes + plan.boot.boot_set_bytes + _INSTALL_EXTRA_BYTES
        if drive_bytes < needed:
            yield "the boot test", needed
    made = ""
    kept: dict[str, tuple[str, int]] = {}
    for number, each in enumerate(plan.workloads, start=1):
        if planned not in plan.drives_of(each):
            continue
        if each.writes and each.filesystem != made:
            made = each.filesystem
            kept = {}
        # What a kind finds of its own it uses again, or puts its new files in its place.
        others = [files for kind, files in kept.items() if each.filesystem and kind != each.kind]
        needed = needed_bytes(each, others_bytes=sum(size_bytes for _, size_bytes in others))
        if drive_bytes < needed:
            beside = " and ".join(name for name, _ in others)
            beside = f", beside the files of {beside}," if beside else ""
            yield f"{_name(number, each)}{beside}", needed
            continue
        own_bytes = data_bytes(each)
        # The file of fio never becomes smaller.
        is_smaller = each.kind == "fio" and own_bytes < kept.get("fio", ("", 0))[1]
        if each.filesystem and each.kind in _KEEPING and not is_smaller:
            kept[each.kind] = _name(number, each), own_bytes


def _name(number: int, workload: WorkloadPlan) -> str:
    return f"workload {number} ({workload.kind})"


def _check_ram(plan: Plan, ram_bytes: int) -> Iterator[str]:
    for number, workload in enumerate(plan.workloads, start=1):
        wanted_bytes = wanted_ram_bytes(workload)
        if wanted_bytes >= ram_bytes:
            yield (
                f"{_name(number, workload)} is to run in {_show_ram(wanted_bytes)} of RAM; "
                f"this machine has no more than {_show_ram(ram_bytes)}"
            )


def _show_ram(size_bytes: int) -> str:
    """Memory is sold in binary units."""
    if size_bytes < 1 << 30:
        return f"{size_bytes / (1 << 20):.0f} MiB"
    return f"{size_bytes / (1 << 30):.1f} GiB"


def _find_live(planned: PlannedDrive, drives: Sequence[Drive]) -> list[Drive]:
    if planned.serial:
        return [each for each in drives if each.serial == planned.serial]
    return [each for each in drives if each.wwn == planned.wwn]


def _check_live(
    plan: Plan,
    planned: PlannedDrive,
    drives: Sequence[Drive],
    *,
    stick: Drive | None,
    root_bytes: int,
) -> Iterator[str]:
    key = "serial" if planned.serial else "WWN"
    name = f"drive {show_value(planned.identity)}"
    live = _find_live(planned, drives)
    if stick is not None and (
        stick.path in {each.path for each in live} or _find_live(planned, [stick])
    ):
        yield f"{name} is the stick this runs from; it is never a drive to test"
        return
    if not live:
        yield f"{name} is not here; {_list_drives(drives, stick=stick)}"
        return
    if len(live) > 1:
        paths = " and ".join(printable(each.path) for each in live)
        yield f"{name} is ambiguous: {paths} report the same {key}; take out all but one"
        return
    drive = live[0]
    if planned.wwn and drive.wwn != planned.wwn:
        there = f"WWN {show_value(drive.wwn)}" if drive.wwn else "no WWN"
        yield f"{name} reports {there}, the plan says {show_value(planned.wwn)}"
    if drive.mountpoints:
        places = ", ".join(show_value(each) for each in drive.mountpoints)
        yield f"{name} ({printable(drive.path)}) is mounted at {places}"
    if drive.holders:
        holders = ", ".join(printable(each) for each in drive.holders)
        yield f"{name} ({printable(drive.path)}) is in use by {holders}"
    for what, needed in _check_room(plan, planned, drive.size_bytes, root_bytes=root_bytes):
        yield (
            f"{name} holds {format_drive_size(drive.size_bytes)}; "
            f"{what} needs about {format_drive_size(needed)}"
        )


def _list_drives(drives: Sequence[Drive], *, stick: Drive | None) -> str:
    others = [each for each in drives if stick is None or each.path != stick.path]
    if not others:
        return "no drive is"
    shown = ", ".join(
        f"{show_value(each.identity) if each.identity else 'one without serial or WWN'} "
        f"({printable(each.path)}, {format_drive_size(each.size_bytes)})"
        for each in others
    )
    return f"here {'is' if len(others) == 1 else 'are'} {shown}"
