"""What a part had found when its step ended in the middle of it: stored, or nobody would know.

A step that was stopped does the part again; one that failed or was skipped never does.
"""

from collections.abc import Callable, Sequence

from appliance.campaign.journal import record
from appliance.campaign.site import Site
from appliance.console import announce
from appliance.errors import Blame, Refusal, StepFailed, StickTrouble
from appliance.measure.samples import Result
from appliance.run import StillRunning
from appliance.store.connect import transaction
from appliance.store.ranges import insert_ranges
from appliance.store.steps import StepRow, update_step_ended
from appliance.store.wishes import is_skipped
from appliance.units import printable
from appliance.workloads.base import Bench, Workload


def store_found(
    site: Site,
    step: StepRow,
    workload: Workload,
    *,
    bench: Bench,
    part: str,
    error: BaseException,
    insert: Callable[[Sequence[Result]], None],
) -> None:
    """After `error` in `part`: store what it had found, without calling it finished.

    `insert` stores the figures. A step that a person skipped while its drive did not answer has
    failed: without the skip it could not have gone on either.
    """
    if isinstance(error, StickTrouble):
        return
    skipped = is_skipped(site.connection, step.id)
    if not skipped and not isinstance(error, (StepFailed, Refusal)):
        return
    found = workload.give_up_part(bench, part)
    with transaction(site.connection):
        insert(found.results)
        insert_ranges(site.connection, step.id, part, found.ranges)
        for note in found.notes:
            _record(site, step, "step-note", f"{part}: {note}", level="warning")
    if skipped and isinstance(error, StillRunning):
        _fail_skipped(site, step, f"{part}: {error.message}", blame=error.blame)
    elif skipped and found.silent:
        _fail_skipped(site, step, f"{part}: {found.silent}", blame="drive")


def _fail_skipped(site: Site, step: StepRow, why: str, *, blame: Blame) -> None:
    reason = f"{why}; then it was skipped by a person"
    with transaction(site.connection):
        update_step_ended(site.connection, step.id, "failed", reason=printable(reason), blame=blame)
        _record(site, step, "step-failed", reason, level="error")
    announce(
        "step-failed",
        id=step.campaign_id,
        step=step.id,
        drive=step.device,
        kind=step.kind,
        reason=reason,
    )


def _record(site: Site, step: StepRow, event: str, detail: str, *, level: str) -> None:
    record(
        site.connection,
        site.this_boot,
        event,
        f"{step.kind} on {step.device}: {detail}",
        campaign_id=step.campaign_id,
        level=level,
    )
