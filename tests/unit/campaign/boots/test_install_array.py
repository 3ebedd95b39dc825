# SPDX-License-Identifier: Apache-2.0
"""How the reference OS gets onto an array: past its cache, with its settings beside it."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from appliance.arrays.model import Array
from appliance.campaign.boots import install_array as module
from appliance.campaign.boots.install_array import install_on_array, settings_name
from appliance.plan.model import ArrayPlan
from appliance.samples.variants import CacheMode
from tests.unit.campaign.world import HDD, SSD, STICK, World
from tests.unit.drive_calls import SameThread
from tests.unit.plan.array_plan import ARRAY_PLAN

PLAN = replace(
    ARRAY_PLAN,
    sequential_cutoff_bytes=4 << 20,
    congested_read_threshold_us=2000,
    congested_write_threshold_us=20_000,
)
ARRAY = Array(set_uuid="x", name="bcache0", backing="sda", cache="sdb")


def test_the_system_is_written_past_the_cache(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []
    made: list[str] = []

    @contextmanager
    def open_array(*_: object, plan: ArrayPlan, may_make: bool, **__: object) -> Iterator[object]:
        log.append(f"open {plan.cache_mode} {may_make}")
        yield SimpleNamespace(array=ARRAY)
        log.append("close")

    def write(path: str, *, install_uuid: str, slot: int, root_name: str, **_: object) -> None:
        made.append(install_uuid)
        log.append(f"write {path} slot {slot} {root_name}")

    def set_cache_mode(_: Array, mode: CacheMode) -> None:
        log.append(f"mode {mode}")

    monkeypatch.setattr(module, "open_array", open_array)
    monkeypatch.setattr(module, "write_reference_os", write)
    monkeypatch.setattr(module, "set_cache_mode", set_cache_mode)
    monkeypatch.setattr(module, "_locked", lambda _: nullcontext())
    world.make_campaign([HDD, SSD], roles=["backing", "cache"], state="preparing")
    install_uuid = install_on_array(
        world.context(),
        1,
        world.drive_rows()[0],
        stick=STICK,
        plan=PLAN,
        boot_set_bytes=8 << 20,
        hand=SameThread(),
    )
    assert made == [install_uuid]
    assert log == [
        "open none True",
        "write /dev/bcache0 slot 1 ks-400000-7d0-4e20-a",
        "mode writeback",
        "close",
    ]


def test_all_settings_fit_into_a_partitions_name() -> None:
    most = 0xFFFF_FFFF
    name = settings_name(
        replace(
            PLAN,
            sequential_cutoff_bytes=most,
            congested_read_threshold_us=most,
            congested_write_threshold_us=most,
            writeback_percent=40,
        )
    )
    assert name == "ks-ffffffff-ffffffff-ffffffff-28"
    assert len(name) <= 36
