# SPDX-License-Identifier: Apache-2.0
"""A boot in replay mode: the appliance was started, and reads a list on the bare drive.

Right after the start, before the engine asks any drive a question. Never writes to a drive: it is
opened read-only, past the page cache, and stays locked by the guard.
"""

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from appliance.caches.direct import DirectFile, make_buffer
from appliance.campaign.boots.attempts import fail_attempt, find_drive_row
from appliance.campaign.boots.pending_replay import save_pending_replay, sum_times
from appliance.campaign.boots.store_sample import Due, store_sample
from appliance.campaign.context import CampaignContext, load_campaign
from appliance.campaign.drives.booted_array import BootedDrives
from appliance.campaign.drives.find import await_drive, find_released_drive, noted_identity
from appliance.campaign.drives.work import drive_work
from appliance.campaign.log import record
from appliance.campaign.states import armed_cycle
from appliance.drive_thread import DriveThread
from appliance.drives.identity_query import AskedIdentity, check_asked
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, StepFailedError, StickError
from appliance.phrases import N_, Phrase
from appliance.samples.diskstats import DiskStats, parse_stat
from appliance.samples.read_list import ReadList
from appliance.stick.partitions import RAW
from appliance.store.tables.boots import BootSample, CycleRow, select_cycles
from appliance.store.tables.campaigns import CampaignDriveRow
from appliance.store.tables.events import find_replay_begun
from appliance.store.tables.replays import ReplaySample, select_read_list
from appliance.workloads.raw_files import keep, seal, stick_trouble

_BLOCK = Path("/sys/class/block")


def find_due_replay(context: CampaignContext, campaign_id: int) -> CycleRow | None:
    """The boot that this start of the appliance is to be; None where it is none in replay mode."""
    cycle = armed_cycle(select_cycles(context.connection, campaign_id))
    if cycle is None or cycle.mode != "replay":
        return None
    return None if cycle.armed_boot_id == context.this_boot.boot_id else cycle


def measure_replay(context: CampaignContext, campaign_id: int, cycle: CycleRow) -> None:
    """Replay the list, store the sample; or a failed attempt. Raises StickError.

    A sample that was measured is in the database or on KALTSTART by then.
    """
    campaign = load_campaign(context, campaign_id)
    row = find_drive_row(context, cycle)
    try:
        if cycle.left_at is None:
            raise StepFailedError(
                N_("the machine restarted before the power-off was requested"), blame="other"
            )
        measured = _replay(context, campaign_id, cycle, row)
    except StickError:
        raise
    except KaltstartError as error:
        fail_attempt(context, campaign, cycle, reason=error.message, blame=error.blame)
    else:
        _store(context, (campaign, cycle, row), measured)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A replay that was made, on a drive that has said who it is."""

    drive: Drive
    reads: ReadList
    sample: BootSample
    replay: ReplaySample


def _store(context: CampaignContext, due: Due, measured: _Measured) -> None:
    """Store the sample whatever becomes of its raw file, or keep it on KALTSTART.

    The raw file has no figure that the database lacks. Raises StickError.
    """
    cycle = due[1]
    trouble: StickError | None = None
    try:
        _keep_raw(RAW / f"cycle-{cycle.id}", measured)
    except StickError as error:
        trouble = error
    drive, sample, replay = measured.drive, measured.sample, measured.replay
    try:
        store_sample(context, due, BootedDrives(drive), sample, replay)
    except (StickError, sqlite3.Error) as error:
        # If the sample was stored already, the saved one is recognised by its boot id.
        reason = error.message if isinstance(error, StickError) else str(error)
        save_pending_replay(context, cycle, drive, sample, replay, reason=reason)
        raise
    if trouble is not None:
        raise trouble


def _replay(
    context: CampaignContext, campaign_id: int, cycle: CycleRow, row: CampaignDriveRow
) -> _Measured:
    reads = select_read_list(context.connection, campaign_id)
    if reads is None:
        raise StepFailedError(N_("the campaign's list of reads is damaged"), blame="other")
    # A second try would find what the first one has read.
    if find_replay_begun(context.connection, campaign_id) is not None:
        raise StepFailedError(
            N_("the engine or the machine was restarted after its reads had begun"), blame="other"
        )
    drive = await_drive(context.host, partial(find_released_drive, row=row), tell=context.tell)
    measured: _Measured | None = None
    try:
        with drive_work(context, campaign_id, [(row, drive)], tell=context.tell) as hand:
            record(
                context,
                "replay-begun",
                drive=row.name,
                cycle=cycle.cycle,
                campaign_id=campaign_id,
            )
            work = partial(read_extents, drive.path, reads, clock=context.host.clock.monotonic_s)
            reading = hand.do(work, N_("replaying reads"))
            # After the reads: the answer may come from the medium.
            check_asked(drive, noted_identity(row), _ask(context, hand, drive))
            sample = _make_sample(context, reads, *reading)
            measured = _Measured(drive, reads, sample, reading[1])
            measured = replace(measured, sample=_add_conditions(context, hand, drive, sample))
    except StickError:
        if measured is None:
            raise
        # Who waited for the drive met the trouble; the code that stores the sample meets it again.
    return measured


def _ask(context: CampaignContext, hand: DriveThread, drive: Drive) -> AskedIdentity | None:
    """Who the drive says it is, also where the stick failed while its reads were waited for."""
    asking = partial(context.host.drives.ask_identity, drive)
    with suppress(StickError):
        hand.raise_interrupt()
    return hand.do(asking, N_("asking who it is"))


def _add_conditions(
    context: CampaignContext, hand: DriveThread, drive: Drive, sample: BootSample
) -> BootSample:
    """With temperatures and the kernel's errors, which no sample is lost for. Raises StickError."""
    sample = replace(
        sample,
        cpu_celsius=context.host.read_cpu_celsius(),
        kernel_errors=context.host.drives.read_kernel_errors(drive),
    )
    reading = partial(context.host.drives.read_celsius, drive)
    with suppress(StepFailedError):
        return replace(sample, drive_celsius=hand.do(reading, N_("reading its temperature")))
    return sample


def _make_sample(
    context: CampaignContext,
    reads: ReadList,
    before: DiskStats,
    replay: ReplaySample,
    after: DiskStats,
) -> BootSample:
    return BootSample(
        boot_id=context.this_boot.boot_id,
        boot_s=sum_times(reads, replay),
        firmware_s=None,
        loader_s=None,
        kernel_s=None,
        initrd_s=None,
        userspace_s=None,
        session_s=None,
        io_quiet_s=None,
        read_bytes=after.read_bytes - before.read_bytes,
        read_ios=after.read_ios - before.read_ios,
        wake_skew_s=None,
    )


def _keep_raw(folder: Path, measured: _Measured) -> None:
    """Raises StickError."""
    with stick_trouble(folder):
        folder.mkdir(parents=True, exist_ok=True)
    keep(folder / "replay.json", _describe(measured.reads, measured.replay))


def read_extents(
    path: str,
    reads: ReadList,
    *,
    clock: Callable[[], float],
    read_stat: Callable[[str], DiskStats] | None = None,
) -> tuple[DiskStats, ReplaySample, DiskStats]:
    """Read the list in its order; what the drive had delivered before it, and after.

    Raises StepFailedError for a read that fails, with its place.
    """
    read_stat = read_stat or _read_stat
    buffer = make_buffer(max(extent.length_bytes for extent in reads.extents))
    times_ns: list[int] = []
    now_ns = time.perf_counter_ns
    before = read_stat(path)
    started_s = clock()
    with DirectFile(Path(path)) as file, memoryview(buffer) as view:
        block_bytes = file.block_bytes
        for extent in reads.extents:
            if extent.offset_bytes % block_bytes or extent.length_bytes % block_bytes:
                raise StepFailedError(
                    Phrase(
                        N_(
                            "the read at byte {byte} is not aligned to the drive's blocks of "
                            "{block} bytes"
                        ),
                        byte=extent.offset_bytes,
                        block=block_bytes,
                    ),
                    blame="other",
                )
        for extent in reads.extents:
            if extent.wait_s:
                time.sleep(extent.wait_s)
            with view[: extent.length_bytes] as piece:
                begun_ns = now_ns()
                try:
                    count = os.preadv(file.fileno(), [piece], extent.offset_bytes)
                except OSError as error:
                    raise StepFailedError(
                        Phrase(
                            N_("{path} cannot be read at byte {byte}: {error}"),
                            path=path,
                            byte=extent.offset_bytes,
                            error=error.strerror,
                        )
                    ) from error
                times_ns.append(now_ns() - begun_ns)
            if count != extent.length_bytes:
                raise StepFailedError(
                    Phrase(
                        N_("{path} ended at byte {byte}"),
                        path=path,
                        byte=extent.offset_bytes + count,
                    )
                )
    after = read_stat(path)
    sample = ReplaySample(
        reads.sha256, started_s, before.read_ios, before.read_bytes, tuple(times_ns)
    )
    return before, sample, after


def _read_stat(path: str) -> DiskStats:
    return parse_stat((_BLOCK / Path(path).name / "stat").read_text())


def _describe(reads: ReadList, replay: ReplaySample) -> str:
    return seal(
        {
            "origin": reads.origin,
            "version": reads.version,
            "seed": reads.seed,
            "list_sha256": reads.sha256,
            "started_s": replay.started_s,
            "before_read_ios": replay.before_read_ios,
            "before_read_bytes": replay.before_read_bytes,
            "extents": json.loads(reads.extents_json),
            "times_ns": list(replay.times_ns),
        }
    )
