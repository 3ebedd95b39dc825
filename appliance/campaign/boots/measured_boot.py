# SPDX-License-Identifier: Apache-2.0
"""A measured boot, from "startup finished" to the sample on the stick and the next power-off.

Runs from the drive under test. Until the sample is committed it does nothing but measure; whatever
fails, the appliance is next and knows from the database what was due.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from appliance.campaign.boots.attempts import check_path, fail_attempt
from appliance.campaign.boots.next_boot import Outcome, find_forgotten_power_ons, start_next_boot
from appliance.campaign.boots.pending_sample import (
    BootSource,
    PendingSample,
    SourceDrive,
    read_pending,
    save_pending,
)
from appliance.campaign.boots.recorded_reads import stop_recording
from appliance.campaign.boots.sample import find_root_disk, take_sample
from appliance.campaign.boots.store_sample import Due, store_sample
from appliance.campaign.console_keys import Consoles, Keyboards
from appliance.campaign.context import CampaignContext, Countdown, leave, pause
from appliance.campaign.database_copy import copy_when_due
from appliance.campaign.drives.booted_array import (
    BootedArray,
    BootedDrives,
    check_root,
    check_settings,
    find_members,
    read_settings,
    read_table_uuid,
    select_booted_array,
)
from appliance.campaign.drives.find import find_booted_drives, find_released_drive
from appliance.campaign.drives.work import drive_work, side_work
from appliance.campaign.host import Host
from appliance.campaign.log import record
from appliance.campaign.silent_drives import SilentDrives
from appliance.campaign.start_records import note_power_action
from appliance.campaign.states import armed_cycle
from appliance.drives.identity import DriveAbsentError
from appliance.drives.model import Drive
from appliance.errors import (
    KaltstartError,
    RefusedError,
    StepFailedError,
    StickError,
    UnreadableProgramError,
)
from appliance.phrases import N_, Phrase
from appliance.plan.model import ArrayPlan
from appliance.plan.read import parse_plan
from appliance.progress import ignore_progress
from appliance.reference_os.install import entry_name, is_installed_from
from appliance.stick.partitions import (
    DATABASE,
    Stick,
    find_stick,
    mount_data,
    mount_fat,
    unmount_all,
)
from appliance.store.connect import (
    LONG_PATIENCE_S,
    LONG_WAIT_S,
    impatient,
    open_database,
    telling_stick_trouble,
    transaction,
)
from appliance.store.tables.boots import BootSample, select_cycles
from appliance.store.tables.campaigns import (
    CampaignDriveRow,
    CampaignRow,
    count_power_action,
    select_campaign_drives,
    select_unfinished_campaign,
)
from appliance.units import printable

_STICK_WAIT_S = 300
_STICK_POLL_S = 2


def measure_boot(host: Host) -> None:
    """Measure this boot, store the sample, go on with the campaign."""
    this_boot = host.this_boot
    if this_boot.slot is None:
        raise RefusedError(
            N_("this is not a measured boot"),
            hint=N_("the appliance starts measured boots automatically"),
        )
    sample = _try_sample(host, this_boot.slot)
    if this_boot.charted:
        stop_recording()
    drives: Sequence[Drive] = ()
    stick: Stick | None = None
    keyboards = host.open_keyboards()
    try:
        drives, stick = _await_stick(host, this_boot.slot, keyboards)
        repaired = mount_data(stick, min_free_bytes=0)
        mount_fat(stick)
        connection = open_database(
            DATABASE, patience_s=LONG_PATIENCE_S, is_over=partial(_is_wait_over, keyboards)
        )
    except KaltstartError as error:
        host.announce("refused", reason=error.message)
        if stick is not None:
            _keep(host, stick, drives, sample, reason=error.message)
        _give_back(host, keyboards, unmount_all)
        return
    with host.open_consoles() as consoles:
        context = CampaignContext(
            connection,
            host,
            SilentDrives(host),
            countdown=_ask(consoles, keyboards),
            is_stopped=lambda: consoles.key_pressed(within_s=0) or keyboards.is_power_pressed(),
        )
        try:
            with telling_stick_trouble():
                if repaired:
                    record(context, "data-repaired", what=repaired, level="warning")
                _store(context, this_boot.slot, drives, sample, keyboards)
        except (StickError, sqlite3.Error) as error:
            # If the sample was stored already, the saved one is recognised by its boot id.
            reason = error.message if isinstance(error, StickError) else str(error)
            host.announce("refused", reason=reason)
            _keep(host, stick, drives, sample, reason=reason)
            _give_back(host, keyboards, partial(_count_and_close, context))


def _is_wait_over(keyboards: Keyboards, waited_s: float) -> bool:
    """Whether the power key ends the wait for a program that keeps the database locked."""
    # Asked from the beginning, because keyboards are only opened when asked.
    return keyboards.is_power_pressed() and waited_s >= LONG_WAIT_S


def _await_stick(host: Host, slot: int, keyboards: Keyboards) -> tuple[Sequence[Drive], Stick]:
    """The drives here, and the stick among them: without it the sample is lost.

    It may be gone for a moment, or a second one may be plugged in and be found first. The user is
    notified, and has time to put that right or to press the power key. Raises StickError.
    """
    give_up_s = host.clock.monotonic_s() + _STICK_WAIT_S
    reason = ""
    while True:
        drives = host.drives.find_settled()
        try:
            stick = find_stick(drives)
            _check_own(slot, drives, stick)
        except StickError as error:
            if host.clock.monotonic_s() >= give_up_s or keyboards.is_power_pressed():
                raise
            if error.message != reason:
                reason = error.message
                host.announce("refused", reason=f"{reason}: the sample waits for its stick")
        else:
            return drives, stick
        host.clock.sleep(_STICK_POLL_S)


def _check_own(slot: int, drives: Sequence[Drive], stick: Stick) -> None:
    """Raises StickError where this system came from another one: nothing is written to `stick`.

    Kernel and initrd came from that one, which Linux may not have found yet.
    """
    if not stick.mark:
        return  # without a partition kaltstart-data nothing is written to it
    try:
        disk = find_root_disk(slot)
        alone = next((drive.disk_uuid for drive in drives if drive.name == disk), "")
        table_uuid = alone or read_table_uuid(disk)
    except KaltstartError:
        return  # there is no sample then, and whose boot it was is not known
    if table_uuid and not is_installed_from(table_uuid, stick.mark):
        raise StickError(
            Phrase(
                N_("the Kaltstart stick {path} is not the one that this boot belongs to"),
                path=stick.drive.path,
            ),
            hint=N_("plug in the stick of this campaign, and take this one out"),
        )


def _store(
    context: CampaignContext,
    slot: int,
    drives: Sequence[Drive],
    sample: BootSample | KaltstartError,
    keyboards: Keyboards,
) -> None:
    """Store the sample, or why there is none, and go on with the campaign."""
    due = _find_due(context, slot)
    if due is None:
        record(context, "unexpected-boot", slot=slot, level="warning")
        _give_back(context.host, keyboards, partial(_count_and_close, context))
        return
    campaign, cycle, row = due
    forgotten = ""
    try:
        if cycle.left_at is None:
            raise StepFailedError(
                N_("the machine restarted before the power-off was requested"), blame="other"
            )
        if isinstance(sample, KaltstartError):
            raise sample
        check_path(cycle, sample)
        booted = _find_booted(context, campaign, row, drives)
    except KaltstartError as error:
        fail_attempt(
            context,
            campaign,
            cycle,
            reason=error.message,
            # The programs of this system lie on the drive under test.
            blame="drive" if isinstance(error, UnreadableProgramError) else error.blame,
        )
    else:
        count = store_sample(context, due, booted, sample)
        copy_when_due(context.connection, context.host)
        forgotten = find_forgotten_power_ons(context, row, campaign.id, count)
    if forgotten:
        pause(context, campaign.id, forgotten)
    _go_on(context, campaign.id, keyboards, is_forgetful=bool(forgotten))


def _try_sample(host: Host, slot: int) -> BootSample | KaltstartError:
    try:
        return take_sample(host, slot)
    except KaltstartError as error:
        return error


def _keep(
    host: Host,
    stick: Stick,
    drives: Sequence[Drive],
    sample: BootSample | KaltstartError,
    *,
    reason: str,
) -> None:
    """Save on KALTSTART what the database does not accept.

    None is left there when a boot is armed. So a sample that is there already is of the boot that
    was due, and its entry survived and started this boot.
    """
    try:
        mount_fat(stick)
        this_boot = host.this_boot
        slot = this_boot.slot or 0
        entry = entry_name(slot, charted=this_boot.charted)
        waiting = read_pending()
        if waiting and waiting.sample and waiting.entry == entry:
            return
        save_pending(
            PendingSample(
                boot_id=this_boot.boot_id,
                entry=entry,
                reason=sample.message if isinstance(sample, KaltstartError) else reason,
                root=_find_root(host, slot, drives),
                sample=None if isinstance(sample, KaltstartError) else sample,
            )
        )
    except (KaltstartError, OSError) as error:
        host.announce("refused", reason=str(error))


def _find_root(host: Host, slot: int, drives: Sequence[Drive]) -> BootSource | None:
    """What this boot came from; None where it is not known: no sample is taken then."""
    try:
        disk = find_root_disk(slot)
        members = find_members(disk, drives)
        if members is None:
            return None
        drive, cache, set_uuid = members
        if cache is None:
            return BootSource(drive.disk_uuid, SourceDrive.of(drive))
        with side_work(host, N_("the array"), tell=ignore_progress) as hand:
            reading = partial(read_settings, drive, set_uuid=set_uuid)
            settings = hand.do(reading, N_("reading how it runs"))
        return BootSource(
            read_table_uuid(disk), SourceDrive.of(drive), SourceDrive.of(cache), set_uuid, settings
        )
    except KaltstartError:
        return None


def _give_back(host: Host, keyboards: Keyboards, release: Callable[[], None]) -> None:
    """After a boot that cannot be used: back to the appliance, which reports it.

    Off, if the power key was pressed.

    If the boot entry could not be taken back, a restart would come here again, for ever: off then.
    On a BIOS machine the entry is on the stick, which may forget that it was taken back, and
    nothing else would count the restarts: off as well.
    """
    is_taken_back = host.this_boot.firmware != "bios"
    try:
        host.power.disarm_entry(host.this_boot)
    except KaltstartError:
        is_taken_back = False
    release()
    if is_taken_back and not keyboards.is_power_pressed():
        host.power.reboot()
    else:
        with suppress(KaltstartError, OSError):  # a start by the alarm is one; a restart is many
            host.power.clear_alarm()
        host.power.power_off()


def _count_and_close(context: CampaignContext) -> None:
    """Count the way back as far as the stick and the firmware take it.

    Where they do not, the count of this boot is all: it is made once, and the appliance counts its
    own start before anything else.
    """
    connection = context.connection
    with suppress(StickError, sqlite3.Error), impatient(connection):
        campaign = select_unfinished_campaign(connection)
        if campaign is not None:
            with transaction(connection):
                count_power_action(connection, campaign.id)
            note_power_action(connection, context.host)
    connection.close()


def _find_due(context: CampaignContext, slot: int) -> Due | None:
    """The cycle this boot was to be, if it was armed for this slot and kind of boot."""
    campaign = select_unfinished_campaign(context.connection)
    if campaign is None or campaign.state != "running":
        return None
    cycle = armed_cycle(select_cycles(context.connection, campaign.id))
    if cycle is None or cycle.charted != context.this_boot.charted:
        return None
    drives = select_campaign_drives(context.connection, campaign.id)
    row = next((row for row in drives if row.drive_id == cycle.drive_id), None)
    entry = entry_name(slot, charted=context.this_boot.charted)
    if row is None or row.slot != slot or cycle.entry != entry:
        return None
    return campaign, cycle, row


def _find_booted(
    context: CampaignContext, campaign: CampaignRow, row: CampaignDriveRow, drives: Sequence[Drive]
) -> BootedDrives:
    """The drives this boot really came from, where they are those it was to come from.

    Raises RefusedError, StepFailedError.
    """
    array = select_booted_array(context.connection, campaign.id, row)
    plan = parse_plan(campaign.plan_toml).array if array is not None else None
    try:
        members = [(row, find_released_drive(drives, row))]
        with drive_work(context, campaign.id, members, tell=ignore_progress) as hand:
            look = partial(_look_at_booted, context.host, row, drives, array=array, plan=plan)
            return hand.do(look, N_("looking at what this system was started from"))
    except DriveAbsentError as error:
        error.blame = "drive"  # this very system was started from it
        raise


def _look_at_booted(
    host: Host,
    row: CampaignDriveRow,
    drives: Sequence[Drive],
    *,
    array: BootedArray | None,
    plan: ArrayPlan | None,
) -> BootedDrives:
    booted = find_booted_drives(host, drives, row, array=array)
    disk = find_root_disk(row.slot)
    check_root(disk, booted, row)
    if array is not None:
        if read_table_uuid(disk) != row.install_uuid:
            raise RefusedError(
                Phrase(
                    N_("the array of drive {drive} carries another reference OS"), drive=row.name
                ),
                blame="drive",
            )
        if plan is None:
            raise RefusedError(N_("the plan of this campaign has no [array]"))
        check_settings(booted.drive, set_uuid=array.set_uuid, plan=plan)
    return booted


def _go_on(
    context: CampaignContext, campaign_id: int, keyboards: Keyboards, *, is_forgetful: bool
) -> None:
    """The next boot; off, where the power key was pressed; or back to the appliance.

    For the report, or because the user stopped the campaign. Off too, if the stick forgets and
    keeps the boot entry: it may forget that it was taken, and a restart would come here again.
    """
    outcome = Outcome.FORGOTTEN if is_forgetful else start_next_boot(context, campaign_id)
    if outcome is Outcome.LEAVING:
        return
    with transaction(context.connection):
        count_power_action(context.connection, campaign_id)
    comes_again = outcome is Outcome.FORGOTTEN and context.this_boot.firmware == "bios"
    is_off = comes_again or keyboards.is_power_pressed()
    power = context.host.power
    leave(context, power.power_off if is_off else power.reboot)


def _ask(consoles: Consoles, keyboards: Keyboards) -> Countdown:
    """A countdown on the consoles themselves; any key ends it, the power key too."""

    def countdown(purpose: str, then: str, seconds: int) -> bool:
        for left_s in range(seconds, 0, -1):
            consoles.say(
                f"Kaltstart: {purpose} in {left_s} s: {printable(then)}. Any key stops it."
            )
            if consoles.key_pressed(within_s=1) or keyboards.is_power_pressed():
                return True
        return False

    return countdown
