# SPDX-License-Identifier: Apache-2.0
"""The plan on the stick: read and checked at start-up and shown; it is not started here."""

from dataclasses import dataclass

from appliance.campaign.context import CampaignContext
from appliance.campaign.host import Host
from appliance.campaign.log import refuse
from appliance.campaign.start import RefusedForReasonsError, check_plan, hash_plan, reasons_of
from appliance.campaign.status import Status
from appliance.campaign.stick_room import check_room
from appliance.errors import KaltstartError, PlanError
from appliance.phrases import N_, Phrase
from appliance.plan.machine_rules import find_doubtful_releases
from appliance.plan.read import describe_plan, find_misnamed, parse_plan, read_plan
from appliance.stick.partitions import FAT, Stick
from appliance.store.tables.campaigns import knows_plan

_PLAN = FAT / "plan.toml"


@dataclass(frozen=True, slots=True)
class StickPlan:
    """A plan that may be started on this machine."""

    toml: str
    name: str
    autostart: bool
    """Wanted, and every drive it erases is one that cannot be mistaken for another."""
    is_known: bool
    """It was run or declined before."""


def find_stick_plan(context: CampaignContext, status: Status, *, stick: Stick) -> StickPlan | None:
    """The plan of `plan.toml`; None where there is none or it is not valid, which is recorded.

    Tells the interface what there is, too.
    """
    if not _is_there():
        misnamed = find_misnamed(_PLAN)
        if misnamed:
            problem = Phrase(
                N_("{file}: its name must be {name}; it was not read"),
                file=misnamed,
                name=_PLAN.name,
            )
            status.plan |= {"state": "invalid", "problems": [problem]}
            refuse(context, (problem,))
        return None
    try:
        text = read_plan(_PLAN)
    except KaltstartError as error:
        status.plan |= {"state": "invalid", "problems": list(reasons_of(error))}
        refuse(context, reasons_of(error))
        return None
    is_known = knows_plan(context.connection, hash_plan(text))
    problems: tuple[str, ...] = ()
    drives = context.host.drives.find()
    try:
        plan = check_plan(text, host=context.host, drives=drives, stick=stick)
    except RefusedForReasonsError as error:
        # Nothing in it needs to be corrected: a drive is missing, or holds too little.
        plan, problems = parse_plan(text), reasons_of(error)
    except KaltstartError as error:
        problems = reasons_of(error)
        status.plan |= {"state": "invalid", "toml": text, "problems": list(problems)}
        if not is_known:
            refuse(context, problems)
        return None
    doubts = find_doubtful_releases(plan, drives) if plan.campaign.autostart else ()
    autostart = plan.campaign.autostart and not doubts
    status.plan |= {
        "state": "valid",
        "toml": text,
        "name": plan.campaign.name,
        "autostart": autostart,
        "is_known": is_known,
        "summary": describe_plan(plan),
        "problems": list(problems),
        "warnings": list(check_room(plan, drives).warnings),
    }
    if problems:
        if not is_known:
            refuse(context, problems)
        return None
    if doubts and not is_known:
        refuse(context, doubts)
    return StickPlan(
        toml=text,
        name=plan.campaign.name,
        autostart=autostart,
        is_known=is_known,
    )


def _is_there() -> bool:
    """Also if KALTSTART cannot be read: reading the plan then reports it."""
    try:
        return _PLAN.exists()
    except OSError:
        return True


def check_stick_plan_again(status: Status, *, host: Host, stick: Stick) -> None:
    """Tell the interface whether the plan can be run now that other drives are here."""
    if status.plan["state"] != "valid":
        return
    problems: tuple[str, ...] = ()
    drives = host.drives.find()
    try:
        plan = check_plan(status.plan["toml"], host=host, drives=drives, stick=stick)
        status.plan["warnings"] = list(check_room(plan, drives).warnings)
    except RefusedForReasonsError as error:
        problems = reasons_of(error)
    except PlanError as error:
        status.plan["state"] = "invalid"
        problems = reasons_of(error)
    except KaltstartError:
        return  # a drive that is just coming or going
    status.plan["problems"] = list(problems)
