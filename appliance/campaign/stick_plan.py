"""The plan on the stick: read and checked when the appliance starts, shown, never started here."""

from dataclasses import dataclass

from appliance.campaign.journal import refuse
from appliance.campaign.site import Site
from appliance.campaign.start import check_plan, hash_plan, reasons_of
from appliance.campaign.status import Status
from appliance.drives.probe import find_drives
from appliance.errors import KaltstartError
from appliance.plan import describe_plan, read_plan
from appliance.stick import FAT, Stick
from appliance.store.campaigns import knows_plan

_PLAN = FAT / "plan.toml"


@dataclass(frozen=True, slots=True)
class StickPlan:
    """A plan that may be started on this machine."""

    toml: str
    name: str
    autostart: bool
    is_known: bool
    """It was run or declined before."""


def find_stick_plan(site: Site, status: Status, *, stick: Stick) -> StickPlan | None:
    """The plan of `plan.toml`; None where there is none or it is not valid, which is recorded.

    Tells the interface what there is, too.
    """
    if not _PLAN.exists():
        return None
    try:
        text = read_plan(_PLAN)
    except KaltstartError as error:
        status.plan |= {"state": "invalid", "problems": list(reasons_of(error))}
        refuse(site.connection, site.this_boot, reasons_of(error))
        return None
    status.plan["toml"] = text
    is_known = knows_plan(site.connection, hash_plan(text))
    try:
        plan = check_plan(text, drives=find_drives(), stick=stick)
    except KaltstartError as error:
        reasons = reasons_of(error)
        status.plan |= {"state": "invalid", "problems": list(reasons)}
        if not is_known:
            refuse(site.connection, site.this_boot, reasons)
        return None
    status.plan |= {
        "state": "valid",
        "name": plan.campaign.name,
        "autostart": plan.campaign.autostart,
        "summary": describe_plan(plan),
    }
    return StickPlan(
        toml=text,
        name=plan.campaign.name,
        autostart=plan.campaign.autostart,
        is_known=is_known,
    )
