# SPDX-License-Identifier: Apache-2.0
"""Storing what an unfinished part had found when its step ended.

A step that was stopped does the part again; one that failed or was skipped never does.
"""

from collections.abc import Callable, Sequence
from functools import partial

from appliance.campaign.context import CampaignContext
from appliance.campaign.log import record_step
from appliance.drive_thread import DriveSilentError, DriveThread
from appliance.drives.identity_query import ExchangedError
from appliance.errors import Blame, RefusedError, StepFailedError, StickError
from appliance.phrases import N_, Phrase
from appliance.samples.model import Result
from appliance.store.connect import transaction
from appliance.store.tables.pause_and_skip import is_skipped
from appliance.store.tables.steps import StepRow, insert_ranges, update_step_ended
from appliance.units import printable
from appliance.workloads.base import Bench, Leftover, Workload


def store_partial_results(
    context: CampaignContext,
    step: StepRow,
    workload: Workload,
    *,
    bench: Bench,
    part: str,
    error: BaseException,
    hand: DriveThread,
    insert: Callable[[Sequence[Result]], None],
) -> None:
    """After `error` in `part`: store what it had found, without calling it finished.

    `insert` stores the figures. A step that a person skipped while its drive did not answer has
    failed: without the skip it could not have gone on either. Of a drive that was exchanged nothing
    is stored: it may be the other one's.
    """
    if isinstance(error, (StickError, ExchangedError)):
        return
    skipped = is_skipped(context.connection, step.id)
    if not skipped and not isinstance(error, (StepFailedError, RefusedError)):
        return
    leftover = _find(workload, bench, part, hand)
    with transaction(context.connection):
        insert(leftover.results)
        insert_ranges(context.connection, step.id, part, leftover.ranges)
        for note in leftover.notes:
            record_step(context, step, "step-note", part=part, what=note, level="warning")
    if skipped and hand.silence is not None:
        _fail_skipped(
            context, step, Phrase(N_("the drive does not answer ({what})"), what=hand.silence.what)
        )
    elif skipped and leftover.silent:
        _fail_skipped(context, step, Phrase("{part}: {what}", part=part, what=leftover.silent))


def _find(workload: Workload, bench: Bench, part: str, hand: DriveThread) -> Leftover:
    if hand.silence is None:
        try:
            give_up = partial(workload.give_up_part, bench, part, is_silent=False)
            return hand.do(give_up, Phrase(N_("{part}: ending it"), part=part), must=True)
        except DriveSilentError:
            pass
    # The drive is not asked, so it need not be the thread that does it: that one is held.
    return workload.give_up_part(bench, part, is_silent=True)


def _fail_skipped(context: CampaignContext, step: StepRow, why: str) -> None:
    fail_step(
        context,
        step,
        Phrase(N_("{what}; then it was skipped by a person"), what=why),
        blame="drive",
    )


def fail_step(
    context: CampaignContext, step: StepRow, reason: str, *, blame: Blame, told: str = ""
) -> None:
    """Store its end and report it; `told` is what is logged, if that is more."""
    with transaction(context.connection):
        update_step_ended(
            context.connection, step.id, "failed", reason=printable(reason), blame=blame
        )
        record_step(context, step, "step-failed", what=told or reason, level="error")
    context.host.announce(
        "step-failed",
        id=step.campaign_id,
        step=step.id,
        drive=step.device,
        kind=step.kind,
        reason=reason,
    )
