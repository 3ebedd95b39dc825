# SPDX-License-Identifier: Apache-2.0
"""Plans of one drive, made of the insides of `[[workload]]` tables."""

import pytest

from appliance.errors import PlanError
from appliance.plan.read import Plan, parse_plan
from appliance.plan.workloads import WorkloadPlan


def plan_of(*tables: str, erase: bool = True) -> Plan:
    """Of one drive; each of `tables` is the inside of a `[[workload]]`."""
    release = 'erase = "A"' if erase else ""
    workloads = "".join(f"[[workload]]\n{each}\n" for each in tables)
    return parse_plan(f'version = 1\n[[drive]]\nserial = "A"\n{release}\n{workloads}')


def workload(table: str) -> WorkloadPlan:
    """The plan's only workload, of the inside of its table."""
    (only,) = plan_of(table).workloads
    return only


def problems_of(*tables: str) -> tuple[str, ...]:
    """What the plan's checks have against such tables."""
    with pytest.raises(PlanError) as caught:
        plan_of(*tables)
    return tuple(map(str, caught.value.problems))
