# SPDX-License-Identifier: Apache-2.0
"""The drives that the form asks a person to release are those that the plan's checks ask for."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given

from appliance.errors import PlanError
from appliance.plan.read import PlanRefusedError, parse_plan
from tests.plan_examples import (
    STEADY,
    VALID,
    PlanExample,
    identity_of,
    names_of,
    plan_examples,
)
from tui.model.draft import DraftCampaign
from tui.model.drives import DriveRow
from tui.port.compose import compose_text
from tui.port.plans import release_in
from tui.port.releases import find_released

_ASKED_FOR = re.compile(r'add (?:erase|start) = "([^"]*)"')


def read_example(path: Path) -> PlanExample:
    """A plan of the fixtures whose workloads name drives as the form does."""
    tables = tomllib.loads(path.read_text())
    identities = {name: identity_of(each) for each in tables["drive"] for name in names_of(each)}
    workloads = []
    for table, typed in zip(
        tables.get("workload", []), parse_plan(path.read_text()).workloads, strict=True
    ):
        on = [identities.get(each, each) for each in typed.on]
        workloads.append((table | ({"on": on} if on else {}), typed.writes))
    return PlanExample(
        tuple({"role": "target", **each} for each in tables["drive"]),
        tables.get("boot"),
        tables.get("array"),
        tuple(workloads),
    )


def compose(example: PlanExample) -> DraftCampaign:
    """The same as the user puts it together in the form."""
    drives = tuple(
        make_drive(each.get("serial", ""), each.get("wwn", "")) for each in example.drives
    )
    return DraftCampaign(
        name="any",
        drives=drives,
        roles={
            drive.raw_identity: each["role"]
            for drive, each in zip(drives, example.drives, strict=True)
        },
        boot={"cycles": 2, "charts": "none"} if example.boot is not None else None,
        workloads=tuple(
            {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in table.items()
            }
            for table, _ in example.workloads
        ),
        array=example.array,
        more_settings={"boot": {"path": path}}
        if (path := (example.boot or {}).get("path"))
        else {},
    )


def make_drive(serial: str, wwn: str) -> DriveRow:
    """One that tells nothing else of itself."""
    return DriveRow(
        device="sda",
        serial=serial,
        wwn=wwn,
        model="",
        firmware="",
        size_bytes=1 << 40,
        size="1.1 TB",
        bus="sata",
        rotational=False,
        logical_block_bytes=512,
        physical_block_bytes=512,
        partitions=(),
        mountpoints=(),
        holders=(),
        raw_serial=serial,
        raw_wwn=wwn,
        offered=True,
        reason="",
    )


def find_asked_for(text: str) -> set[str]:
    """The drives that the plan's checks want to be released."""
    problems: tuple[str, ...] = ()
    try:
        parse_plan(text)
    except (PlanError, PlanRefusedError) as error:
        problems = tuple(map(str, error.problems))
    found = [_ASKED_FOR.search(each) for each in problems]
    assert all(found), problems
    return {match[1] for match in found if match}


@STEADY
@given(plan_examples(by_wwn=False))
def test_the_form_asks_for_just_the_releases_that_the_checks_ask_for(example: PlanExample) -> None:
    check_releases(example)


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_so_it_does_for_the_plans_of_the_fixtures(path: Path) -> None:
    check_releases(read_example(path))


def check_releases(example: PlanExample) -> None:
    """Form and checks agree, and nothing else is released by what the form makes of it."""
    draft = compose(example)
    text = compose_text(draft, released=False)
    asked_for = find_asked_for(text)
    released = tuple(each.raw_identity for each in find_released(draft))
    assert {*released} == asked_for == example.written
    assert find_asked_for(compose_text(draft)) == set()
    assert parse_plan(release_in(text, released)) == parse_plan(compose_text(draft))
