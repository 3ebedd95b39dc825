# SPDX-License-Identifier: Apache-2.0
"""The verdict on each drive of a campaign: made, stored, said. Decides nothing itself.

A policy with mistakes judges nothing: the campaign ends as it would, and says why there is none.
"""

from collections.abc import Collection

from appliance.campaign.context import CampaignContext
from appliance.campaign.log import record
from appliance.errors import PlanError
from appliance.phrases import N_, Phrase, add_count, join_phrases
from appliance.stick.partitions import FAT
from appliance.store.connect import transaction
from appliance.store.read.evidence import is_own_campaign
from appliance.store.tables.campaigns import select_campaign
from appliance.store.tables.verdicts import (
    Depth,
    Verdict,
    delete_verdicts,
    insert_verdict,
    select_judging,
    select_verdicts,
    upsert_judging,
    upsert_judging_problem,
)
from appliance.verdict.gather import gather_evidence
from appliance.verdict.judge import Judged, judge
from appliance.verdict.policy_file import Policy, load_policy, problems_of

POLICY = FAT / "policy.toml"


def judge_campaign(context: CampaignContext, campaign_id: int) -> None:
    """Make the verdicts of a campaign that is done, by the policy as it is now.

    The earlier ones stay in the event log. Never raises on a policy's mistakes: the event log, the
    console and the report show them.
    """
    _judge(context, campaign_id)


def _judge(
    context: CampaignContext,
    campaign_id: int,
    *,
    told: Collection[dict[str, object]] = (),
    told_problems: Collection[str] = (),
) -> None:
    """The console gets neither the verdicts `told` nor `told_problems` again."""
    try:
        policy = load_policy(POLICY)
    except PlanError as error:
        problems = tuple(map(str, error.problems))
        tell_no_verdict(context, campaign_id, problems, told=told_problems)
        return
    judged = judge(policy, gather_evidence(context.connection, campaign_id))
    with transaction(context.connection):
        _keep_old(context, campaign_id)
        delete_verdicts(context.connection, campaign_id)
        upsert_judging(
            context.connection,
            campaign_id,
            policy=policy.name,
            origin=policy.origin,
            text=policy.text,
        )
        for judgement in judged:
            _store(context, campaign_id, policy, judgement)
    if damaged := [judgement for judgement in judged if judgement.evidence.damaged]:
        problems = tuple(
            Phrase("{drive}: {what}", drive=judgement.evidence.name, what=judgement.reasons)
            for judgement in damaged
        )
        tell_no_verdict(context, campaign_id, problems, told=told_problems)
    for judgement in judged:
        if judgement.verdict is None:
            continue
        evidence = judgement.evidence
        fields = _list_fields(
            campaign_id, evidence.name, judgement.verdict, evidence.depth, evidence.read_percent
        )
        if fields not in told:
            context.host.announce("verdict", **fields)


def _list_fields(
    campaign_id: int, name: str, verdict: Verdict, depth: Depth, read_percent: float
) -> dict[str, object]:
    """Of the console line."""
    fields: dict[str, object] = {
        "id": campaign_id,
        "drive": name,
        "verdict": verdict,
        "depth": depth,
    }
    if depth == "quick look":
        fields["read_percent"] = round(read_percent, 1)
    return fields


def check_policy(context: CampaignContext) -> str:
    """Say every mistake of `policy.toml` before a campaign hangs on it.

    Returns what the user must know before it starts; empty if the policy is good.
    """
    problems = problems_of(POLICY)
    for problem in problems:
        context.host.announce("policy", state="invalid", reason=problem)
        record(context, "policy-invalid", what=problem, level="error")
    if not problems:
        return ""
    return Phrase(N_("no verdict will be made: {what}"), what=add_count(problems))


def judge_again(context: CampaignContext, campaign_id: int) -> None:
    """The same for a report that is requested again, if this stick may judge at all.

    The console has the end of the campaign already: it gets only what is judged differently now.
    """
    campaign = select_campaign(context.connection, campaign_id)
    if campaign is None or campaign.state != "done":
        return  # the report says that it is not over, or that there is none
    if is_own_campaign(context.connection, campaign_id):
        rows = select_verdicts(context.connection, campaign_id)
        judging = select_judging(context.connection, campaign_id)
        _judge(
            context,
            campaign_id,
            told=[
                _list_fields(campaign_id, row.name, row.verdict, row.depth, row.read_percent)
                for row in rows
            ],
            told_problems=judging.problem.split("\n") if judging else (),
        )
        return
    event = "verdict-kept" if select_verdicts(context.connection, campaign_id) else "no-verdict"
    record(context, event, campaign_id=campaign_id)


def tell_no_verdict(
    context: CampaignContext,
    campaign_id: int,
    problems: tuple[str, ...],
    *,
    told: Collection[str] = (),
) -> None:
    """Why there is none: in the event log, for the report, and one console line each.

    Not those that the console was `told` before.
    """
    with transaction(context.connection):
        upsert_judging_problem(context.connection, campaign_id, problem="\n".join(problems))
        for problem in problems:
            record(context, "no-verdict", what=problem, campaign_id=campaign_id, level="error")
    for problem in problems:
        if problem not in told:
            context.host.announce("no-verdict", id=campaign_id, reason=problem)


def _keep_old(context: CampaignContext, campaign_id: int) -> None:
    for row in select_verdicts(context.connection, campaign_id):
        record(
            context,
            "verdict-before",
            what=join_phrases(
                (
                    row.name,
                    Phrase(
                        N_("{verdict} ({depth}) at {time}"),
                        verdict=row.verdict,
                        depth=row.depth,
                        time=row.at,
                    ),
                    row.reasons,
                ),
                "{first}: {rest}",
            ),
            campaign_id=campaign_id,
        )


def _store(context: CampaignContext, campaign_id: int, policy: Policy, judged: Judged) -> None:
    name = judged.evidence.name
    if judged.evidence.damaged:
        return
    if judged.verdict is None:
        record(context, "no-verdict", drive=name, campaign_id=campaign_id, level="warning")
        return
    insert_verdict(
        context.connection,
        campaign_id=campaign_id,
        drive_id=judged.evidence.drive_id,
        drive_class=judged.drive_class or "",
        verdict=judged.verdict,
        reasons=judged.reasons,
        depth=judged.evidence.depth,
        read_percent=judged.evidence.read_percent,
        limits=judged.limits,
    )
    record(
        context,
        "verdict",
        drive=name,
        verdict=judged.verdict,
        depth=judged.evidence.depth,
        policy=policy.name,
        origin=policy.origin,
        campaign_id=campaign_id,
    )
