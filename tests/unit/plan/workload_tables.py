# SPDX-License-Identifier: Apache-2.0
"""Plans made of the insides of `[[workload]]` tables."""

import pytest

from appliance.errors import PlanError
from appliance.plan.model import Plan
from appliance.plan.read import parse_plan
from appliance.plan.workloads import WorkloadPlan


def plan_of(*tables: str, erase: bool = True, serials: str = "A") -> Plan:
    """Of drives with these letters; each of `tables` is the inside of a `[[workload]]`."""
    drives = "".join(
        f'[[drive]]\nserial = "{each}"\n' + (f'erase = "{each}"\n' if erase else "\n")
        for each in serials
    )
    workloads = "".join(f"[[workload]]\n{each}\n" for each in tables)
    return parse_plan(f"version = 1\n{drives}{workloads}")


def workload(table: str) -> WorkloadPlan:
    """The plan's only workload, of the inside of its table."""
    (only,) = plan_of(table).workloads
    return only


def problems_of(*tables: str) -> tuple[str, ...]:
    """What the plan's checks have against such tables."""
    with pytest.raises(PlanError) as caught:
        plan_of(*tables)
    return tuple(map(str, caught.value.problems))
