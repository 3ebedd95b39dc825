# SPDX-License-Identifier: Apache-2.0
"""Which step or boots can be skipped, and what is then missing from the results. Pure."""

from tui.language import _
from tui.model.campaigns import Campaign, CampaignDrive, Step
from tui.model.engine_words import name_device
from tui.model.snapshot import Snapshot
from tui.model.status import StepNow
from tui.run.lines import name_part


def find_skippable(snapshot: Snapshot) -> tuple[Campaign, tuple[Step, ...]] | None:
    """The steps that run, or of a paused campaign the next one, with their campaign."""
    campaign = snapshot.current if snapshot.busy else snapshot.paused
    if campaign is None:
        return None
    steps = tuple(step for step in campaign.steps if step.state in {"planned", "running"})
    if snapshot.busy:
        running = snapshot.status.step_ids if snapshot.status else frozenset()
        steps = tuple(step for step in steps if step.id in running)
    else:
        steps = steps[:1]
    return (campaign, steps) if steps else None


def find_skippable_on(snapshot: Snapshot, drive_id: int) -> tuple[Campaign, Step] | None:
    """The same of one drive: the step that runs, or of a paused campaign its next one."""
    campaign = snapshot.current if snapshot.busy else snapshot.paused
    if campaign is None:
        return None
    running = snapshot.status.step_ids if snapshot.busy and snapshot.status else None
    for step in campaign.steps:
        is_open = step.drive_id == drive_id and step.state in {"planned", "running"}
        if is_open and (running is None or step.id in running):
            return campaign, step
    return None


def find_skippable_boots(snapshot: Snapshot) -> tuple[CampaignDrive, ...]:
    """The drives of the paused campaign that have boots to make; whose turn it is comes first."""
    if snapshot.paused is None:
        return ()
    turns = [(drive.next_position, drive) for drive in snapshot.paused.drives]
    open_turns = [(turn, drive) for turn, drive in turns if turn is not None]
    return tuple(drive for _turn, drive in sorted(open_turns, key=lambda each: each[0]))


def describe_boots_skip(drive: CampaignDrive) -> str:
    """The question before the boots of a drive are skipped."""
    lines = [
        _("Skip all remaining boots of {drive}?").format(drive=drive.booted),
        "",
        _("MISSING from the results: {count} of its {planned} boots.").format(
            count=drive.open, planned=drive.planned
        ),
        "",
        _(
            "Stored boots stay. The others count as skipped by a person, never as passed: "
            'the drive\'s verdict has a remark, and says "not measured" if it needs the '
            "missing results. The campaign continues with the other drives' boots, and with "
            "all steps. This cannot be undone."
        ),
    ]
    return "\n".join(lines)


def describe_skip(campaign: Campaign, step: Step, snapshot: Snapshot) -> str:
    """The question before it is skipped."""
    number = campaign.steps.index(step) + 1
    lines = [
        _("Skip step {number} of {count}: {kind} on {device}?").format(
            number=number,
            count=len(campaign.steps),
            kind=step.kind,
            device=name_device(step.device),
        ),
        "",
        _describe_missing(step, snapshot),
        "",
        _(
            "Results already stored are kept. The step counts as skipped by a person, never as "
            'passed; a verdict that needs the missing results says "not measured". The '
            "campaign continues with the next step. This cannot be undone."
        ),
    ]
    return "\n".join(lines)


def find_running(snapshot: Snapshot, step: Step) -> StepNow | None:
    """How far the step is; None where it does not run."""
    status = snapshot.status if snapshot.busy else None
    if status is None:
        return None
    running = [entry.step for entry in status.steps] or ([status.step] if status.step else [])
    return next((now for now in running if now.step_id == step.id), None)


def _describe_missing(step: Step, snapshot: Snapshot) -> str:
    now = find_running(snapshot, step)
    if now is None or not now.part:
        return _("MISSING from the results: all parts of it that are not stored yet.")
    return _(
        "MISSING from the results: part {number} of {parts} ({part}), which is running, and "
        "all after it."
    ).format(number=now.part_number, parts=now.parts, part=name_part(now))
