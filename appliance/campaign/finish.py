# SPDX-License-Identifier: Apache-2.0
"""The end of a campaign: its report on the stick, its last console line."""

import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from appliance.campaign.context import CampaignContext
from appliance.campaign.database_copy import copy_database
from appliance.campaign.log import record
from appliance.campaign.verdicts import judge_again, judge_campaign, tell_no_verdict
from appliance.errors import RefusedError, StickError, describe_bug
from appliance.phrases import N_, Phrase, join_phrases
from appliance.stick.partitions import RAW, writable_fat
from appliance.store.connect import transaction
from appliance.store.maintenance.thinning import thin_recordings
from appliance.store.tables.boots import select_cycles
from appliance.store.tables.campaigns import select_campaign, update_campaign_state
from appliance.store.tables.steps import select_steps
from appliance.units import format_size, printable


def write_report(
    context: CampaignContext, campaign_id: int, *, wait: Callable[[], None] | None = None
) -> str:
    """Write the report to KALTSTART; return its folder as a person finds it there.

    `wait` is called while a command in a shell writes there; without it there is no waiting.
    Raises StickError, PlanError when there is no such campaign, and what `wait` raises.
    """
    # Charts and templates take their time to load: not while the appliance starts.
    from appliance.report.export import export_campaign  # noqa: PLC0415
    from appliance.report.folder import held  # noqa: PLC0415 - as above

    missing: list[str] = []
    with writable_fat() as fat:
        reports = fat / "reports"
        try:
            reports.mkdir(exist_ok=True)
        except OSError as error:
            raise StickError(
                Phrase(
                    N_("the folder reports cannot be made on KALTSTART: {error}"),
                    error=error.strerror,
                ),
                hint=N_("delete or rename a file of that name, or make room"),
            ) from error
        with held(reports, wait=wait):
            folder = export_campaign(
                context.connection,
                campaign_id=campaign_id,
                reports=reports,
                raw=RAW,
                note=missing.append,
                thin=partial(_thin, context, campaign_id),
            )
        place = str(folder.relative_to(fat))
    for what in missing:
        record(context, "report-incomplete", what=what, campaign_id=campaign_id, level="warning")
    record(context, "report", what=place, campaign_id=campaign_id)
    return place


def _thin(context: CampaignContext, campaign_id: int) -> None:
    """Old recordings, and a long one that the report has now. What goes wrong costs only room."""
    try:
        removed = thin_recordings(context.connection, campaign_id)
    except (StickError, sqlite3.Error) as error:
        record(context, "not-thinned", what=str(error), campaign_id=campaign_id, level="warning")
        return
    for thinned_id, rows in removed.items():
        record(context, "recording-thinned", rows=rows, campaign_id=thinned_id)


def write_report_again(context: CampaignContext, campaign_id: int) -> str:
    """Judge again, by the policy as it is now, and write the report; return its folder.

    Raises as `write_report` does.
    """
    judge_again(context, campaign_id)
    return write_report(context, campaign_id)


def delete_report(context: CampaignContext, campaign_id: int) -> str:
    """Delete the report from KALTSTART; return the answer. The database keeps the campaign.

    Raises StickError, or RefusedError where there is none.
    """
    from appliance.report import removal  # noqa: PLC0415 - as above
    from appliance.report.folder import held  # noqa: PLC0415 - as above

    campaign = select_campaign(context.connection, campaign_id)
    if campaign is None:
        raise RefusedError(
            Phrase(N_("there is no campaign {number} in the database"), number=campaign_id)
        )
    with writable_fat() as fat:
        reports = fat / "reports"
        with held(reports) if reports.is_dir() else nullcontext():
            deleted = removal.delete_report(context.connection, reports, campaign)
    if deleted is None:
        raise RefusedError(
            Phrase(N_("campaign {number} has no report on KALTSTART"), number=campaign_id)
        )
    name, freed, is_gone = deleted
    folder = f"reports/{printable(name)}"
    record(context, "report-deleted", folder=folder, campaign_id=campaign_id)
    size = format_size(freed, decimals=1)
    if is_gone:
        return Phrase(N_("{folder} is deleted: {size} are free"), folder=folder, size=size)
    return Phrase(
        N_("the report in {folder} is deleted: {size} are free; other files in it stay"),
        folder=folder,
        size=size,
    )


def finish(
    context: CampaignContext, campaign_id: int, *, wait: Callable[[], None] | None = None
) -> None:
    """Close the campaign. A report that cannot be written is said and can be asked for again.

    No sample hangs on it, nor on the verdicts. `wait` as of `write_report`.
    """
    cycles = select_cycles(context.connection, campaign_id)
    samples = sum(
        cycle.state == "done" and not cycle.charted and not cycle.trained for cycle in cycles
    )
    steps = select_steps(context.connection, campaign_id)
    steps_done = sum(step.state == "done" for step in steps)
    failed = sum(cycle.state == "failed" for cycle in cycles)
    failed += sum(step.state == "failed" for step in steps)
    with transaction(context.connection):
        update_campaign_state(context.connection, campaign_id, "done")
        record(
            context,
            "campaign-done",
            what=_count_up(samples=samples, steps=steps_done, failures=failed),
            campaign_id=campaign_id,
        )
    try:
        judge_campaign(context, campaign_id)
    except Exception as error:  # noqa: BLE001  # even a bug in the judging must not hide the end
        tell_no_verdict(context, campaign_id, (describe_bug(error),))
    try:
        write_report(context, campaign_id, wait=wait)
    except Exception as error:  # noqa: BLE001  # even a bug in the report must not hide the end
        record(context, "report-failed", what=str(error), campaign_id=campaign_id, level="error")
        context.host.announce("step-failed", id=campaign_id, kind="report", reason=str(error))
    copy_database(context.connection, context.host, is_end=True)
    context.host.announce(
        "campaign-done", id=campaign_id, samples=samples, steps=steps_done, failed=failed
    )


def _count_up(*, samples: int, steps: int, failures: int) -> str:
    sample_words = N_("{count} sample") if samples == 1 else N_("{count} samples")
    step_words = N_("{count} step") if steps == 1 else N_("{count} steps")
    counts = (
        Phrase(sample_words, count=samples),
        Phrase(step_words, count=steps),
        Phrase(N_("{count} failed"), count=failures),
    )
    return join_phrases(counts, "{first}, {rest}")
