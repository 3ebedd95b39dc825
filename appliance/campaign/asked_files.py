"""What is written to KALTSTART because somebody asks for it: a report again, plans kept or deleted.

Trouble with that partition is no more than the answer: what was measured does not hang on it.
"""

from collections.abc import Mapping
from typing import Any

from appliance.campaign.finish import write_report_again
from appliance.campaign.kept_plans import change_plans
from appliance.campaign.site import Site

WRITES_FOR_PEOPLE = frozenset({"report", "keep-plan", "delete-plan"})
"""The kinds of request that are carried out here."""


def write_for_people(site: Site, kind: str, payload: Mapping[str, Any]) -> str:
    """Do what a request of this kind asks for; the answer.

    Raises as `write_report_again` and `change_plans` do, LookupError, TypeError or ValueError where
    the request is malformed.
    """
    if kind == "report":
        return write_report_again(site, int(payload["campaign_id"]))
    return change_plans(kind, payload)
