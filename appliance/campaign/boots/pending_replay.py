# SPDX-License-Identifier: Apache-2.0
"""A replayed boot's sample that the database did not accept: saved on KALTSTART, imported once.

A replay cannot be repeated in the same start of the machine: its reads have warmed the drive. So
its sample and the times of its reads are saved. Nothing proves who wrote a file on KALTSTART: it is
believed only for the start of the machine in which the reads of exactly this boot have begun, on
the drive and with the list of the campaign.
"""

from contextlib import suppress
from dataclasses import replace

from appliance.campaign.boots.attempts import check_source_drive, discard_pending, find_drive_row
from appliance.campaign.boots.pending_sample import (
    BootSource,
    PendingReplay,
    PendingSample,
    SourceDrive,
    read_pending,
    remove_pending,
    save_pending,
)
from appliance.campaign.boots.store_sample import NOT_ASKED, add_clock, store_proof
from appliance.campaign.context import CampaignContext
from appliance.campaign.log import record
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, RefusedError, StickError
from appliance.phrases import N_
from appliance.samples.read_list import ReadList
from appliance.store.connect import transaction
from appliance.store.tables.boots import (
    BootSample,
    CycleRow,
    insert_sample,
    knows_sample,
    select_cycle,
)
from appliance.store.tables.events import find_replay_begun
from appliance.store.tables.replays import ReplaySample, insert_replay, select_read_list


def sum_times(reads: ReadList, replay: ReplaySample) -> float:
    """How long a replay took, in seconds: all its reads, and the waits of a trace. Pure."""
    return sum(replay.times_ns) / 1e9 + sum(extent.wait_s for extent in reads.extents)


def save_pending_replay(
    context: CampaignContext,
    cycle: CycleRow,
    drive: Drive,
    sample: BootSample,
    replay: ReplaySample,
    *,
    reason: str,
) -> None:
    """Save the sample of the boot that runs now, which the database does not accept: `reason`.

    If KALTSTART does not accept it either, that is announced, and the sample is lost.
    """
    pending_replay = PendingReplay(cycle.id, None, replay)
    pending = PendingSample(
        boot_id=context.this_boot.boot_id,
        entry="",
        reason=reason,
        root=BootSource("", SourceDrive.of(drive)),
        sample=add_clock(context, cycle, sample),
        replay=pending_replay,
    )
    try:
        save_pending(pending)
        # The drive's answer proves something in this boot only. The sample is made durable first.
        counted = context.host.drives.read_power_cycles(drive)
        save_pending(replace(pending, replay=replace(pending_replay, power_cycles=counted)))
    except (KaltstartError, OSError) as error:
        context.host.announce("refused", reason=str(error))


def import_pending_replay(context: CampaignContext) -> None:
    """Store what a replayed boot left on KALTSTART; what belongs to no boot is noted in the log.

    At the engine's start, and before a campaign goes on without one. Raises StickError if the
    database does not accept it: then it stays on KALTSTART.
    """
    pending = read_pending()
    if pending is None or pending.replay is None:
        return
    cycle = select_cycle(context.connection, pending.replay.cycle_id)
    if doubt := _find_doubt(context, pending, cycle):
        # If the file cannot be removed, that is noticed before the next boot is armed.
        with suppress(StickError):
            discard_pending(context, cycle.campaign_id if cycle else None, doubt)
    elif cycle is not None and pending.sample is not None:
        _store(context, cycle, pending, pending.sample, pending.replay)
        with suppress(StickError):
            remove_pending()


def _find_doubt(context: CampaignContext, pending: PendingSample, cycle: CycleRow | None) -> str:
    """Why the sample is not stored for the boot that it names; empty if there is no reason."""
    if pending.replay is None or pending.sample is None or pending.root is None:
        return N_("it holds no sample of a replay")
    if knows_sample(context.connection, pending.boot_id):
        return N_("it is stored already")  # power was cut before it was removed
    if cycle is None or not _is_due(cycle) or cycle.path != pending.sample.path:
        return N_("its boot is not waited for")
    row = find_drive_row(context, cycle)
    begun = find_replay_begun(context.connection, cycle.campaign_id)
    if begun is None or begun.boot_id != pending.boot_id or not begun.is_of(row.name, cycle.cycle):
        return N_("the reads of its boot did not begin in the same start of the machine")
    try:
        check_source_drive(pending.root.drive, row)
    except RefusedError as error:
        return error.message
    reads = select_read_list(context.connection, cycle.campaign_id)
    return _compare_reads(reads, pending.sample, pending.replay.reads)


def _is_due(cycle: CycleRow) -> bool:
    """Whether it was a replay that is still armed, or was disarmed by a pause at most."""
    is_open = cycle.state in {"armed", "planned"}
    return cycle.mode == "replay" and is_open and cycle.left_at is not None


def _compare_reads(reads: ReadList | None, sample: BootSample, replay: ReplaySample) -> str:
    """Why the times do not belong to the campaign's list; empty if there is no reason. Pure."""
    if reads is None or reads.sha256 != replay.list_sha256:
        return N_("its reads are not those of the campaign's list")
    is_whole = len(replay.times_ns) == len(reads.extents)
    if not is_whole or sample.boot_s != sum_times(reads, replay):
        return N_("its times do not belong together")
    return ""


def _store(
    context: CampaignContext,
    cycle: CycleRow,
    pending: PendingSample,
    sample: BootSample,
    replay: PendingReplay,
) -> None:
    """In one transaction, with the proof that it would have had. Raises StickError."""
    connection = context.connection
    row = find_drive_row(context, cycle)
    with transaction(connection):
        insert_sample(
            connection,
            cycle.id,
            sample,
            cold_proof="unproven",
            cold_reason=NOT_ASKED,
            page_cache="bypass",
        )
        if not cycle.trained:
            insert_replay(connection, cycle.id, replay.reads)
        if replay.power_cycles is not None:
            counts = [(row.name, replay.power_cycles)]
            store_proof(connection, cycle, pending.boot_id, counts)
        record(
            context,
            "sample-kept",
            drive=row.name,
            cycle=cycle.cycle,
            what=pending.reason,
            campaign_id=cycle.campaign_id,
            level="warning",
        )
