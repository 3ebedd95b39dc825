# SPDX-License-Identifier: Apache-2.0
"""The workloads of a campaign: the order of its steps, and which of them run at the same time.

A step that times something runs alone. Steps that follow each other and only look at the drives run
side by side, each drive's in their order.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import groupby

from appliance.campaign.context import CampaignContext, load_campaign
from appliance.campaign.database_copy import copy_when_due
from appliance.campaign.drives.array import dismantle_array, find_members
from appliance.campaign.drives.work import drive_work
from appliance.campaign.log import record, record_step
from appliance.campaign.steps.at_once import Company, count_at_once
from appliance.campaign.steps.attempt import (
    DrivePausedError,
    PausedByPersonError,
    ShowStep,
    SkippedByPersonError,
    StepPosition,
    StepRun,
    hold_if_asked,
)
from appliance.campaign.steps.part_store import PartStore
from appliance.campaign.steps.partial_results import fail_step
from appliance.campaign.steps.side_by_side import SideBySide
from appliance.campaign.steps.target import ArraySubject, DriveSubject, Subject
from appliance.drives.facts.selftest import find_blame
from appliance.errors import KaltstartError, RefusedError, StepFailedError
from appliance.plan.model import Plan
from appliance.plan.read import parse_plan
from appliance.stick.partitions import Stick
from appliance.store.tables.arrays import select_array
from appliance.store.tables.campaigns import select_campaign_drives
from appliance.store.tables.pause_and_skip import select_paused_drives
from appliance.store.tables.steps import (
    StepRow,
    select_parts,
    select_steps,
)


def has_steps_left(context: CampaignContext, campaign_id: int) -> bool:
    """Whether a step is still to be done, or the array to be dismantled."""
    if has_planned_steps(context, campaign_id):
        return True
    return select_array(context.connection, campaign_id) is not None


def has_planned_steps(context: CampaignContext, campaign_id: int) -> bool:
    """Whether a step is still to be done."""
    steps = select_steps(context.connection, campaign_id)
    return any(step.state in {"planned", "running"} for step in steps)


def run_steps(context: CampaignContext, campaign_id: int, *, stick: Stick, show: ShowStep) -> None:
    """Do every step that is left. One that fails is stored as failed, and the next one begins.

    The steps of a drive that is not here, or is paused by a person, wait until all others are done;
    one that a person skips is over. If only paused drives are left the campaign pauses.
    Steps that only look at drives run side by side.
    A drive that does not answer fails its own steps only. Raises StoppedByPersonError and what
    blocks the whole campaign (StickError, StillMountedError): steps can be resumed then.
    """
    plan = parse_plan(load_campaign(context, campaign_id).plan_toml)
    steps = select_steps(context.connection, campaign_id)
    drives = select_campaign_drives(context.connection, campaign_id)
    earlier_marks = {row.mark for row in drives if row.mark}
    members = {row.drive_id for row in drives if row.role in {"cache", "backing"}}
    at_once = count_at_once(plan.campaign.at_once)
    parts, company = PartStore(context.connection, context.host.clock), Company()
    runs: list[StepRun] = []
    for number, step in enumerate(steps, start=1):
        if step.state not in {"planned", "running"}:
            continue
        run = StepRun(
            context=context,
            step=step,
            plan=plan.workloads[step.workload_index],
            subject=_subject(context, stick, step, plan),
            place=StepPosition(number, len(steps), step.kind, step.device, step.id),
            show=show,
            parts=parts,
            company=company,
            max_celsius=plan.campaign.max_celsius,
            earlier_marks=earlier_marks,
            discarding={
                index for index, workload in enumerate(plan.workloads) if workload.discards
            },
        )
        runs.append(run)
    absent: list[tuple[StepRun, RefusedError]] = []
    while runs:
        runs = _run_once(
            context, campaign_id, runs, show=show, members=members, at_once=at_once, absent=absent
        )
        waiting = select_paused_drives(context.connection, campaign_id).keys()
        if runs and not _split_held(runs, waiting, members=members)[0]:
            raise PausedByPersonError
    _run_absent(context, campaign_id, [run for run, _ in absent], show=show, members=members)
    _leave_no_array(context, campaign_id, stick=stick, show=show, of=len(steps))
    hold_if_asked(context, campaign_id)


def _run_once(
    context: CampaignContext,
    campaign_id: int,
    runs: Sequence[StepRun],
    *,
    show: ShowStep,
    members: Collection[int],
    at_once: int,
    absent: list[tuple[StepRun, RefusedError]],
) -> list[StepRun]:
    """All steps in their order; those that wait for a person.

    Those whose drive is not here are added to `absent`, which has those of earlier rounds.
    """
    paused: list[StepRun] = []
    for group in group_steps(runs, members=members, at_once=at_once):
        hold_if_asked(context, campaign_id)
        # A drive's steps stay in their order.
        away = {drive_id for run in paused for drive_id in _drive_ids(run, members)}
        away |= select_paused_drives(context.connection, campaign_id).keys()
        here, held = _split_held(group, away, members=members)
        paused += held
        here = _leave_out_behind(absent, here, members=members)
        if len(here) > 1:
            absent += _run_group(context, campaign_id, here, show=show, most=at_once, paused=paused)
        elif here:
            try:
                if error := _do_step(here[0]):
                    absent.append((here[0], error))
            except DrivePausedError:
                paused += here
    return _list_left(paused, show=show)


def _run_absent(
    context: CampaignContext,
    campaign_id: int,
    runs: Sequence[StepRun],
    *,
    show: ShowStep,
    members: Collection[int],
) -> None:
    """Do the steps whose drives were not here when it was their turn, or fail them.

    One that a person has paused is not failed. Raises PausedByPersonError if such ones are left.
    """
    paused: list[StepRun] = []
    for run in _list_left(runs, show=show):
        hold_if_asked(context, campaign_id)
        away = {drive_id for paused_run in paused for drive_id in _drive_ids(paused_run, members)}
        away |= select_paused_drives(context.connection, campaign_id).keys()
        here, held = _split_held([run], away, members=members)
        paused += held
        for step_run in here:
            try:
                if error := _do_step(step_run):
                    _fail(context, step_run.step, error)
            except DrivePausedError:
                paused += here
    if _list_left(paused, show=show):
        raise PausedByPersonError


def _split_held(
    runs: Sequence[StepRun], away: Collection[int | None], *, members: Collection[int]
) -> tuple[list[StepRun], list[StepRun]]:
    """Those that may be done, and those that wait: of drives that are `away`, or behind such a one.

    A step on the array is one of its `members`: to make the array erases what theirs have written.
    """
    here: list[StepRun] = []
    held: list[StepRun] = []
    away = set(away)
    for run in runs:
        drive_ids = _drive_ids(run, members)
        if away & drive_ids:
            away |= drive_ids
            held.append(run)
        else:
            here.append(run)
    return here, held


def _leave_out_behind(
    absent: list[tuple[StepRun, RefusedError]],
    runs: Sequence[StepRun],
    *,
    members: Collection[int] = (),
) -> list[StepRun]:
    """Those that are not of a drive in `absent`; the others are added to it, to stay in order."""
    away = {drive_id for run, _ in absent for drive_id in _drive_ids(run, members)}
    here, behind = _split_held(runs, away, members=members)
    absent += [(run, absent[-1][1]) for run in behind]
    return here


def _drive_ids(run: StepRun, members: Collection[int]) -> set[int | None]:
    return set(members) if run.step.drive_id is None else {run.step.drive_id}


def group_steps(
    runs: Sequence[StepRun], *, members: Collection[int], at_once: int
) -> Iterator[list[StepRun]]:
    """The steps in their order, those together that may run at the same time. Pure.

    `members` are the drives of an array: taking one out of it is the other one's business too.
    """

    def find_key(number_and_run: tuple[int, StepRun]) -> int:
        """Alike for neighbours that belong together."""
        number, run = number_and_run
        is_alone = run.step.drive_id is None or run.step.drive_id in members
        if is_alone or not run.plan.may_run_beside or (at_once == 1 and run.plan.loads_machine):
            return number
        return -1

    for _, group in groupby(enumerate(runs), find_key):
        yield [run for _, run in group]


def _list_left(runs: Sequence[StepRun], *, show: ShowStep) -> list[StepRun]:
    """Their next attempts; one that was skipped meanwhile has none."""
    again = (run.next_attempt(show=show) for run in runs)
    return [run for run in again if run.step.state in {"planned", "running"}]


def _run_group(
    context: CampaignContext,
    campaign_id: int,
    group: list[StepRun],
    *,
    show: ShowStep,
    most: int,
    paused: list[StepRun],
) -> list[tuple[StepRun, RefusedError]]:
    """Steps side by side; those whose drive is not here. Those that wait are added to `paused`.

    For a power-off nothing may run. So all come to theirs first; then each has its own, and the
    next start makes the next one at once. What is read after it is read side by side again.
    """
    absent: list[tuple[StepRun, RefusedError]] = []
    remaining = group
    while remaining:
        waiting = select_paused_drives(context.connection, campaign_id)
        paused += [run for run in remaining if run.step.drive_id in waiting]
        remaining = [run for run in remaining if run.step.drive_id not in waiting]
        for run in remaining:
            if run.is_before_power_off:
                with suppress(DrivePausedError):  # it waits beside the others
                    if error := _do_step(run):
                        absent.append((run, error))
        over = {run.step.id for run, _ in absent}
        steps = select_steps(context.connection, campaign_id)
        over |= {step.id for step in steps if step.state not in {"planned", "running"}}
        left_over = [run for run in remaining if run.step.id not in over]
        beside = SideBySide(context, campaign_id, do=_do_step, show=show, most=most)
        absent += beside.run(_leave_out_behind(absent, left_over))
        paused += beside.paused
        drives = {run.step.drive_id for run in beside.before_power_off}
        gone = {run.step.id for run, _ in absent}
        again = [run.next_attempt(show=show) for run in remaining if run.step.drive_id in drives]
        # What is over must not be begun again: the drive's next step has written since.
        remaining = [
            run
            for run in again
            if run.step.id not in gone and run.step.state in {"planned", "running"}
        ]
    return absent


def _do_step(run: StepRun) -> RefusedError | None:
    """Why what it works on is not here, where it is not."""
    try:
        run.find()
    except SkippedByPersonError:
        return None
    except RefusedError as error:
        return error
    _run_step(run)
    return None


def _subject(context: CampaignContext, stick: Stick, step: StepRow, plan: Plan) -> Subject:
    if step.drive_id is not None:
        return DriveSubject(context, stick, step)
    if plan.array is None:
        raise AssertionError("a step on the array without one in the plan")
    is_begun = bool(select_parts(context.connection, step.id))
    return ArraySubject(context, stick, step, plan.array, is_begun)


def _leave_no_array(
    context: CampaignContext, campaign_id: int, *, stick: Stick, show: ShowStep, of: int
) -> None:
    """Dismantle the campaign's array. If that is impossible it is left, with the reason."""
    row = select_array(context.connection, campaign_id)
    if row is None:
        return
    place = StepPosition(of, of, "array", "array")

    def tell(label: str, done: int, total: int) -> None:
        show(place, label, done, total)

    try:
        members = find_members(context, campaign_id, tell=tell)
        with drive_work(context, campaign_id, members, tell=tell) as hand:
            dismantle_array(context, row, stick=stick, hand=hand)
    except (StepFailedError, RefusedError) as error:
        record(context, "array-left", what=str(error), campaign_id=campaign_id, level="error")
        context.host.announce("step-failed", id=campaign_id, kind="array", reason=error.message)


def _run_step(run: StepRun) -> None:
    try:
        run.work()
    except (StepFailedError, RefusedError) as error:
        _fail(run.context, run.step, error)
    except SkippedByPersonError:
        return
    copy_when_due(run.context.connection, run.context.host)


def _is_over(context: CampaignContext, step: StepRow) -> bool:
    """Whether its end is stored already."""
    steps = select_steps(context.connection, step.campaign_id)
    return any(row.id == step.id and row.state in {"done", "failed", "skipped"} for row in steps)


def _fail(context: CampaignContext, step: StepRow, error: KaltstartError) -> None:
    if _is_over(context, step):
        # Releasing what it worked on failed.
        record_step(context, step, "step-note", what=str(error), level="warning")
        return
    blame = error.blame
    if step.kind == "selftest" and blame == "drive":
        blame = find_blame(error.message)
    fail_step(context, step, error.message, blame=blame, told=str(error))
