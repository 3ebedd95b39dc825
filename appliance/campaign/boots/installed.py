# SPDX-License-Identifier: Apache-2.0
"""A boot of the drive's own system: stored by the appliance, from what that system has reported.

It was started by the firmware, timed itself, and restarted the machine. Its figures count only if
they answer the order of this very attempt, and if the firmware started the requested entry.
"""

from contextlib import suppress
from functools import partial

from appliance.campaign.boots.attempts import fail_attempt, find_drive_row
from appliance.campaign.boots.store_sample import doubt_firmware, store_sample
from appliance.campaign.context import CampaignContext, load_campaign
from appliance.campaign.drives.booted_array import BootedDrives
from appliance.campaign.drives.find import await_drive, find_released_drive
from appliance.campaign.log import record
from appliance.campaign.states import armed_cycle
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.errors import KaltstartError, StepFailedError, StickError
from appliance.phrases import N_, Phrase
from appliance.report_boot import BootReport
from appliance.samples.diskstats import parse_stat
from appliance.samples.startup import parse_startup
from appliance.store.clock import parse_timestamp
from appliance.store.tables.boots import BootSample, CycleRow, select_cycles
from appliance.units import printable


def find_returned(context: CampaignContext, campaign_id: int) -> CycleRow | None:
    """The boot of a drive's own system that was due before this start; None where none was."""
    cycle = armed_cycle(select_cycles(context.connection, campaign_id))
    if cycle is None or not cycle.starts_installed:
        return None
    return None if cycle.armed_boot_id == context.this_boot.boot_id else cycle


def store_report(context: CampaignContext, campaign_id: int, cycle: CycleRow) -> None:
    """Store the sample that was reported; or a failed attempt, with why there is none.

    Raises StickError, and StoppedByPersonError where a key was pressed before the restart.
    """
    campaign = load_campaign(context, campaign_id)
    row = find_drive_row(context, cycle)
    report: BootReport | None = None
    try:
        if cycle.left_at is None:
            raise StepFailedError(
                N_("the machine restarted before the power-off was requested"), blame="other"
            )
        report = context.host.power.read_report(cycle.entry)
        if report is None:
            raise StepFailedError(_explain_silence(context), blame="other")
        sample = read_sample(report, cycle)
        drive = await_drive(context.host, partial(find_released_drive, row=row), tell=context.tell)
    except StickError:
        raise
    except KaltstartError as error:
        fail_attempt(context, campaign, cycle, reason=error.message, blame=error.blame)
    else:
        record(
            context,
            "own-system-reported",
            drive=row.name,
            cycle=cycle.cycle,
            system=printable(report.system),
            campaign_id=campaign_id,
        )
        store_sample(context, (campaign, cycle, row), BootedDrives(drive), sample)
    with suppress(StepFailedError):  # the next order removes it
        context.host.power.forget_report()
    if report is not None and report.stopped:
        raise StoppedByPersonError


def read_sample(report: BootReport, cycle: CycleRow) -> BootSample:
    """The report as a sample. Pure. Raises StepFailedError where it cannot be one.

    `boot_s` is from the start of the kernel, as of each boot.
    """
    if report.error:
        raise StepFailedError(
            Phrase(N_("the drive's own system could not report: {what}"), what=report.error),
            blame="other",
        )
    if report.booted is None or report.booted != report.option:
        raise StepFailedError(
            N_(
                "the firmware started another boot entry than the drive's: it did not follow "
                "BootNext"
            ),
            blame="other",
        )
    startup = parse_startup(report.times)
    try:
        stat = parse_stat(report.stat) if report.stat else None
    except (ValueError, IndexError):
        startup = stat = None
    if startup is None or not report.boot_id:
        raise StepFailedError(
            N_("the report of the drive's own system lacks its figures"), blame="other"
        )
    sample = BootSample(
        boot_id=report.boot_id,
        boot_s=startup.finish_s,
        firmware_s=startup.firmware_s,
        loader_s=startup.loader_s,
        kernel_s=startup.kernel_s,
        initrd_s=startup.initrd_s,
        userspace_s=startup.userspace_s,
        session_s=None,
        io_quiet_s=None,
        read_bytes=stat.read_bytes if stat else None,
        read_ios=stat.read_ios if stat else None,
        wake_skew_s=_find_start(report, cycle.alarm_at),
        path="installed",
    )
    return doubt_firmware(sample, passed_s=_find_start(report, cycle.left_at))


def _find_start(report: BootReport, since: str | None) -> float | None:
    """How long after that the kernel started; None if that is not known."""
    if since and report.started_at_s is not None:
        with suppress(ValueError):  # the stick has spoilt it
            return report.started_at_s - parse_timestamp(since)
    return None


def _explain_silence(context: CampaignContext) -> str:
    """Why there is no report, as far as it can be known."""
    if context.this_boot.is_boot_next_set:
        return N_("the firmware did not follow BootNext: it started the stick, not the drive")
    return N_(
        "the drive's own system did not report: the firmware cannot start from this drive, "
        "Kaltstart's unit is not installed there, or the system crashed or was switched off"
    )
