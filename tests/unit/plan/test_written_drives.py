# SPDX-License-Identifier: Apache-2.0
"""What a plan writes to: nothing of it runs without a release, whatever the plan."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.campaign.remaining_writes import CampaignRows, written_drives
from appliance.campaign.start import plan_steps
from appliance.errors import PlanError, RefusedError
from appliance.plan.model import Plan
from appliance.plan.read import PlanRefusedError, parse_plan
from appliance.plan.workloads import ARRAY
from appliance.plan.writes import does_table_write
from appliance.store.tables.boots import CycleRow
from appliance.store.tables.campaigns import CampaignDriveRow
from appliance.store.tables.steps import StepRow
from tests.plan_examples import (
    MEMBERS,
    STEADY,
    VALID,
    WORKLOADS,
    PlanExample,
    Table,
    identity_of,
    plan_examples,
    show_toml,
)
from tests.unit.plan.workload_tables import plan_of


def refusal_of(text: str) -> PlanError | RefusedError | None:
    """What the plan's checks say against it."""
    try:
        parse_plan(text)
    except (PlanError, PlanRefusedError) as error:
        return error
    return None


@STEADY
@given(plan_examples(), st.data())
def test_a_plan_is_refused_unless_it_releases_each_drive_that_it_writes_to(
    example: PlanExample, data: st.DataObject
) -> None:
    released = data.draw(st.frozensets(st.sampled_from(example.identities)))
    missing = example.written - released
    problems = getattr(refusal_of(example.show(released)), "problems", ())
    for identity in example.identities:
        is_asked_for = any(f'add erase = "{identity}"' in each.text for each in problems)
        assert is_asked_for == (identity in missing)
    assert bool(problems) == bool(missing)


@STEADY
@given(WORKLOADS)
def test_all_callers_agree_on_whether_a_workload_writes(example: tuple[Table, bool]) -> None:
    table, writes = example
    workload = plan_of(show_toml(table)).workloads[0]
    assert (workload.writes, does_table_write(table)) == (writes, writes)


@STEADY
@given(plan_examples())
def test_a_plan_says_which_drives_it_writes_to(example: PlanExample) -> None:
    plan = parse_plan(example.show(example.written))
    assert {each.identity for each in plan.written_drives} == example.written
    assert all(each.released for each in plan.written_drives)


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_a_plan_of_the_fixtures_is_refused_without_one_of_its_releases(path: Path) -> None:
    tables: Mapping[str, Any] = tomllib.loads(path.read_text())
    written = {each.identity for each in parse_plan(path.read_text()).written_drives}
    assert written <= {identity_of(each) for each in tables["drive"] if "erase" in each}
    for left_out in map(identity_of, tables["drive"]):
        drives = [
            {key: value for key, value in each.items() if (key, value) != ("erase", left_out)}
            for each in tables["drive"]
        ]
        refusal = refusal_of(show_toml({**tables, "drive": drives}))
        assert (refusal is not None) == (left_out in written), refusal


_STATES = st.sampled_from(("planned", "running", "done", "failed", "skipped"))


@dataclass(frozen=True, slots=True)
class Paused:
    """A campaign that was paused anywhere."""

    plan: Plan
    rows: CampaignRows
    writing: Sequence[bool]
    """Whether each of the plan's workloads writes."""


_PLANS = st.one_of(
    plan_examples().map(
        lambda each: (parse_plan(each.show(each.written)), [writes for _, writes in each.workloads])
    ),
    st.sampled_from([parse_plan(path.read_text()) for path in VALID]).map(
        lambda plan: (plan, [each.writes for each in plan.workloads])
    ),
)


@st.composite
def campaigns(draw: st.DrawFn) -> Paused:
    """Of generated plans and those of the fixtures."""
    plan, writing = draw(_PLANS)
    ids = {each.identity: number for number, each in enumerate(plan.drives, start=7)}
    drives = [
        CampaignDriveRow(
            drive_id=ids[each.identity],
            # As the drive itself says: a plan that names it by its WWN does not know its serial.
            serial=each.serial or draw(st.sampled_from(("", f"unplanned-{each.wwn}"))),
            wwn=each.wwn,
            name=each.identity,
            role=each.role,
            released=each.released,
            slot=slot,
            released_model="",
            released_size_bytes=0,
            install_uuid="",
            installed_at=draw(st.sampled_from((None, "2026-11-21T03:25:00.000Z"))),
            failed_reason=draw(st.sampled_from(("", "it is gone"))),
        )
        for slot, each in enumerate(plan.drives, start=1)
    ]
    steps = [
        StepRow(
            id=position,
            campaign_id=1,
            position=position,
            kind=plan.workloads[index].kind,
            drive_id=None if place == ARRAY else ids[place],
            device=place,
            state=draw(_STATES),
            reason="",
            attempts=0,
            workload_index=index,
        )
        for position, (index, place) in enumerate(plan_steps(plan))
    ]
    cycles = [
        CycleRow(
            id=number,
            campaign_id=1,
            drive_id=ids[each.identity],
            position=number,
            cycle=1,
            charted=False,
            power="cold",
            mode=plan.boot.mode if plan.boot else "install",
            path=plan.boot.path if plan.boot else "stick",
            state=draw(st.sampled_from(("planned", "armed", "done", "failed", "skipped"))),
            attempts=0,
            entry="",
            armed_at=None,
            armed_boot_id="",
            left_at=None,
            alarm_at=None,
            power_cycles_before=None,
            reason="",
        )
        for number, each in enumerate(plan.booted_drives)
    ]
    has_array = plan.array is not None and draw(st.booleans())
    rows = CampaignRows(drives=drives, steps=steps, cycles=cycles, has_array=has_array)
    return Paused(plan, rows, writing)


def still_written(campaign: Paused) -> set[int]:
    """The drives that a step or an installation still to be done writes to, by their ids."""
    rows = campaign.rows
    members = {each.drive_id for each in rows.drives if each.role in MEMBERS}
    written = set(members) if rows.has_array else set()
    for step in rows.steps:
        if step.state not in {"planned", "running"}:
            continue
        if step.drive_id is None:
            written |= members
        elif campaign.writing[step.workload_index]:
            written.add(step.drive_id)
    drives = {each.drive_id: each for each in rows.drives}
    for cycle in rows.cycles:
        drive = drives[cycle.drive_id]
        if cycle.state not in {"planned", "armed"} or cycle.mode == "replay":
            continue
        if cycle.path == "installed":
            continue  # what its system writes is not the campaign's
        if drive.role == "backing":
            written |= members
        elif drive.installed_at is None and not drive.failed_reason:
            written.add(drive.drive_id)
    return written


@STEADY
@given(campaigns())
def test_a_resumed_campaign_says_all_that_it_still_writes_to_and_nothing_else(
    campaign: Paused,
) -> None:
    plan, rows = campaign.plan, campaign.rows
    told = {each.drive_id for each in written_drives(rows, plan)}
    assert told == still_written(campaign)
    slots = {each.slot for each in rows.drives if each.drive_id in told}
    assert {plan.drives[slot - 1] for slot in slots} <= {*plan.written_drives}


@STEADY
@given(campaigns())
def test_where_the_plan_cannot_be_read_all_that_is_released_may_be_written_to(
    campaign: Paused,
) -> None:
    told = written_drives(campaign.rows, None)
    assert {*written_drives(campaign.rows, campaign.plan)} <= {*told}
    assert [each.role for each in told] == [
        each.role for each in campaign.plan.drives if each.released
    ]
