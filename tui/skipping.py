"""Which step a person may skip, and what is missing from the results then. Pure."""

from tui.campaigns import Campaign, Step
from tui.language import _
from tui.state import Snapshot


def find_skippable(snapshot: Snapshot) -> tuple[Campaign, Step] | None:
    """The step that runs, or of a paused campaign the next one, with its campaign."""
    campaign = snapshot.current if snapshot.busy else snapshot.paused
    if campaign is None:
        return None
    open_steps = [step for step in campaign.steps if step.state in {"planned", "running"}]
    if snapshot.busy:
        now = snapshot.status.step if snapshot.status else None
        open_steps = [step for step in open_steps if now and step.id == now.step_id]
    return (campaign, open_steps[0]) if open_steps else None


def describe_skip(campaign: Campaign, step: Step, snapshot: Snapshot) -> str:
    """The question before it is skipped."""
    number = campaign.steps.index(step) + 1
    lines = [
        _("Skip step {number} of {count}: {kind} on {device}?").format(
            number=number, count=len(campaign.steps), kind=step.kind, device=step.device
        ),
        "",
        _describe_missing(step, snapshot),
        "",
        _(
            "What of it is stored stays. The step counts as skipped by a person, never as passed; "
            'a verdict says "not measured" where it needs what is missing. '
            "The campaign goes on with the next step. This cannot be taken back."
        ),
    ]
    return "\n".join(lines)


def _describe_missing(step: Step, snapshot: Snapshot) -> str:
    now = snapshot.status.step if snapshot.busy and snapshot.status else None
    if now is None or now.step_id != step.id or not now.part:
        return _("MISSING from the results: all parts of it that are not stored yet.")
    return _(
        "MISSING from the results: part {number} of {parts} ({part}), which runs now, "
        "and all behind it."
    ).format(number=now.part_number, parts=now.parts, part=now.part)
