# SPDX-License-Identifier: Apache-2.0
"""Writing the reference OS to the released drives of a campaign."""

from functools import partial

from appliance.campaign.boots.install_array import install_on_array
from appliance.campaign.context import CampaignContext, load_campaign
from appliance.campaign.drives.array import find_members
from appliance.campaign.drives.find import await_drive, find_released_drive, noted_identity
from appliance.campaign.drives.ownership import DriveMarks, check_drive_marks
from appliance.campaign.drives.work import drive_work
from appliance.campaign.log import record
from appliance.campaign.steps.attempt import hold_if_asked
from appliance.errors import KaltstartError, RefusedError, StickError
from appliance.phrases import N_, Phrase
from appliance.plan.model import ArrayPlan
from appliance.plan.read import parse_plan
from appliance.progress import Progress
from appliance.reference_os.install import install_reference_os, make_install_uuid
from appliance.stick.partitions import Stick
from appliance.store.connect import transaction
from appliance.store.tables.boots import select_cycles
from appliance.store.tables.campaigns import (
    CampaignDriveRow,
    select_campaign_drives,
    update_campaign_state,
    update_drive_failed,
    update_installed,
)


def prepare(
    context: CampaignContext, campaign_id: int, *, stick: Stick, progress: Progress
) -> None:
    """Install on every drive with boots to make that does not have it yet.

    A drive that fails is left out of the boots. If there is an array, it takes the place of
    its backing drive, and its cache drive has no boots of its own; nor has one whose boots a person
    skipped. Raises PausedByPersonError between two drives, and behind the last; RefusedError where
    no boot entry could be set afterwards.
    """
    campaign = load_campaign(context, campaign_id)
    plan = parse_plan(campaign.plan_toml)
    boot = plan.boot
    to_boot = {
        cycle.drive_id: cycle.path
        for cycle in select_cycles(context.connection, campaign_id)
        if cycle.state == "planned" and cycle.installs
    }
    for path in set(to_boot.values()):
        # KALTSTART was formatted while the campaign was paused, or moved to another machine.
        if why := context.host.power.explain_no_entry(context.this_boot, path=path):
            raise RefusedError(why)
    for row in select_campaign_drives(context.connection, campaign_id):
        if boot is None or row.drive_id not in to_boot or row.installed_at or row.failed_reason:
            continue
        hold_if_asked(context, campaign_id)
        try:
            _install(
                context,
                campaign_id,
                row,
                stick=stick,
                boot_set_bytes=boot.boot_set_bytes,
                has_esp=to_boot[row.drive_id] == "drive",
                array=plan.array if row.role == "backing" else None,
                progress=progress,
            )
        except StickError:
            raise  # a drive must not be abandoned for what the stick does
        except KaltstartError as error:
            with transaction(context.connection):
                update_drive_failed(
                    context.connection,
                    campaign_id,
                    row.drive_id,
                    reason=error.message,
                    blame=error.blame,
                )
                record(
                    context,
                    "install-failed",
                    drive=row.name,
                    what=str(error),
                    campaign_id=campaign_id,
                    level="error",
                )
            context.host.announce(
                "refused" if isinstance(error, RefusedError) else "step-failed",
                id=campaign_id,
                drive=row.name,
                reason=error.message,
            )
    update_campaign_state(context.connection, campaign_id, "running")
    hold_if_asked(context, campaign_id)


def _install(
    context: CampaignContext,
    campaign_id: int,
    row: CampaignDriveRow,
    *,
    stick: Stick,
    boot_set_bytes: int,
    has_esp: bool,
    array: ArrayPlan | None,
    progress: Progress,
) -> None:
    if not row.released:
        raise RefusedError(Phrase(N_("drive {drive} is not released for writing"), drive=row.name))

    def tell(label: str, done_bytes: int, total_bytes: int) -> None:
        progress(Phrase("{drive}: {what}", drive=row.name, what=label), done_bytes, total_bytes)

    if has_esp and not stick.esp_path:
        raise StickError(
            N_("the stick's boot partition was not found, from which the drive's is made")
        )
    content: str | None = None
    if array is not None:
        members = find_members(context, campaign_id, tell=context.tell)
        with drive_work(context, campaign_id, members, tell=tell) as hand:
            install_uuid = install_on_array(
                context,
                campaign_id,
                row,
                stick=stick,
                plan=array,
                boot_set_bytes=boot_set_bytes,
                hand=hand,
            )
    else:
        # Looked up for each drive: /dev/sdX may be another one by now.
        drive = await_drive(context.host, partial(find_released_drive, row=row), tell=context.tell)
        record(context, "install", drive=row.name, path=drive.path, campaign_id=campaign_id)
        note = partial(record, context, campaign_id=campaign_id)
        with drive_work(context, campaign_id, [(row, drive)], tell=tell) as hand:
            released = context.host.drives.unlocked(
                drive,
                stick=stick.drive,
                released_identity=row.identity,
                noted=noted_identity(row),
            )
            with hand.entered(released, N_("unlocking the drive")) as target:
                check_drive_marks(context, campaign_id, row, target.drive, hand=hand)
                marks = DriveMarks(
                    context=context,
                    campaign_id=campaign_id,
                    drive_id=row.drive_id,
                    path=target.path,
                    hand=hand,
                )
                install_uuid = make_install_uuid(stick.mark)
                install = partial(
                    install_reference_os,
                    target,
                    install_uuid=install_uuid,
                    slot=row.slot,
                    boot_set_bytes=boot_set_bytes,
                    progress=hand.tell,
                    show=lambda plan: hand.ask(partial(note, "clearing", what=plan)),
                    stick_esp=stick.esp_path if has_esp else "",
                )
                # From the first write on: a drive refused before that carries no mark of ours.
                with marks.noted_if_cut(install_uuid):
                    hand.do(install, N_("clearing the drive"))
                # Boots write nothing: a partition added later is not ours.
                content = marks.read_ends()
    update_installed(
        context.connection, campaign_id, row.drive_id, install_uuid=install_uuid, content=content
    )
