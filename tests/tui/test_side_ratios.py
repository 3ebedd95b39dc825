# SPDX-License-Identifier: Apache-2.0
"""What several drives measured alike: on page Results as the report has it, in either language."""

import random

import pytest

from appliance.samples.model import Result, SliceSample
from appliance.store.tables.steps import insert_slices
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.measured import state
from tests.tui.steps import finish, press, settle, text_of
from tui import language
from tui.app import KaltstartApp
from tui.figures.side_ratios import SideRatio, describe_side_ratios
from tui.port import Port

_TITLE = "Tests side by side, with the interval of their ratio"
_ROUNDS = SideRatio(
    one="A",
    other="B",
    subject="fio, rand-write",
    state="bypass, proven",
    counts=(5, 5),
    value=1.94,
    interval=(1.88, 2.01),
)
_PLACES = SideRatio(
    one="array",
    other="B",
    subject="matrix, read of 2x, over record sizes",
    state="began cold, proven",
    counts=(13, 13),
    value=0.5,
    interval=(0.4, 0.625),
    places="record sizes",
    range=(0.25, 1.5),
)
_SINGLE = SideRatio(
    one="A",
    other="B",
    subject="SQL, all phases",
    state="began cold, proven",
    counts=(1, 1),
    value=2.0,
    interval=None,
)


def test_each_has_its_interval_its_counts_and_its_state() -> None:
    (block,) = describe_side_ratios((_ROUNDS, _PLACES), 90)
    assert block.splitlines() == [
        _TITLE,
        "  fio, rand-write",
        "    A against B: 1.94 times faster, 1.88 to 2.01 (n = 5 and 5; bypass, proven)",
        "  matrix, read of 2x, over record sizes",
        "    array against B: 2.00 times slower, 1.60 to 2.50 (13 record sizes, from 4.00 times",
        "      slower to 1.50 times faster; began cold, proven)",
    ]


def test_what_has_no_interval_is_named_with_the_reason() -> None:
    few = SideRatio("A", "B", "fio, seq-read", "bypass, proven", (3, 3), 1.5, None)
    (block,) = describe_side_ratios((_SINGLE, few, _SINGLE), 100)
    assert block.splitlines()[1:] == [
        "  one value each, so no interval: SQL, all phases",
        "  too few values for an interval: fio, seq-read",
    ]
    assert describe_side_ratios((), 100) == []


def _scan(engine: FakeEngine, campaign_id: int, *, state_of_it: str = "done") -> None:
    """A surface of a disk and of one that is a fifth faster."""
    for drive, factor in ((HDD, 1.0), (SSHD, 1.2)):
        step = engine.add_step(
            campaign_id,
            "surface",
            drive,
            state=state_of_it,
            results=(Result("whole", "bw_bytes_s", factor * 98.4e6, state("bypass")),),
        )
        draw = random.Random(drive.serial)
        rates = [
            factor * (150 - 0.75 * n) * 1e6 * draw.lognormvariate(0.0, 0.003) for n in range(100)
        ]
        insert_slices(
            engine.connection,
            step,
            [
                SliceSample(n, n * 1000, n * 1000 + 1000, 1000, 0, rate, rate, rate)
                for n, rate in enumerate(rates)
            ],
        )


async def test_page_results_has_what_the_report_has(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("both", state="done", cycles=0, boots={HDD: [], SSHD: []})
    _scan(engine, campaign_id)
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        await finish(pilot, "flow")
        lines = text_of(pilot, "#results").splitlines()
    at = lines.index(_TITLE)
    assert lines[at + 1] == "  surface, place by place"
    assert lines[at + 2].startswith(
        f"    {SSHD.serial} against {HDD.serial}: 1.20 times faster, 1.20 to 1.2"
    )
    told = " ".join(lines[at + 2 : at + 4])
    assert "(10 stretches of 10 slices, from 1.20 times" in told
    assert "faster; bypass, proven)" in told
    assert "  one value each, so no interval: surface, mean speed" in lines


async def test_page_results_holds_a_drive_against_itself_in_an_earlier_campaign(
    engine: FakeEngine,
) -> None:
    for name in ("before", "after"):
        campaign_id = engine.add_campaign(name, state="done", cycles=0, boots={HDD: [], SSHD: []})
        _scan(engine, campaign_id)
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        await finish(pilot, "flow")
        told = " ".join(text_of(pilot, "#results").split())
    for drive in (HDD, SSHD):
        # Both scans have the same figures.
        assert f"{drive.serial} against itself in campaign 1: " in told
    assert told.count("no difference larger than") == 2


async def test_it_is_read_once_and_not_while_something_is_measured(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    original = Port.read_side_ratios

    def count(port: Port, campaign_id: int) -> tuple[SideRatio, ...]:
        read.append(campaign_id)
        return original(port, campaign_id)

    monkeypatch.setattr(Port, "read_side_ratios", count)
    done = engine.add_campaign("done", state="done", cycles=0, boots={HDD: [], SSHD: []})
    _scan(engine, done)
    running = engine.add_campaign("running", cycles=0, boots={HDD: [], SSHD: []})
    _scan(engine, running)
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        await finish(pilot, "flow")
        assert _TITLE not in text_of(pilot, "#results")
        for _ in range(2):
            await press(pilot, "down")
            await finish(pilot, "flow")
            assert _TITLE in text_of(pilot, "#results")
            await press(pilot, "up")
    assert read == [done]


def test_it_speaks_german() -> None:
    language.use("de")
    (block,) = describe_side_ratios((_PLACES, _SINGLE), 90)
    assert block.splitlines() == [
        "Tests im Vergleich, mit Intervall des Verhältnisses",
        "  matrix, read of 2x, über die Recordgrößen",
        "    Array gegen B: 2,00-mal so langsam, 1,60 bis 2,50 (13 Recordgrößen, von 4,00-mal so",
        "      langsam bis 1,50-mal so schnell; kalt begonnen, bewiesen)",
        "  je ein Wert, daher kein Intervall: SQL, alle Phasen",
    ]
