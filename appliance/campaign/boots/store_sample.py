# SPDX-License-Identifier: Apache-2.0
"""Storing the sample of a measured boot, and the proof that the boot was cold.

The sample is committed before any drive is asked for its count.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from appliance.campaign.boots.recorded_reads import keep_reads
from appliance.campaign.boots.sample import read_unit_times
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.booted_array import BootedDrives
from appliance.campaign.log import record
from appliance.drives.facts.power_cycles import ColdProof, PowerCycles, join_proofs, judge_coldness
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, StepFailedError
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.samples.unit_times import UNITS_PLOT
from appliance.stick.partitions import RAW
from appliance.store.clock import parse_timestamp
from appliance.store.connect import transaction
from appliance.store.tables.boots import (
    BootSample,
    CycleRow,
    insert_sample,
    insert_start_up,
    select_cycles,
    update_cold_proof,
)
from appliance.store.tables.campaigns import (
    CampaignDriveRow,
    CampaignRow,
    select_campaign_drives,
)
from appliance.store.tables.replays import ReplaySample, insert_replay
from appliance.units import printable
from appliance.workloads.raw_files import write_durably

NOT_ASKED = N_("the drive's power-cycle count was not read")
"""Why the coldness of a boot is not proven until its drives have answered."""
_CHART_TIMEOUT_S = 300
_PLOT_TIMEOUT_S = 120
_CHARTS = Path("/run/log")
_CLOCKS_APART_S = 3.0
"""The hardware clock counts full seconds, and the kernel's may have left it by one more."""

Due = tuple[CampaignRow, CycleRow, CampaignDriveRow]
"""The cycle a boot was to be, with its campaign and its drive."""


def store_sample(
    context: CampaignContext,
    due: Due,
    booted: BootedDrives,
    sample: BootSample,
    replay: ReplaySample | None = None,
) -> PowerCycles:
    """Commit the sample, then whether it was cold, then the start-up's units, reads and charts.

    Returns how often the drive was switched on, by its own count.
    """
    host = context.host
    campaign, cycle, row = due
    sample = add_clock(context, cycle, sample)
    with transaction(context.connection):
        insert_sample(
            context.connection,
            cycle.id,
            sample,
            cold_proof="unproven",
            cold_reason=NOT_ASKED,
            page_cache="cold" if replay is None else "bypass",
        )
        if replay is not None and not cycle.trained:
            insert_replay(context.connection, cycle.id, replay)
    names = {
        (each.serial, each.wwn): each.name
        for each in select_campaign_drives(context.connection, campaign.id)
    }
    counts = [
        (
            names.get((drive.serial, drive.wwn), drive.identity),
            host.drives.read_power_cycles(drive),
        )
        for drive in booted.all
    ]
    with transaction(context.connection):
        proof = store_proof(context.connection, cycle, context.this_boot.boot_id, counts)
        record(
            context,
            "cycle-done",
            drive=row.name,
            cycle=cycle.cycle,
            **({} if cycle.trained else {"seconds": f"{sample.boot_s:.3f}"}),
            campaign_id=campaign.id,
        )
        if sample.kernel_errors:
            record(
                context,
                "kernel-errors",
                drive=row.name,
                cycle=cycle.cycle,
                what=sample.kernel_errors,
                campaign_id=campaign.id,
                level="warning",
            )
    total = max(
        planned.cycle
        for planned in select_cycles(context.connection, campaign.id)
        if planned.charted == cycle.charted
    )
    context.host.announce(
        "cycle-done",
        id=campaign.id,
        drive=row.name,
        cycle=f"{cycle.cycle}/{total}",
        **({"trained": 1} if cycle.trained else {"boot_s": f"{sample.boot_s:.3f}"}),
        power=cycle.power,
        proof=proof.proof,
        **({"charted": 1} if cycle.charted else {}),
    )
    if cycle.charted:
        if booted.array is None:  # a list is of one drive
            _keep_reads(context, cycle, booted.drive, name=row.name)
        _keep_chart(context, campaign, cycle)
    if cycle.installs and not cycle.trained:
        _keep_units(context, campaign, cycle, finish_s=sample.boot_s - (sample.session_s or 0.0))
    return counts[0][1]


def add_clock(context: CampaignContext, cycle: CycleRow, sample: BootSample) -> BootSample:
    """The sample of the boot that runs now, with what the machine's clock tells of its beginning.

    Both times are by the hardware clock, which may be wrong, but is wrong in the same way twice.
    """
    if cycle.starts_installed:
        return sample  # this kernel is the appliance's, one start later
    passed_s = _find_start(context, cycle.left_at)
    was_off = cycle.power == "cold" and passed_s is not None and passed_s > 0.0
    return replace(
        doubt_firmware(sample, passed_s=passed_s),
        wake_skew_s=_find_start(context, cycle.alarm_at),
        off_s=passed_s if was_off else None,  # else the clock jumped back
    )


def store_proof(
    connection: sqlite3.Connection,
    cycle: CycleRow,
    boot_id: str,
    counts: Sequence[tuple[str, PowerCycles]],
) -> ColdProof:
    """What the counts of the drives, by name, prove of the boot `boot_id`, to its sample.

    They were read in that boot. Within a transaction.
    """
    befores = (cycle.power_cycles_before, cycle.cache_power_cycles_before)
    proofs: list[tuple[str, ColdProof]] = []
    lost_power: list[str] = []
    for (name, after), before in zip(counts, befores, strict=False):
        proof = judge_coldness(
            PowerCycles(before, reason=after.reason or N_("the count before is not known")),
            after,
            power=cycle.power,
            boot_id_changed=cycle.armed_boot_id != boot_id,
        )
        proofs.append((name, proof))
        if after.is_of_power and None not in (before, after.count) and after.count != before:
            lost_power.append(name)
    proof = join_proofs(proofs)
    valid = not (cycle.power == "warm" and lost_power)
    # Of a drive's own system the count is read one restart later.
    words = N_("drive {drives} lost power before a boot that was to be warm")
    if cycle.starts_installed:
        words = N_(
            "drive {drives} lost power before a boot that was to be warm, or on the way back"
        )
    reason = proof.reason if valid else Phrase(words, drives=", ".join(lost_power))
    update_cold_proof(
        connection,
        cycle.id,
        cold_proof=proof.proof,
        cold_reason=printable(reason),
        power_cycles_after=counts[0][1].count,
        cache_power_cycles_after=counts[1][1].count if len(counts) > 1 else None,
        valid=valid,
    )
    return proof


def doubt_firmware(sample: BootSample, *, passed_s: float | None) -> BootSample:
    """Without times of firmware and loader that do not fit between power-off and kernel. Pure.

    They are the processor's counter, which some firmware does not set back at a restart: the time
    before it is in them then (https://github.com/systemd/systemd/issues/8422). `passed_s` is from
    the power-off or restart to the kernel's start; not above zero where the clock was set.
    """
    told_s = (sample.firmware_s or 0.0) + (sample.loader_s or 0.0)
    if passed_s is None or not 0.0 < passed_s < told_s - _CLOCKS_APART_S:
        return sample
    return replace(sample, firmware_s=None, loader_s=None)


def _find_start(context: CampaignContext, since: str | None) -> float | None:
    """How long after that the kernel started; None if that is not known."""
    # Neither a clock that cannot be read nor a time that the stick has spoilt costs the sample.
    with suppress(StepFailedError, ValueError):
        started_at = context.host.power.read_rtc_s() - context.host.clock.monotonic_s()
        return started_at - parse_timestamp(since) if since else None
    return None


def _keep_reads(context: CampaignContext, cycle: CycleRow, drive: Drive, *, name: str) -> None:
    """Store what the boot has read. A list that is missing is noted; the campaign goes on."""
    try:
        count = keep_reads(cycle.id, drive)
    except StepFailedError as error:
        record(
            context,
            "no-reads",
            what=error.message,
            campaign_id=cycle.campaign_id,
            level="warning",
        )
    else:
        record(
            context,
            "reads-recorded",
            drive=name,
            cycle=cycle.cycle,
            count=count,
            campaign_id=cycle.campaign_id,
        )


def _keep_chart(context: CampaignContext, campaign: CampaignRow, cycle: CycleRow) -> None:
    """Copy the pictures of bootchart and of systemd to the stick.

    One that is missing is noted; the campaign goes on.
    """
    for name, draw in (("bootchart.svg", _stop_bootchart), (UNITS_PLOT, _plot_units)):
        try:
            folder = RAW / f"cycle-{cycle.id}"
            picture = draw()
            folder.mkdir(parents=True, exist_ok=True)
            # Power is about to go.
            write_durably(folder / name, picture)
            sync_path(RAW)
        except (KaltstartError, OSError) as error:
            record(context, "no-chart", what=str(error), campaign_id=campaign.id, level="warning")


def _stop_bootchart() -> bytes:
    """It draws when it is stopped. Raises StepFailedError, OSError."""
    run(["systemctl", "stop", "kaltstart-bootchart.service"], timeout_s=_CHART_TIMEOUT_S)
    charts = sorted(_CHARTS.glob("bootchart-*.svg"))
    if not charts or not charts[-1].stat().st_size:
        raise StepFailedError(N_("systemd-bootchart left no chart"))
    return charts[-1].read_bytes()


def _plot_units() -> bytes:
    """Raises StepFailedError."""
    plot = run(["systemd-analyze", "plot"], timeout_s=_PLOT_TIMEOUT_S).stdout
    if not plot.rstrip().endswith("</svg>"):
        raise StepFailedError(N_("systemd-analyze drew no chart"))
    return plot.encode()


def _keep_units(
    context: CampaignContext, campaign: CampaignRow, cycle: CycleRow, *, finish_s: float
) -> None:
    """What the start-up waited for; without it the sample is one nevertheless.

    Asked here of every measured boot: its times are stored by now, and systemctl has been read from
    the drive before.
    """
    try:
        units = read_unit_times(finish_s=finish_s)
    except KaltstartError as error:
        record(context, "no-unit-times", what=str(error), campaign_id=campaign.id, level="warning")
        return
    with transaction(context.connection):
        insert_start_up(context.connection, cycle.id, units)
