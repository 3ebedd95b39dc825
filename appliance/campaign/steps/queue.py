"""The workloads of a campaign, one step after the other, each on one drive or on the array."""

from appliance.campaign.context import Site, load_campaign
from appliance.campaign.database_copy import copy_when_due
from appliance.campaign.drives.array import find_members, take_apart_array
from appliance.campaign.drives.work import drive_work
from appliance.campaign.log import record, record_step
from appliance.campaign.steps.attempt import (
    ShowStep,
    SkippedByPersonError,
    StepPosition,
    StepRun,
    hold_if_asked,
)
from appliance.campaign.steps.target import ArraySubject, DriveSubject, Subject
from appliance.drives.facts.selftest import find_blame
from appliance.errors import KaltstartError, Refusal, StepFailed
from appliance.plan.read import Plan, parse_plan
from appliance.stick.partitions import Stick
from appliance.store.arrays import select_array
from appliance.store.campaigns import select_campaign_drives
from appliance.store.connect import transaction
from appliance.store.steps import (
    StepRow,
    select_parts,
    select_steps,
    update_step_ended,
)
from appliance.units import printable


def has_steps_left(site: Site, campaign_id: int) -> bool:
    """Whether a step is still to be done, or the array to be taken apart."""
    if has_planned_steps(site, campaign_id):
        return True
    return select_array(site.connection, campaign_id) is not None


def has_planned_steps(site: Site, campaign_id: int) -> bool:
    """Whether a step is still to be done."""
    steps = select_steps(site.connection, campaign_id)
    return any(step.state in {"planned", "running"} for step in steps)


def run_steps(site: Site, campaign_id: int, *, stick: Stick, show: ShowStep) -> None:
    """Do every step that is left. One that fails is stored as failed, and the next one begins.

    A step whose drive is not here waits until all others are done; one that a person skips is over.
    A drive that does not answer fails its own steps only. Raises StoppedByPersonError and what
    holds up the whole campaign (StickTrouble, StillMountedError): steps can be resumed then.
    """
    plan = parse_plan(load_campaign(site, campaign_id).plan_toml)
    steps = select_steps(site.connection, campaign_id)
    drives = select_campaign_drives(site.connection, campaign_id)
    earlier_marks = {row.mark for row in drives if row.mark}
    waiting: list[tuple[StepRun, Refusal]] = []
    for number, step in enumerate(steps, start=1):
        if step.state not in {"planned", "running"}:
            continue
        run = StepRun(
            site=site,
            step=step,
            plan=plan.workloads[step.workload_index],
            subject=_subject(site, stick, step, plan),
            place=StepPosition(number, len(steps), step.kind, step.device, step.id),
            show=show,
            max_celsius=plan.campaign.max_celsius,
            earlier_marks=earlier_marks,
        )
        hold_if_asked(site, campaign_id)
        try:
            run.find()
        except SkippedByPersonError:
            continue
        except Refusal as error:
            waiting.append((run, error))
        else:
            _run_step(run)
    for run, _ in waiting:
        hold_if_asked(site, campaign_id)
        try:
            run.find()
        except SkippedByPersonError:
            continue
        except Refusal as error:
            _fail(site, run.step, error)
        else:
            _run_step(run)
    _leave_no_array(site, campaign_id, stick=stick, show=show, of=len(steps))
    hold_if_asked(site, campaign_id)


def _subject(site: Site, stick: Stick, step: StepRow, plan: Plan) -> Subject:
    if step.drive_id is not None:
        return DriveSubject(site, stick, step)
    if plan.array is None:
        raise AssertionError("a step on the array without one in the plan")
    is_begun = bool(select_parts(site.connection, step.id))
    return ArraySubject(site, stick, step, plan.array, is_begun)


def _leave_no_array(site: Site, campaign_id: int, *, stick: Stick, show: ShowStep, of: int) -> None:
    """Take the campaign's array apart. One that cannot be is left, with the reason."""
    row = select_array(site.connection, campaign_id)
    if row is None:
        return
    place = StepPosition(of, of, "array", "array")

    def tell(label: str, done: int, total: int) -> None:
        show(place, label, done, total)

    try:
        members = find_members(site, campaign_id, tell=tell)
        with drive_work(site, campaign_id, members, tell=tell) as hand:
            take_apart_array(site, row, stick=stick, hand=hand)
    except (StepFailed, Refusal) as error:
        record(site, "array-left", what=str(error), campaign_id=campaign_id, level="error")
        site.host.announce("step-failed", id=campaign_id, kind="array", reason=error.message)


def _run_step(run: StepRun) -> None:
    try:
        run.work()
    except (StepFailed, Refusal) as error:
        _fail(run.site, run.step, error)
    except SkippedByPersonError:
        return
    copy_when_due(run.site.connection, run.site.host)


def _is_over(site: Site, step: StepRow) -> bool:
    """Whether its end is stored already."""
    steps = select_steps(site.connection, step.campaign_id)
    return any(each.id == step.id and each.state in {"done", "failed", "skipped"} for each in steps)


def _fail(site: Site, step: StepRow, error: KaltstartError) -> None:
    if _is_over(site, step):
        # Letting go of what it worked on went wrong.
        record_step(site, step, "step-note", what=str(error), level="warning")
        return
    blame = error.blame
    if step.kind == "selftest" and blame == "drive":
        blame = find_blame(error.message)
    with transaction(site.connection):
        update_step_ended(
            site.connection,
            step.id,
            "failed",
            reason=printable(error.message),
            blame=blame,
        )
        record_step(site, step, "step-failed", what=str(error), level="error")
    site.host.announce(
        "step-failed",
        id=step.campaign_id,
        step=step.id,
        drive=step.device,
        kind=step.kind,
        reason=error.message,
    )
