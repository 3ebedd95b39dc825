# SPDX-License-Identifier: Apache-2.0
"""Traces that campaigns left on drives: a memory that the stick cannot lose.

Must never be the reason to write to a drive: whatever is not known is left to a person.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from appliance.arrays.model import slot_of_set
from appliance.campaign.drives.work import SHORT_S, side_work
from appliance.campaign.host import Host
from appliance.drives.identity import find_by_identity
from appliance.drives.model import Drive
from appliance.drives.own_uuid import is_own
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.model import Plan
from appliance.progress import ignore_progress
from appliance.reference_os.install import SLOTS, root_partuuid
from appliance.run import StillRunningError
from appliance.store.tables.arrays import knows_set
from appliance.store.tables.campaigns import knows_cut, knows_mark, knows_table


@dataclass(frozen=True, slots=True)
class _Left:
    """What is on a drive of our own making: tables and file systems, and the pattern of a verify.

    A release is not enough to know it by: a stick that once kept a campaign may forget the next.
    """

    uuids: tuple[str, ...]
    has_pattern: bool


def find_unknown_campaign(
    connection: sqlite3.Connection, host: Host, plan: Plan, drives: Sequence[Drive]
) -> str:
    """Why a plan must not start automatically on drives that it erases; empty where it may.

    Raises RefusedError where one of them is no longer in the machine.
    """
    for planned in plan.drives:
        if not planned.released:
            continue
        drive = find_by_identity(drives, serial=planned.serial, wwn=planned.wwn)
        if _carries_unknown(connection, host, drive):
            return Phrase(
                N_(
                    "The plan does not start automatically: drive {drive} carries data of a "
                    "campaign that the stick's database does not know"
                ),
                drive=planned.identity,
            )
    return ""


def _carries_unknown(connection: sqlite3.Connection, host: Host, drive: Drive) -> bool:
    if any(root_partuuid(slot) in drive.partition_uuids for slot in range(1, SLOTS + 1)):
        return not knows_table(connection, drive.disk_uuid)
    try:
        with side_work(
            host, drive.path, tell=ignore_progress, names=[drive.name], limit_s=SHORT_S
        ) as hand:
            if drive.file_system == "bcache":
                set_uuid = hand.do(
                    partial(_read_own_set, host, drive), N_("looking at its superblock")
                )
                return bool(set_uuid) and not knows_set(connection, set_uuid)
            traces = hand.do(partial(_read_left, host, drive), N_("looking at both its ends"))
    except (StepFailedError, StillRunningError):
        return False  # what it is asked next, before it is written to, finds that out
    if traces.has_pattern and not knows_cut(connection, serial=drive.serial, wwn=drive.wwn):
        return True
    return any(not knows_mark(connection, uuid) for uuid in traces.uuids)


def _read_own_set(host: Host, drive: Drive) -> str:
    """UUID of the array made by a campaign; empty for any other array."""
    superblock = host.drives.read_superblock(drive.path)
    if superblock is None or slot_of_set(superblock.set_uuid) is None:
        return ""
    return superblock.set_uuid


def _read_left(host: Host, drive: Drive) -> _Left:
    """Whatever a step on the bare drive, or on a file system of its own, left there."""
    ends = host.drives.read_ends(drive.path)
    uuids = [uuid for uuid in ends.table_uuids if is_own(uuid)]
    if drive.file_system:
        made = host.drives.read_file_system_uuid(drive.path)
        uuids += [made] if is_own(made) else []
    return _Left(tuple(uuids), ends.has_pattern)
