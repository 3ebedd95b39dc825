# SPDX-License-Identifier: Apache-2.0
"""Plans started and their power-offs, recorded outside the database as well.

A stick may lose its database, or forget at a power-off what it took. Then nothing in it says that a
plan was started already, and `autostart` would erase its drives at each start, for ever. So this is
kept in three places more: a file on KALTSTART for each plan; in UEFI machines one variable of our
own in the firmware, which no stick can forget; and what campaigns leave on drives (`leavings`).
Whatever one of them knows and the database does not is for a person to decide.

On a BIOS machine the drives remember that a plan was started, and the hardware clock, where it has
shown that it keeps a mark, how many restarts were counted (`power`). Where it does not, a campaign
that no person let run in this boot restarts the machine only while the boot before is not long
ago, or while the drive counts the power-ons (`boots/next_boot`). So does a UEFI machine whose
firmware keeps no variable of ours.

Must never start anything, nor be the reason to write to a drive.
"""

import hashlib
import sqlite3
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance import sysfs
from appliance.campaign.host import Host
from appliance.errors import StepFailedError, StickError
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.stick.partitions import FAT, SAVE_FIRST, is_on_fat, writable_fat
from appliance.store.tables.campaigns import (
    CampaignRow,
    knows_plan,
    select_campaign,
    select_power_actions,
    select_unfinished_campaign,
)
from appliance.store.tables.events import (
    knows_earlier_boot,
    select_time_since_earlier_boot,
    was_resumed_in,
)

_FOLDER = "kaltstart/started"
_VARIABLE = Path("/sys/firmware/efi/efivars/KaltstartStarted-0d6ff8a1-6d0b-4b6f-9a55-2f1f6e1c7a34")
_FORMAT = "<I32sI"
"""Attributes, the plan's SHA-256, power actions; 7: kept without power, and for boot and system
(UEFI specification 2.10, 8.2)."""
_ATTRIBUTES = 7
_NEXT_START_S = 3600
"""From the last line of one boot to the first of the next, if the machine restarts automatically.

Firmware and loader take minutes. What the plan waits before a power-off comes on top, and the time
to the alarm."""


@dataclass(frozen=True, slots=True)
class Started:
    """What the firmware remembers of the last campaign that was started on this machine."""

    plan_sha256: str
    power_actions: int


def note_start(plan_sha256: str) -> None:
    """Remember on KALTSTART and in the firmware that this plan is started now.

    Raises StickError where the stick, StepFailedError where the firmware does not take it.
    """
    with writable_fat() as fat:
        path = fat / _FOLDER / plan_sha256
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            for place in (path, path.parent, path.parent.parent):
                sync_path(place)
        except OSError as error:
            raise StickError(
                Phrase(N_("KALTSTART cannot be written: {error}"), error=error.strerror),
                hint=Phrase(N_("repair it on another machine, or {hint}"), hint=SAVE_FIRST),
            ) from error
    _write(Started(plan_sha256, 0))


def note_power_action(
    connection: sqlite3.Connection, host: Host, *, ended: int | None = None
) -> None:
    """Remember in the firmware or the clock how many power actions a campaign has counted.

    The campaign under way, or the one that has just `ended`. A firmware that does not take it is no
    reason to stay, nor is a database that can no longer be read: a person may be switching off
    because of it.
    """
    with suppress(StepFailedError, sqlite3.Error):
        campaign = (
            select_unfinished_campaign(connection)
            if ended is None
            else select_campaign(connection, ended)
        )
        if campaign is not None and campaign.state != "paused":
            _write(Started(_hash(campaign), campaign.power_actions))
            host.power.mark_count(host.this_boot, campaign.power_actions)


def find_lost_actions(campaign: CampaignRow, host: Host) -> int:
    """How many power actions of this campaign the database forgot: the firmware or the clock knows.

    The clock's mark may be another campaign's, or of another program that sets the alarm: then a
    campaign waits for the user without need, once.
    """
    started = read_started()
    if started is None or started.plan_sha256 != _hash(campaign):
        return host.power.find_unmarked(host.this_boot, campaign.power_actions)
    return max(0, started.power_actions - campaign.power_actions)


def describe_lost_actions(lost: int) -> str:
    """Why a campaign waits for a person."""
    return Phrase(
        N_("{count} restarts of it are missing in the database: the stick forgets what it stores"),
        count=lost,
    )


def describe_uncounted(connection: sqlite3.Connection, campaign: CampaignRow, host: Host) -> str:
    """Why a machine must not restart automatically in this boot; empty if it may.

    On UEFI the firmware counts, if it has kept the variable; its memory may be full. A stick that
    no longer keeps anything shows the same campaign at each start, ever older. In the campaign's
    first boot that cannot be known; what it has left on its drives ends such a series.
    """
    boot_id = host.this_boot.boot_id
    started = read_started()
    if (
        (started is not None and started.plan_sha256 == _hash(campaign))
        or not knows_earlier_boot(connection, campaign.id, boot_id)
        or was_resumed_in(connection, campaign.id, boot_id)
        or _is_counted(connection, campaign, host)
    ):
        return ""
    return N_(
        "its last boot is more than an hour ago by this machine's clock, and nothing but the stick "
        "counts the restarts here: resume it, and it continues"
    )


def _is_counted(connection: sqlite3.Connection, campaign: CampaignRow, host: Host) -> bool:
    """Whether the clock keeps the count, or this boot followed the one before at once."""
    if host.power.is_mark_kept(host.this_boot):
        return True
    passed_s = select_time_since_earlier_boot(connection, host.this_boot.boot_id)
    waited_s = campaign.settle_s + (campaign.wake_margin_s or 0)
    return passed_s is not None and 0 <= passed_s <= _NEXT_START_S + waited_s


def is_start_remembered(connection: sqlite3.Connection, campaign: CampaignRow, host: Host) -> bool:
    """Whether a restart now is known afterwards, although the stick may forget this boot.

    The firmware counts the campaign's restarts, and must not have counted more of them than the
    stick. Without UEFI the stick must have kept the campaign and its note on KALTSTART over a
    start, and the clock its mark, or this boot must follow the one before at once.
    """
    started = read_started()
    if started is not None and started.plan_sha256 == _hash(campaign):
        return started.power_actions <= campaign.power_actions
    try:
        if not is_on_fat(FAT / _FOLDER / _hash(campaign)):
            return False
    except StickError:
        return False
    if not knows_earlier_boot(connection, campaign.id, host.this_boot.boot_id):
        return False
    return _is_counted(connection, campaign, host)


def find_earlier_start(plan_sha256: str) -> str:
    """Why a plan the database does not know must not start automatically; empty where it may.

    Raises StickError where KALTSTART does not tell.
    """
    started = read_started()
    in_firmware = started is not None and started.plan_sha256 == plan_sha256
    if in_firmware or is_on_fat(FAT / _FOLDER / plan_sha256):
        return N_(
            "The plan does not start automatically: it was started before, "
            "and the stick's database no longer knows of it"
        )
    return ""


def forget_finished(connection: sqlite3.Connection) -> None:
    """Leave the firmware as it was found, once the campaign is over and a start still knows it.

    With all its restarts: a stick that forgot one would forget the next as well.
    """
    started = read_started()
    if started is None or select_unfinished_campaign(connection) is not None:
        return
    counted = select_power_actions(connection, started.plan_sha256)
    if knows_plan(connection, started.plan_sha256) and started.power_actions <= counted:
        sysfs.remove_variable(_VARIABLE)


def read_started() -> Started | None:
    """What the firmware remembers; None where there is nothing, or no UEFI."""
    raw = sysfs.read_bytes(_VARIABLE)
    if len(raw) != struct.calcsize(_FORMAT):
        return None
    _, digest, power_actions = struct.unpack(_FORMAT, raw)
    return Started(digest.hex(), power_actions)


def _write(started: Started) -> None:
    if not _VARIABLE.parent.is_dir():
        return  # started by BIOS
    if started == read_started():
        return  # flash memory wears out
    digest = bytes.fromhex(started.plan_sha256)
    sysfs.write_variable(
        _VARIABLE, struct.pack(_FORMAT, _ATTRIBUTES, digest, started.power_actions)
    )


def _hash(campaign: CampaignRow) -> str:
    return hashlib.sha256(campaign.plan_toml.encode()).hexdigest()
