# SPDX-License-Identifier: Apache-2.0
"""Starting a campaign: from a plan's text to rows in the database.

Everything is checked before anything is stored.
"""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple

from appliance.arrays.model import slot_of_set
from appliance.caches.ballast import read_memory
from appliance.caches.cooling import TooSmallError, plan_cooling
from appliance.campaign.drives.ownership import note_content
from appliance.campaign.host import Host
from appliance.campaign.states import MAX_ATTEMPTS, max_power_actions, plan_cycles
from appliance.campaign.stick_room import check_room
from appliance.drives.boot_modules import find_missing_modules
from appliance.drives.identity import find_by_identity
from appliance.drives.identity_query import check_asked, check_shown
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, PlanError, RefusedError, StepFailedError, StickError
from appliance.phrases import N_, Phrase, join_phrases
from appliance.plan.machine_rules import find_conflicts
from appliance.plan.model import Plan
from appliance.plan.read import parse_plan
from appliance.plan.workloads import ARRAY
from appliance.problem import Problem
from appliance.reference_os.install import SLOTS, needed_bytes, root_partuuid
from appliance.run import StillRunningError
from appliance.samples.read_list import (
    MAX_TRACE_BYTES,
    ReadList,
    TraceError,
    make_list,
    parse_trace,
)
from appliance.stick.partitions import FAT, Stick
from appliance.store.connect import transaction
from appliance.store.tables.boots import insert_cycle
from appliance.store.tables.campaigns import (
    NewDrive,
    insert_campaign,
    insert_campaign_drive,
    insert_drive,
    select_unfinished_campaign,
)
from appliance.store.tables.replays import insert_read_list
from appliance.store.tables.steps import insert_step
from appliance.toml.values import show_value
from appliance.units import printable
from appliance.workloads.fio.classic import find_mistake_in_options
from appliance.workloads.fio.keys import FioPlan
from appliance.workloads.verify.keys import VerifyPlan


class RefusedForReasonsError(RefusedError):
    """Safety said no for several reasons at once; `problems` has them one by one."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(join_phrases(map(str, problems)), problems=tuple(problems))


def reasons_of(error: KaltstartError) -> tuple[str, ...]:
    """Every single reason an error carries, one line each."""
    return tuple(map(str, error.problems)) or (str(error),)


def hash_plan(text: str) -> str:
    """Tells whether a campaign was already started from this very text."""
    return hashlib.sha256(text.encode()).hexdigest()


def check_plan(
    text: str, *, name: str = "plan.toml", host: Host, drives: Sequence[Drive], stick: Stick
) -> Plan:
    """The plan, if it can be run here and now; `name` is what messages call its file.

    Raises PlanError or RefusedError with everything that is wrong.
    """
    plan = parse_plan(text, name=name)
    installs = plan.boot is not None and plan.boot.installs
    starts_systems = plan.boot is not None and plan.boot.mode == "install"
    boot_set_bytes = plan.boot.boot_set_bytes if plan.boot else 0
    has_esp = plan.boot is not None and plan.boot.path == "drive"
    overhead_bytes = needed_bytes(boot_set_bytes, has_esp=has_esp) - boot_set_bytes
    problems = find_conflicts(
        plan,
        drives,
        stick=stick.drive,
        root_bytes=overhead_bytes,
        ram_bytes=read_memory("MemTotal"),
    )
    if installs:
        problems += _find_unbootable(plan, drives)
    if starts_systems:
        path = plan.boot.path if plan.boot else "stick"
        if no_entry := host.power.explain_no_entry(host.this_boot, path=path):
            problems += (Problem(("boot",), no_entry, kind="conflict"),)
    if plan.boot is not None and plan.boot.starts_installed:
        hidden = host.drives.describe_hidden()
        problems += tuple(Problem(("boot", "path"), text, kind="conflict") for text in hidden)
    if plan.boot is not None and plan.boot.mode == "replay":
        problems += _find_unreadable_list(plan, drives)
        problems += () if problems else _find_uncoolable(plan, drives)
    if refusal := check_room(plan, drives).refusal:
        problems += (Problem((), refusal, kind="conflict"),)
    if problems:
        raise RefusedForReasonsError(problems)
    mistakes = tuple(
        Problem(
            ("workload", index, "options"),
            Phrase(
                N_("workload {number}: fio refuses the options: {error}"),
                number=index + 1,
                error=mistake,
            ),
        )
        for index, workload in enumerate(plan.workloads)
        if isinstance(workload, FioPlan) and (mistake := find_mistake_in_options(workload))
    )
    if mistakes:
        raise PlanError(join_phrases(map(str, mistakes)), problems=mistakes)
    return plan


def read_replayed_list(plan: Plan, drives: Sequence[Drive]) -> ReadList:
    """What each boot in replay mode reads: the plan's trace, or the built-in list.

    Raises StickError where the trace cannot be read, RefusedError where it cannot be replayed.
    """
    boot = plan.boot
    if boot is None:
        raise ValueError("a plan without boots")
    if boot.trace:
        try:
            return parse_trace(_read_trace(boot.trace), name=boot.trace)
        except TraceError as error:
            raise RefusedForReasonsError(
                [_say_of_trace(problem) for problem in error.problems]
            ) from error
    sizes = [
        find_by_identity(drives, serial=drive.serial, wwn=drive.wwn).size_bytes
        for drive in plan.booted_drives
    ]
    return make_list(drive_bytes=min(sizes), set_bytes=boot.boot_set_bytes)


def _read_trace(name: str) -> str:
    try:
        with (FAT / name).open("rb") as file:
            content = file.read(MAX_TRACE_BYTES + 1)
    except OSError as error:
        raise StickError(
            Phrase(
                N_("{file} on KALTSTART cannot be read: {error}"),
                file=printable(name),
                error=error.strerror,
            )
        ) from (error)
    if len(content) > MAX_TRACE_BYTES:
        raise TraceError(
            [
                Phrase(
                    N_("{file}: it has more than {most} MiB"), file=name, most=MAX_TRACE_BYTES >> 20
                )
            ]
        )
    return content.decode(errors="replace")


def _find_unreadable_list(plan: Plan, drives: Sequence[Drive]) -> tuple[Problem, ...]:
    """What is wrong with a trace, by its lines; and the drives on which its reads do not fit."""
    if plan.boot is None or not plan.boot.trace:
        return ()
    try:
        reads = read_replayed_list(plan, drives)
    except RefusedForReasonsError as error:
        return error.problems
    except StickError as error:
        return (_say_of_trace(str(error)),)
    problems = []
    for planned in plan.booted_drives:
        for drive in drives:
            if planned.identity not in {drive.serial, drive.wwn}:
                continue
            name, block_bytes = planned.identity, drive.logical_block_bytes
            if drive.size_bytes < reads.end_bytes:
                message = Phrase(
                    N_("{file} reads up to byte {byte}; drive {drive} has {bytes}"),
                    file=plan.boot.trace,
                    byte=reads.end_bytes,
                    drive=name,
                    bytes=drive.size_bytes,
                )
                problems.append(_say_of_trace(message))
            elif any(
                extent.offset_bytes % block_bytes or extent.length_bytes % block_bytes
                for extent in reads.extents
            ):
                message = Phrase(
                    N_(
                        "{file} has reads that are not aligned to the blocks of {bytes} "
                        "bytes of drive {drive}"
                    ),
                    file=plan.boot.trace,
                    bytes=block_bytes,
                    drive=name,
                )
                problems.append(_say_of_trace(message))
    return tuple(problems)


def _find_uncoolable(plan: Plan, drives: Sequence[Drive]) -> tuple[Problem, ...]:
    """The drives that cannot be made to forget what a boot reads."""
    if plan.boot is None or plan.boot.cool == "none":
        return ()
    reads = read_replayed_list(plan, drives)
    problems = []
    for planned in plan.booted_drives:
        drive = find_by_identity(drives, serial=planned.serial, wwn=planned.wwn)
        try:
            plan_cooling(reads, drive_bytes=drive.size_bytes, seed="", turn=plan.boot.cycles - 1)
        except TooSmallError as error:
            message = Phrase(
                N_("drive {drive} cannot be made to forget: {what}"),
                drive=show_value(planned.identity),
                what=error,
            )
            problems.append(Problem(("boot", "cool"), message, kind="conflict"))
    return tuple(problems)


def _say_of_trace(told: str) -> Problem:
    return Problem(("boot", "trace"), printable(told), kind="conflict")


def _find_unbootable(plan: Plan, drives: Sequence[Drive]) -> tuple[Problem, ...]:
    """The drives that a measured boot would not find, as its initrd lacks their driver."""
    problems = []
    for planned in plan.drives:
        # Also of a cache: the array that is booted needs it. A drive that is not here was named.
        for drive in drives:
            if planned.identity not in {drive.serial, drive.wwn}:
                continue
            if missing := find_missing_modules(drive.name):
                message = Phrase(
                    N_(
                        "a boot test of {drive} cannot work: what it is connected to "
                        "needs {modules}, which is loaded too late for a system that "
                        "starts from it"
                    ),
                    drive=printable(planned.identity),
                    modules=", ".join(missing),
                )
                problems.append(Problem(("boot",), message, kind="conflict"))
    return tuple(problems)


def start_campaign(
    connection: sqlite3.Connection, text: str, *, host: Host, drives: Sequence[Drive], stick: Stick
) -> int:
    """Store a new campaign in state `preparing`; return its id.

    Raises PlanError or RefusedError.
    """
    plan = check_plan(text, host=host, drives=drives, stick=stick)
    running = select_unfinished_campaign(connection)
    if running is not None and running.state != "paused":
        raise RefusedError(
            Phrase(
                N_("campaign {number} is still {state}"), number=running.id, state=running.state
            ),
            hint=N_("stop it first"),
        )
    boot = plan.boot
    chosen = [
        (planned, find_by_identity(drives, serial=planned.serial, wwn=planned.wwn))
        for planned in plan.drives
    ]
    answers = {
        planned.identity: _ask(host, drive, is_released=planned.released or planned.may_start)
        for planned, drive in chosen
    }
    contents = {
        planned.identity: note_content(host, drive) for planned, drive in chosen if planned.released
    }
    # An array carries its slot's number too, booted or not.
    is_replay = boot is not None and boot.mode == "replay"
    installs = boot is not None and boot.installs
    needs_slots = installs or plan.array is not None
    slots = (
        _free_slots(host, drives, [drive for _, drive in chosen])
        if needs_slots
        else range(1, len(chosen) + 1)
    )
    booted = plan.booted_drives
    charts = boot.charts if boot and installs else "none"  # no other system draws any
    cycles = (
        plan_cycles(
            drives=len(booted),
            cycles=boot.cycles,
            charts=charts,
            train=boot.train,
            powers=boot.power,
        )
        if boot
        else ()
    )
    reads = read_replayed_list(plan, drives) if is_replay else None
    with transaction(connection):
        campaign_id = insert_campaign(
            connection,
            name=plan.campaign.name,
            plan_toml=text,
            plan_sha256=hash_plan(text),
            on_finish=plan.campaign.on_finish,
            max_power_actions=max_power_actions(
                len(cycles),
                power_offs=count_power_offs(plan),
                returns=boot is not None and boot.starts_installed,
            ),
            max_attempts=MAX_ATTEMPTS,
            wake_margin_s=boot.wake_margin_s if boot else None,
            settle_s=boot.settle_s if boot else 0,
            temperature_band=boot.temperature_band if boot else 0,
            cool=boot.cool if boot else "none",
        )
        ids: dict[str, int] = {}
        names = {ARRAY: ARRAY}
        counts = Counter([ARRAY, *(drive.identity for _, drive in chosen)])
        for (planned, drive), slot in zip(chosen, slots, strict=False):
            ids[planned.identity] = insert_drive(connection, describe(drive))
            # The number of two, or the array's name: the plan names such a drive by its WWN.
            is_own = counts[drive.identity] == 1
            names[planned.identity] = drive.identity if is_own else planned.identity
            insert_campaign_drive(
                connection,
                campaign_id=campaign_id,
                drive_id=ids[planned.identity],
                role=planned.role,
                released=planned.released,
                slot=slot,
                released_model=drive.model,
                released_size_bytes=drive.size_bytes,
                asked=answers[planned.identity],
                serial_doubt=drive.serial_doubt,
                released_content=contents.get(planned.identity),
                label=planned.label,
            )
        for cycle in cycles:
            insert_cycle(
                connection,
                campaign_id=campaign_id,
                drive_id=ids[booted[cycle.drive_index].identity],
                position=cycle.position,
                cycle=cycle.cycle,
                charted=cycle.charted,
                trained=cycle.trained,
                power=cycle.power,
                mode=boot.mode if boot else "install",
                path=boot.path if boot else "stick",
            )
        if reads is not None:
            insert_read_list(connection, campaign_id, reads)
        for position, (workload_index, place) in enumerate(plan_steps(plan)):
            insert_step(
                connection,
                campaign_id=campaign_id,
                position=position,
                kind=plan.workloads[workload_index].kind,
                # On the array: none of the two drives is it.
                drive_id=None if place == ARRAY else ids[place],
                device=names[place],
                workload_index=workload_index,
            )
    return campaign_id


def _ask(host: Host, drive: Drive, *, is_released: bool) -> tuple[str, str, str, int]:
    """What the drive itself answers now, to be compared before each step.

    Raises RefusedError where it is not who the kernel takes it for, or is released and hangs.
    """
    try:
        # Twice: one that spins up answers late, and what it says now guards it from here on.
        answer = host.drives.ask_identity(drive) or host.drives.ask_identity(drive)
        scsi_answer = (
            host.drives.ask_scsi_identity(drive) if is_released and drive.serial_doubt else None
        )
    except StillRunningError as error:
        if not is_released:
            return "", "", "", 0  # it fails its own steps, and no other drive's
        raise RefusedError(
            Phrase(N_("{path} does not report its identity"), path=drive.path), hint=error.hint
        ) from error
    check_asked(drive, None, answer)
    check_shown(drive, scsi_answer)
    return astuple(answer) if answer else ("", "", "", 0)


def plan_steps(plan: Plan) -> tuple[tuple[int, str], ...]:
    """Every step in its order: the index of its workload, and its place (`Plan.places_of`).

    Places take turns, so that drift hits all alike.
    """
    return tuple(
        (workload_index, place)
        for workload_index, workload in enumerate(plan.workloads)
        for place in plan.places_of(workload)
    )


def count_power_offs(plan: Plan) -> int:
    """How often the steps themselves want the power off."""
    planned = (plan.workloads[index] for index, _ in plan_steps(plan))
    return sum(isinstance(workload, VerifyPlan) and workload.power_cycle for workload in planned)


def describe(drive: Drive) -> NewDrive:
    """What the database keeps of a drive."""
    return NewDrive(
        serial=drive.serial,
        wwn=drive.wwn,
        model=drive.model,
        firmware=drive.firmware,
        size_bytes=drive.size_bytes,
        rotational=drive.rotational,
        transport=drive.transport,
        logical_block_bytes=drive.logical_block_bytes,
        physical_block_bytes=drive.physical_block_bytes,
    )


def _free_slots(host: Host, drives: Sequence[Drive], chosen: Sequence[Drive]) -> list[int]:
    """Slots that no drive in the machine carries from an earlier campaign.

    A slot that one of the chosen drives carries comes last: should that drive's installation
    fail, it would carry the slot of another one.
    """
    carried = {drive.path: _carried_slots(host, drive) for drive in drives}
    others = {slot for drive in drives if drive not in chosen for slot in carried[drive.path]}
    chosen_slots = {slot for drive in chosen for slot in carried[drive.path]}
    free = [slot for slot in range(1, SLOTS + 1) if slot not in others]
    free.sort(key=lambda slot: slot in chosen_slots)
    if len(free) < len(chosen):
        raise RefusedError(
            Phrase(
                N_(
                    "only {count} of {total} boot slots are free: other drives here carry "
                    "reference systems"
                ),
                count=len(free),
                total=SLOTS,
            ),
            hint=N_("unplug the drives that do not take part"),
        )
    return free


def _carried_slots(host: Host, drive: Drive) -> set[int]:
    """The slots whose boot entries would start what is on the drive, or register its array."""
    slots = {slot for slot in range(1, SLOTS + 1) if root_partuuid(slot) in drive.partition_uuids}
    if drive.file_system == "bcache":
        try:
            superblock = host.drives.read_superblock(drive.path)
        except (StepFailedError, StillRunningError):
            superblock = None  # what cannot be read here, no measured boot can read either
        slot = slot_of_set(superblock.set_uuid) if superblock else None
        if slot is not None:
            slots.add(slot)
    return slots
