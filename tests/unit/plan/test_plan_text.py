# SPDX-License-Identifier: Apache-2.0
"""Plans composed for drives whose names do their worst."""

import tomllib
from datetime import date
from pathlib import Path

import pytest

from appliance.drives.model import Drive
from appliance.errors import RefusedError
from appliance.plan.compose import compose_plan, quote
from appliance.plan.model import PlannedDrive
from appliance.plan.read import PlanRefusedError, parse_plan
from appliance.toml.values import show_value
from appliance.units import parse_size, show_size

PLANS = Path(__file__).parents[2] / "fixtures/plans"

HOSTILE = [
    'quo"te',
    "back\\slash",
    "sla/sh",
    "a b  c",
    "'''",
    '"""',
    "\x1b[31mred\x1b[0m",
    "line\nfeed\r",
    "tab\tbell\x07null\0del\x7f",
    "\u202eright to left",
    "ünïcödé 漢字 \U0001f4be",
    '"\nerase = "B"\n[[drive]]\nserial = "B',
    "# no comment",
    "{{ x }} %s ${x}",
    "\\u0041",
    "\x85\u2028\ufeff",
    "9" * 256,
]


def make_drive(*, serial: str = "", wwn: str = "", path: str = "/dev/sda") -> Drive:
    return Drive(
        path=path,
        serial=serial,
        wwn=wwn,
        model="M",
        firmware="1",
        size_bytes=500_000_000_000,
        rotational=True,
        transport="sata",
        logical_block_bytes=512,
        physical_block_bytes=4096,
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_identity_survives_the_round_trip(text: str) -> None:
    toml = compose_plan(
        name=text[:80],
        drives=[make_drive(serial=text), make_drive(wwn=f"x{text[1:]}")],
        boot={"cycles": 7, "power": "warm"},
    )
    assert toml.isascii()
    plan = parse_plan(toml)
    assert plan.campaign.name == text[:80]
    assert plan.drives == (
        PlannedDrive(serial=text, wwn="", role="target", erase=text),
        PlannedDrive(serial="", wwn=f"x{text[1:]}", role="target", erase=f"x{text[1:]}"),
    )
    assert plan.boot is not None
    assert (plan.boot.cycles, plan.boot.power) == (7, ("warm",))


def test_every_character_can_be_quoted() -> None:
    codes = [*range(0x3000), *range(0xFF00, 0x10100), 0x1F4BE, 0x10FFFF]
    text = "".join(map(chr, codes))
    quoted = quote(text)
    assert quoted.isascii()
    assert quoted.isprintable()
    assert tomllib.loads(f"x = {quoted}") == {"x": text}


def test_options_arrive() -> None:
    plan = parse_plan(
        compose_plan(
            name="n",
            drives=[make_drive(serial="A"), make_drive(serial="B")],
            boot={"cycles": 1, "power": "cold", "boot_set": "1G", "charts": "none"},
            on_finish="reboot",
            roles={"B": "control"},
            typed={"A": "A", "B": "B"},
            more_settings={"campaign": {"autostart": True}, "boot": {"wake_margin": 45}},
        )
    )
    assert plan.campaign.autostart
    assert plan.campaign.on_finish == "reboot"
    assert [each.role for each in plan.drives] == ["target", "control"]
    assert plan.boot is not None
    assert plan.boot.boot_set_bytes == 1 << 30
    assert plan.boot.charts == "none"
    assert plan.boot.wake_margin_s == 45


def test_what_was_typed_is_not_corrected() -> None:
    toml = compose_plan(
        name="n",
        drives=[make_drive(serial="WD-1")],
        boot={"cycles": 1, "power": "cold"},
        typed={"WD-1": "wd-1"},
    )
    with pytest.raises(PlanRefusedError, match='must repeat the serial "WD-1" exactly, not "wd-1"'):
        parse_plan(toml)


def test_workloads_survive_the_round_trip() -> None:
    given = tomllib.loads((PLANS / "valid/workloads.toml").read_text())["workload"]
    toml = compose_plan(
        name="n",
        drives=[make_drive(serial="0x5"), make_drive(serial="LAB-SSD-1")],
        workloads=given,
    )
    assert tomllib.loads(toml)["workload"] == given
    plan = parse_plan(toml)
    assert plan.boot is None
    assert [each.kind for each in plan.workloads] == [each["kind"] for each in given]


def test_boot_and_workloads_go_together_and_nothing_is_released_unasked() -> None:
    toml = compose_plan(
        name="n",
        drives=[make_drive(serial="A")],
        workloads=[{"kind": "lottery", "filesystem": "none", "tickets": {"a": 1}}],
        typed={},
    )
    assert not parse_plan(toml).drives[0].released
    toml = compose_plan(
        name="n", drives=[make_drive(serial="A")], boot={"cycles": 2}, workloads=[{"kind": "sql"}]
    )
    plan = parse_plan(toml)
    assert plan.boot is not None
    assert (plan.boot.cycles, plan.boot.power) == (2, ("cold",))
    assert len(plan.workloads) == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_values_stay_in_their_quotes(text: str) -> None:
    workloads = [{"kind": "fio", text: [text, 1, 1.5, True], "options": {text: text}, "o": {}}]
    toml = compose_plan(name="n", drives=[make_drive(serial="A")], workloads=workloads)
    assert toml.isascii()
    assert tomllib.loads(toml)["workload"] == workloads


def test_what_toml_has_no_word_for_is_a_bug() -> None:
    with pytest.raises(TypeError, match="TOML has no NoneType"):
        compose_plan(
            name="n", drives=[make_drive(serial="A")], workloads=[{"kind": "fio", "on": None}]
        )


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0"),
        (512, "512"),
        (4096, "4K"),
        (1 << 20, "1M"),
        (100 << 20, "100M"),
        (3 << 39, "1536G"),
    ],
)
def test_sizes_as_a_plan_writes_them(size_bytes: int, shown: str) -> None:
    assert show_size(size_bytes) == shown
    assert parse_size(shown) == size_bytes


@pytest.mark.parametrize("serial", ["", "bad\udcff"])
def test_a_drive_that_no_plan_can_name_is_refused(serial: str) -> None:
    with pytest.raises(RefusedError, match="/dev/sdq reports no serial"):
        compose_plan(name="n", drives=[make_drive(serial=serial, path="/dev/sdq")], boot={})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "true"),
        (3, "3"),
        pytest.param(1 << 99999, "a huge number", id="huge"),
        (1.5, "1.5"),
        ("a\x1b", r'"a\x1b"'),
        ("x" * 61, f'"{"x" * 60}…"'),
        ([1, 2], "an array of 2"),
        ({}, "an empty table"),
        ({"a": 1}, "a table"),
        (date(2026, 5, 27), "the date or time 2026-05-27"),
    ],
)
def test_values_in_messages_are_short_and_harmless(value: object, shown: str) -> None:
    assert show_value(value) == shown
