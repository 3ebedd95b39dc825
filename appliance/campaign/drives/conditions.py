# SPDX-License-Identifier: Apache-2.0
"""Recording what influences a campaign's results: machine, programs, drive settings.

Looked at when a campaign starts and at each later start of the machine for it. Reads /sys and what
drives answered before; asks no drive. What was noted is never changed: another value is another
row, and a warning in the event log.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from appliance import sysfs
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.condition_values import list_drive_values, list_machine_values
from appliance.campaign.drives.find import find_released_drive
from appliance.campaign.drives.work import drive_work
from appliance.campaign.log import record
from appliance.drive_thread import DriveSilentError
from appliance.drives.block_settings import read_block_settings
from appliance.drives.facts.kernel import read_kernel_texts
from appliance.drives.model import Drive
from appliance.errors import RefusedError
from appliance.machine import memory_errors
from appliance.machine.facts import FixedFacts
from appliance.phrases import N_, Phrase, join_phrases
from appliance.store.connect import transaction
from appliance.store.read.evidence import select_health_texts
from appliance.store.tables.campaigns import CampaignDriveRow, select_campaign_drives
from appliance.store.tables.conditions import (
    Change,
    find_changes,
    insert_conditions,
    select_conditions,
)

_SYS, _PROC = Path("/sys"), Path("/proc")
_SETTINGS = N_("reading its settings")


def store_conditions(
    context: CampaignContext,
    campaign_id: int,
    *,
    fixed: FixedFacts,
    drives: Sequence[Drive],
    sys: Path = _SYS,
    proc: Path = _PROC,
) -> None:
    """Store what is new or another value than before; `drives` are those in the machine now.

    A drive that is not here now, or another one in its place, is left as it was noted.
    """
    connection = context.connection
    readings: list[tuple[str, int | None, dict[str, str]]] = [
        (N_("the machine"), None, _read_machine(fixed, sys=sys, proc=proc))
    ]
    readings += [
        (row.name, row.drive_id, _read_drive(context, campaign_id, row, drives=drives, sys=sys))
        for row in select_campaign_drives(connection, campaign_id)
    ]
    news = [
        (subject, drive_id, changes)
        for subject, drive_id, values in readings
        if (changes := find_changes(select_conditions(connection, campaign_id, drive_id), values))
    ]
    if not news:
        return  # a transaction is a write to the stick, even an empty one
    with transaction(connection):
        for subject, drive_id, changes in news:
            insert_conditions(connection, campaign_id, drive_id, changes)
            _record_changes(context, campaign_id, subject, changes)


def store_memory_errors(context: CampaignContext, campaign_id: int) -> None:
    """Store how many errors the machine's memory has counted, where that is news.

    Call it within a transaction.
    """
    known = select_conditions(context.connection, campaign_id, None)
    changes = find_changes(known, context.host.read_memory_errors())
    if changes:
        insert_conditions(context.connection, campaign_id, None, changes)
        _record_changes(context, campaign_id, "the machine", changes)


def _record_changes(
    context: CampaignContext, campaign_id: int, subject: str, changes: Sequence[Change]
) -> None:
    others = [change for change in changes if change.before and not _is_restart(change)]
    if others:
        record(
            context,
            "conditions-changed",
            what=describe_changes(subject, others),
            campaign_id=campaign_id,
            level="warning",
        )


def _is_restart(change: Change) -> bool:
    """Whether it is only a count of memory errors, zero again since the machine was started."""
    is_count = change.name in memory_errors.NAMES
    return is_count and int(change.value) < int(change.before)


def describe_changes(subject: str, changes: Sequence[Change]) -> str:
    """`LAB-1: link was 6.0 Gb/s and is 3.0 Gb/s now`."""
    words = N_("{setting} was {before} and is {after} now")
    texts = [
        Phrase(words, setting=change.name, before=change.before, after=change.value)
        for change in changes
    ]
    return Phrase("{name}: {what}", name=subject, what=join_phrases(texts))


def _read_machine(fixed: FixedFacts, *, sys: Path, proc: Path) -> dict[str, str]:
    policies = sorted((sys / "devices/system/cpu/cpufreq").glob("policy*"))
    texts = {
        file: [text for policy in policies if (text := sysfs.read_text(policy / file))]
        for file in ("scaling_governor", "scaling_driver")
    }
    values = list_machine_values(
        fixed,
        governors=texts["scaling_governor"],
        frequency_drivers=texts["scaling_driver"],
        aspm_policy=sysfs.read_text(sys / "module/pcie_aspm/parameters/policy"),
        kernel_options=sysfs.read_text(proc / "cmdline"),
    )
    return values | memory_errors.read_memory_errors(sys)


def _read_drive(
    context: CampaignContext,
    campaign_id: int,
    row: CampaignDriveRow,
    *,
    drives: Sequence[Drive],
    sys: Path,
) -> dict[str, str]:
    """The values of one drive now; none where it is not here, or does not answer."""
    try:
        drive = find_released_drive(drives, row)
    except RefusedError:
        return {}
    try:
        with drive_work(context, campaign_id, [(row, drive)], tell=context.tell) as hand:
            settings = hand.do(partial(read_block_settings, drive.name, sys=sys), _SETTINGS)
            kernel = hand.do(partial(read_kernel_texts, drive.name, sys=sys), _SETTINGS)
    except DriveSilentError:
        return {}
    # Its answer is of the campaign's start: later it would pass for what is so now.
    is_first = not select_conditions(context.connection, campaign_id, row.drive_id)
    texts = select_health_texts(context.connection, campaign_id, row.drive_id) if is_first else ()
    return list_drive_values(
        drive,
        settings=settings,
        kernel=kernel,
        smart=texts[0] if texts else "",
    )
