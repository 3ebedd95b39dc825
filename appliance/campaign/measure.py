"""A measured boot, from "startup finished" to the sample on the stick and the next power-off.

Runs from the drive under test. Until the sample is committed it does nothing but measure; whatever
fails, the appliance is next and knows from the database what was due.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from appliance.campaign import power
from appliance.campaign.advance import Outcome, go_on
from appliance.campaign.attempts import fail_attempt
from appliance.campaign.booted_array import (
    BootedDrives,
    check_root,
    check_settings,
    read_table_uuid,
    select_booted_array,
)
from appliance.campaign.journal import record, refuse
from appliance.campaign.keys import Consoles
from appliance.campaign.live_drives import find_booted_drives
from appliance.campaign.site import Countdown, Site, leave
from appliance.campaign.states import armed_cycle
from appliance.campaign.thisboot import ThisBoot, monotonic_s, read_this_boot
from appliance.console import announce
from appliance.drives.model import Drive
from appliance.drives.probe import find_settled_drives
from appliance.drives.smart import (
    ColdProof,
    PowerCycles,
    join_proofs,
    judge_coldness,
    read_power_cycles,
)
from appliance.errors import KaltstartError, Refusal, StepFailed, blame_of, blaming
from appliance.measure.diskstats import DiskStats, parse_stat
from appliance.measure.startup import PROPERTIES, Startup, parse_startup
from appliance.plan import parse_plan
from appliance.run import run
from appliance.stick import DATABASE, RAW, find_stick, mount_data, mount_fat, unmount_all
from appliance.store.campaigns import (
    CampaignDriveRow,
    CampaignRow,
    count_power_action,
    select_campaign_drives,
    select_unfinished_campaign,
)
from appliance.store.clock import parse_timestamp
from appliance.store.connect import open_database, transaction
from appliance.store.cycles import (
    BootSample,
    CycleRow,
    insert_sample,
    select_cycles,
    update_cold_proof,
)
from appliance.units import printable
from appliance.workloads.reference_os import entry_name, mount_session_set, root_partuuid
from appliance.workloads.session_set import read_session_set

_FINISH_TIMEOUT_S = 1800
_QUIET_S = 1.0
_QUIET_TIMEOUT_S = 10.0
_POLL_S = 0.2
_CHART_TIMEOUT_S = 300
_CHARTS = Path("/run/log")
_BY_PARTUUID = Path("/dev/disk/by-partuuid")
_DEVICES = Path("/sys/dev/block")
# A link to /dev/block/MAJOR:MINOR: what the root was mounted from before systemd laid an overlay in
# RAM over it, where nothing else shows it any more. run() in src/volatile-root/volatile-root.c.
_MOUNTED_ROOT = Path("/run/systemd/volatile-root")


_Due = tuple[CampaignRow, CycleRow, CampaignDriveRow]


def measure_boot() -> None:
    """Measure this boot, store the sample, go on with the campaign."""
    this_boot = read_this_boot()
    if this_boot.slot is None:
        raise Refusal("this is not a measured boot", hint="the appliance starts those by itself")
    try:
        sample: BootSample | KaltstartError = _measure(this_boot, this_boot.slot)
    except KaltstartError as error:
        sample = error
    try:
        drives = find_settled_drives()
        stick = find_stick(drives)
        mount_data(stick)
        mount_fat(stick)
        connection = open_database(DATABASE)
    except KaltstartError as error:
        refuse(None, this_boot, (error.message,))
        _give_back(this_boot, unmount_all)
        return
    with Consoles() as consoles:
        site = Site(connection, this_boot, countdown=_ask(consoles))
        due = _find_due(site, this_boot.slot)
        if due is None:
            record(
                connection, this_boot, "unexpected-boot", f"slot {this_boot.slot}", level="warning"
            )
            _give_back(this_boot, connection.close)
            return
        campaign, cycle, row = due
        try:
            if cycle.left_at is None:
                raise StepFailed(
                    "the machine restarted before power was asked to go", blame="other"
                )
            if isinstance(sample, KaltstartError):
                raise sample
            booted = _find_booted(site, campaign, row, drives)
        except KaltstartError as error:
            fail_attempt(
                site,
                campaign,
                cycle,
                reason=error.message,
                detail=error.message,
                blame=error.blame,
            )
        else:
            _store(site, due, booted, sample)
        _go_on(site, campaign.id)


def _give_back(this_boot: ThisBoot, let_go: Callable[[], None]) -> None:
    """A boot that cannot be used: back to the appliance, where a person is told.

    If the boot entry could not be taken back, a restart would come here again, for ever: off then.
    """
    try:
        power.disarm_entry(this_boot)
        armed = power.entry_is_armed(this_boot)
    except KaltstartError:
        armed = True
    let_go()
    if armed:
        power.clear_alarm()
        power.power_off()
    else:
        power.reboot()


def _measure(this_boot: ThisBoot, slot: int) -> BootSample:
    disk = _root_disk(slot)
    startup = _wait_for_startup()
    from_s = monotonic_s()
    try:
        read_session_set(mount_session_set(f"/dev/{disk}"))
        session_s = monotonic_s() - from_s
        stats = _read_stats(disk)
        io_quiet_s = _wait_for_quiet(disk)
    except (OSError, ValueError) as error:
        raise StepFailed(
            f"the session set on /dev/{disk} cannot be read: {error}",
            blame=blame_of(error) if isinstance(error, OSError) else "drive",
        ) from error
    return BootSample(
        boot_id=this_boot.boot_id,
        boot_s=startup.finish_s + session_s,
        firmware_s=startup.firmware_s,
        loader_s=startup.loader_s,
        kernel_s=startup.kernel_s,
        initrd_s=startup.initrd_s,
        userspace_s=startup.userspace_s,
        session_s=session_s,
        io_quiet_s=io_quiet_s,
        read_bytes=stats.read_bytes,
        read_ios=stats.read_ios,
        wake_skew_s=None,
    )


def _root_disk(slot: int) -> str:
    """Kernel name of the disk this boot's root was mounted from.

    Raises StepFailed where it is not known, or where the root's UUID leads to another one by now:
    two carry it then, and which one is mounted is a matter of chance.
    """
    try:
        mounted = (_DEVICES / _MOUNTED_ROOT.readlink().name).resolve(strict=True)
    except OSError as error:
        raise StepFailed(
            f"what this boot's root was mounted from is not known: {error.filename}: "
            f"{error.strerror}",
            blame="other",
        ) from error
    named = (_BY_PARTUUID / root_partuuid(slot)).resolve()
    if mounted.name != named.name:
        raise StepFailed(
            f"this boot's root was mounted from {mounted.name}, and its UUID leads to {named}",
            hint="unplug the drive that is not to be booted",
            blame="other",
        )
    return mounted.parent.name


def _wait_for_startup() -> Startup:
    # One process that waits for the manager's signal, instead of many that ask. Its code tells a
    # degraded system.
    with blaming("other"):
        run(["systemctl", "is-system-running", "--wait"], check=False, timeout_s=_FINISH_TIMEOUT_S)
        shown = run(["systemctl", "show", *(f"--property={name}" for name in PROPERTIES)])
    startup = parse_startup(shown.stdout)
    if startup is None:
        raise StepFailed("systemd does not say when the start-up finished", blame="other")
    return startup


def _read_stats(disk: str) -> DiskStats:
    return parse_stat(Path("/sys/class/block", disk, "stat").read_text())


def _wait_for_quiet(disk: str) -> float | None:
    """When the disk's last read before a quiet second was seen.

    None when it does not come to rest.
    """
    give_up_s = monotonic_s() + _QUIET_TIMEOUT_S
    seen, seen_s = _read_stats(disk).read_ios, monotonic_s()
    while (now_s := monotonic_s()) < give_up_s:
        read_ios = _read_stats(disk).read_ios
        if read_ios != seen:
            seen, seen_s = read_ios, now_s
        elif now_s - seen_s >= _QUIET_S:
            return seen_s
        time.sleep(_POLL_S)
    return None


def _find_due(site: Site, slot: int) -> _Due | None:
    """The cycle this boot was to be, if it was armed for this slot and kind of boot."""
    campaign = select_unfinished_campaign(site.connection)
    if campaign is None or campaign.state != "running":
        return None
    cycle = armed_cycle(select_cycles(site.connection, campaign.id))
    if cycle is None or cycle.charted != site.this_boot.charted:
        return None
    drives = select_campaign_drives(site.connection, campaign.id)
    row = next((row for row in drives if row.drive_id == cycle.drive_id), None)
    entry = entry_name(slot, charted=site.this_boot.charted)
    if row is None or row.slot != slot or cycle.entry != entry:
        return None
    return campaign, cycle, row


def _find_booted(
    site: Site, campaign: CampaignRow, row: CampaignDriveRow, drives: Sequence[Drive]
) -> BootedDrives:
    """The drives this boot really came from, where they are those it was to come from.

    Raises Refusal, StepFailed, ArrayStuckError.
    """
    array = select_booted_array(site.connection, campaign.id, row)
    booted = find_booted_drives(drives, row, array=array)
    disk = _root_disk(row.slot)
    check_root(disk, booted, row)
    if array is not None:
        if read_table_uuid(disk) != row.install_uuid:
            raise Refusal(f"the array of drive {row.identity} carries another reference OS")
        plan = parse_plan(campaign.plan_toml).array
        if plan is None:
            raise Refusal("the plan of this campaign has no [array]", blame="other")
        check_settings(booted.drive, set_uuid=array.set_uuid, plan=plan)
    return booted


def _store(site: Site, due: _Due, booted: BootedDrives, sample: BootSample) -> None:
    campaign, cycle, row = due
    # Both by the hardware clock, which may be wrong, but is wrong in the same way twice.
    skew_s = None
    if cycle.alarm_at:
        with suppress(StepFailed):  # a clock that cannot be read must not cost the sample
            skew_s = power.read_rtc_s() - monotonic_s() - parse_timestamp(cycle.alarm_at)
    sample = replace(sample, wake_skew_s=skew_s)
    unchecked = "warm" if cycle.power == "warm" else "unproven"
    with transaction(site.connection):
        insert_sample(
            site.connection,
            cycle.id,
            sample,
            cold_proof=unchecked,
            cold_reason="" if unchecked == "warm" else "the drive's power-cycle count was not read",
        )
    befores = (cycle.power_cycles_before, cycle.cache_power_cycles_before)
    afters = [read_power_cycles(drive) for drive in booted.all]
    proofs: dict[str, ColdProof] = {}
    lost_power: list[str] = []
    for drive, before, after in zip(booted.all, befores, afters, strict=False):
        proofs[drive.identity] = judge_coldness(
            PowerCycles(before, reason=after.reason or "the count before is not known"),
            after,
            power=cycle.power,
            boot_id_changed=cycle.armed_boot_id != site.this_boot.boot_id,
        )
        if None not in (before, after.count) and after.count != before:
            lost_power.append(drive.identity)
    proof = join_proofs(proofs)
    valid = not (cycle.power == "warm" and lost_power)
    reason = (
        proof.reason
        if valid
        else f"drive {', '.join(lost_power)} lost power before a boot that was to be warm"
    )
    with transaction(site.connection):
        update_cold_proof(
            site.connection,
            cycle.id,
            cold_proof=proof.proof,
            cold_reason=printable(reason),
            power_cycles_after=afters[0].count,
            cache_power_cycles_after=afters[1].count if len(afters) > 1 else None,
            valid=valid,
        )
        record(
            site.connection,
            site.this_boot,
            "cycle-done",
            f"{row.identity} cycle {cycle.cycle}: {sample.boot_s:.3f} s",
            campaign_id=campaign.id,
        )
    total = max(c.cycle for c in select_cycles(site.connection, campaign.id))
    announce(
        "cycle-done",
        id=campaign.id,
        drive=row.identity,
        cycle=f"{cycle.cycle}/{total}",
        boot_s=f"{sample.boot_s:.3f}",
        power=cycle.power,
        proof=proof.proof,
        **({"charted": 1} if cycle.charted else {}),
    )
    if cycle.charted:
        _keep_chart(site, campaign, cycle)


def _keep_chart(site: Site, campaign: CampaignRow, cycle: CycleRow) -> None:
    """Copy bootchart's picture to the stick. A chart that is missing is noted.

    The campaign goes on.
    """
    try:
        run(["systemctl", "stop", "kaltstart-bootchart.service"], timeout_s=_CHART_TIMEOUT_S)
        charts = sorted(_CHARTS.glob("bootchart-*.svg"))
        if not charts or not charts[-1].stat().st_size:
            raise StepFailed("systemd-bootchart left no chart")
        folder = RAW / f"cycle-{cycle.id}"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(charts[-1], folder / "bootchart.svg")
    except (KaltstartError, OSError) as error:
        record(
            site.connection,
            site.this_boot,
            "no-chart",
            str(error),
            campaign_id=campaign.id,
            level="warning",
        )


def _go_on(site: Site, campaign_id: int) -> None:
    """The next boot, or back to the appliance.

    For the report, or because somebody stopped the campaign.
    """
    outcome = go_on(site, campaign_id)
    if outcome is Outcome.LEAVING:
        return
    with transaction(site.connection):
        count_power_action(site.connection, campaign_id)
    leave(site, power.reboot)


def _ask(consoles: Consoles) -> Countdown:
    """A countdown on the consoles themselves; any key ends it."""

    def countdown(purpose: str, then: str, seconds: int) -> bool:
        for left_s in range(seconds, 0, -1):
            consoles.say(
                f"Kaltstart: {purpose} in {left_s} s: {printable(then)}. Any key stops it."
            )
            if consoles.key_pressed(within_s=1):
                return True
        return False

    return countdown
