# SPDX-License-Identifier: Apache-2.0
"""A saved plan as the form shows it, and what the form would lose of it."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from appliance.plan.model import ALL_TABLES, DEFAULTS, ArrayPlan, Boot, Campaign
from appliance.plan.read import parse_plan
from appliance.plan.workloads import WorkloadPlan
from tui.charset import one_line
from tui.language import _
from tui.model.draft import PlanValue
from tui.model.drives import DriveRow
from tui.model.more_settings import MoreSettings
from tui.model.roles import Role
from tui.model.templates import FormState, Settings, Template
from tui.port.keys import read_more_settings
from tui.port.plans import release_in

type _Part = Campaign | Boot | ArrayPlan | WorkloadPlan | None

# Fields of a plan that are called otherwise than its keys.
_KEYS = {"max_celsius": "max_temperature"}


def parse_form_state(toml: str, drives: Sequence[DriveRow]) -> FormState:
    """A plan without mistakes, on the drives that are here."""
    plan = tomllib.loads(toml)
    roles: dict[str, Role] = {}
    labels: dict[str, str] = {}
    plan_drives: list[DriveRow] = []
    obstacles: list[str] = []
    for table in plan["drive"]:
        identity = str(table.get("serial") or table["wwn"])
        matches = [drive for drive in drives if identity in drive.raw_names]
        obstacles += _find_obstacles(identity, matches)
        plan_drives += matches[:1]
        roles[identity] = table.get("role", "target")
        labels[identity] = table.get("label", "")
    tests: dict[str, Settings] = {}
    if "boot" in plan:
        tests["boot"] = _fill_up(plan["boot"], DEFAULTS["boot"])
    for table in plan.get("workload", []):
        kind = table["kind"]
        if kind in tests:
            obstacles.append(_("it has more than one workload {kind}").format(kind=kind))
        # The form offers some keys that a plan need not have: here they are empty.
        silent = dict.fromkeys(ALL_TABLES[kind].keys.keys() - {"kind", "on"}, "")
        tests[kind] = _fill_up(table, {**silent, **DEFAULTS[kind]})
    array = _fill_up(plan["array"], DEFAULTS["array"]) if "array" in plan else None
    campaign = {**DEFAULTS["campaign"], **plan.get("campaign", {})}
    name = campaign["name"]
    return FormState(
        Template(id="kept", label=one_line(name), does="", roles=roles, tests=tests),
        name,
        array,
        campaign["on_finish"],
        MoreSettings.from_plan(read_more_settings(), plan),
        (*plan_drives, *(drive for drive in drives if drive not in plan_drives)),
        tuple(dict.fromkeys(obstacles)),
        labels,
    )


def _find_obstacles(identity: str, found: Sequence[DriveRow]) -> Iterator[str]:
    name = one_line(identity)
    if len(found) != 1:
        text = _("the drive {identity} is not in this machine")
        if found:
            text = _("the drive {identity} appears more than once in this machine")
        yield text.format(identity=name)
    elif not found[0].releasable:
        text = _("the drive {identity} cannot be selected here; page 1 says why")
        yield text.format(identity=name)
    elif found[0].raw_identity != identity:
        text = _("the drive {identity} is named by its WWN: the form does so only without a serial")
        yield text.format(identity=name)


def _fill_up(table: Mapping[str, Any], defaults: Mapping[str, Any]) -> Settings:
    """With what a plan means where it is silent."""
    return {key: _to_value(value) for key, value in {**defaults, **table}.items()}


def _to_value(value: Any) -> PlanValue:  # noqa: ANN401  # TOML has every type
    """As the form holds it."""
    held: PlanValue = tuple(value) if isinstance(value, list) else value
    return held


def find_lost(kept: str, formed: str) -> tuple[str, ...]:
    """What is in the plan `kept` and not, or otherwise, in what the form made of it.

    Both are plans without mistakes once their drives are released. Raises KaltstartError.
    """
    identities = tuple(
        str(table.get("serial") or table["wwn"]) for table in tomllib.loads(kept)["drive"]
    )
    before, after = (parse_plan(release_in(toml, identities)) for toml in (kept, formed))
    if before == after:
        return ()
    lost = [
        *_compare("campaign", before.campaign, after.campaign),
        *_compare("boot", before.boot, after.boot),
        *_compare("array", before.array, after.array),
    ]
    formed_by_kind = {workload.kind: workload for workload in after.workloads}
    for workload in before.workloads:
        lost += _compare(workload.kind, workload, formed_by_kind.get(workload.kind))
    return tuple(lost) or (_("what it says of its drives"),)


def _compare(table: str, before: _Part, after: _Part) -> Iterator[str]:
    if before is None or after is None:
        if before != after:
            yield table
        return
    for field in fields(before):
        if getattr(before, field.name) != getattr(after, field.name):
            name = field.name.removesuffix("_bytes").removesuffix("_s")
            yield f"{table}: {_KEYS.get(name, name)}"
