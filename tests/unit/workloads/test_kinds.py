# SPDX-License-Identifier: Apache-2.0
"""Each kind of workload is one folder, and one line of the registry."""

from pathlib import Path

import pytest

import appliance.workloads
from appliance.kinds import KINDS, load
from appliance.plan.model import WORKLOADS
from appliance.plan.workloads import WorkloadPlan
from appliance.report.section import Section, find_section
from appliance.samples.variants import NamedVariant, Variant, parse_variant
from appliance.workloads.base import make_workload
from tests.unit.plan.workload_tables import plan_of

_TABLES = {"sweep": 'kind = "sweep"\ncache_size = "1G"'}


def test_every_folder_is_registered() -> None:
    folder = Path(appliance.workloads.__path__[0])
    assert {each.parent.name for each in folder.glob("*/keys.py")} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_declares_all_that_is_asked_of_a_kind(kind: str) -> None:
    plan = load(kind, "keys")
    assert issubclass(plan, WorkloadPlan)
    assert issubclass(plan.variant, Variant)
    assert all((plan.called, plan.label, plan.does))
    assert plan.writing_keys & {*WORKLOADS[kind].keys, "filesystem"}
    assert isinstance(load(kind, "report"), Section)
    assert find_section(kind).title


@pytest.mark.parametrize("kind", KINDS)
def test_its_parts_are_its_own_variants_and_counted_before(kind: str) -> None:
    (plan,) = plan_of(_TABLES.get(kind, f'kind = "{kind}"'), serials="AB").workloads
    parts = make_workload(plan).parts
    assert {type(parse_variant(kind, each)) for each in parts} <= {plan.variant, NamedVariant}
    expected = plan.expect(len(parts), drive_bytes=1 << 40, bytes_s=1e8)
    assert expected.runs >= len(parts) > 0
    assert expected.results > 0


def test_nothing_but_a_kind_is_loaded() -> None:
    with pytest.raises(KeyError):
        load("base", "keys")
    assert parse_variant("os", "x") == NamedVariant("x")
    assert find_section("of tomorrow").title == "of tomorrow"
