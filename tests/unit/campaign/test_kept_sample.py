"""A sample that the database did not take waits on KALTSTART for the next start."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign import kept_sample, measure
from appliance.campaign.attempts import settle_armed
from appliance.campaign.kept_sample import KeptSample, keep_sample, read_kept
from appliance.campaign.measure import measure_boot
from appliance.errors import StickTrouble
from tests.unit.campaign.world import World

_FULL = "nothing can be stored any more: database or disk is full"


@pytest.fixture
def fat(booted: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """KALTSTART beside a database that takes nothing."""
    fat = tmp_path / "fat"
    fat.mkdir()

    @contextmanager
    def writable_fat() -> Iterator[Path]:
        yield fat

    monkeypatch.setattr(kept_sample, "FAT", fat)
    monkeypatch.setattr(kept_sample, "writable_fat", writable_fat)
    return fat


def _refuse(*_: object, **__: object) -> None:
    raise StickTrouble(_FULL)


def _settle(world: World) -> None:
    world.entry = ""
    site = world.site()
    settle_armed(replace(site, this_boot=replace(site.this_boot, boot_id="boot-2")), 1)


@pytest.mark.parametrize("what", ["mount_data", "open_database", "store_sample"])
def test_a_sample_that_is_not_taken_is_there_after_the_next_start(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(measure, what, _refuse)
    measure_boot()
    assert booted.log[-1] == "reboot"
    assert booted.boots() == []
    assert len(list((fat / "kaltstart").iterdir())) == 1
    _settle(booted)
    assert booted.states() == ["done", "planned", "planned", "planned"]
    (boot,) = booted.boots()
    assert boot["boot_s"] == pytest.approx(20.5, abs=1)
    assert boot["cold_proof"] == "unproven"
    assert str(boot["cold_reason"]).startswith(f"the sample was kept on KALTSTART ({_FULL})")
    assert [event for event, _ in booted.events()].count("sample-kept") == 1
    assert list((fat / "kaltstart").iterdir()) == []


def test_a_boot_without_a_sample_leaves_the_true_reason(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "mount_data", _refuse)
    monkeypatch.setattr(measure, "take_sample", lambda *_: _refuse())
    measure_boot()
    _settle(booted)
    assert booted.boots() == []
    assert booted.cycles()[0].reason == f"its sample could not be stored: {_FULL}"
    assert list((fat / "kaltstart").iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: replace(kept, entry="measure-02"),
        lambda kept: replace(kept, drive="LAB-SSD-1"),
        lambda kept: replace(kept, boot_id="boot-0"),
    ],
    ids=["of another entry", "of another drive", "of the boot that armed it"],
)
@pytest.mark.usefixtures("fat")
def test_what_is_not_of_the_armed_boot_is_not_taken(
    booted: World,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[KeptSample], KeptSample],
) -> None:
    monkeypatch.setattr(measure, "store_sample", _refuse)
    measure_boot()
    kept = read_kept()
    assert kept is not None
    keep_sample(change(kept))
    _settle(booted)
    assert booted.boots() == []
    assert booted.cycles()[0].reason.startswith("the measured boot did not come back")


def test_a_sample_is_taken_once(booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "store_sample", _refuse)
    measure_boot()
    content = (fat / "kaltstart/kept-sample.json").read_text()
    _settle(booted)
    (fat / "kaltstart/kept-sample.json").write_text(content)
    booted.site().connection.execute(
        "UPDATE cycle SET state = 'armed' WHERE id = (SELECT cycle_id FROM boot_sample)"
    )
    _settle(booted)
    assert booted.cycles()[0].reason.startswith("the measured boot did not come back")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"boot_id": 1}', "\0" * 99])
def test_what_is_no_kept_sample_is_none(fat: Path, text: str) -> None:
    (fat / "kaltstart").mkdir()
    (fat / "kaltstart/kept-sample.json").write_text(text)
    assert read_kept() is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("boot_s", "12"), ("boot_s", None), ("boot_s", -1), ("boot_s", True), ("boot_s", 1e999)],
)
def test_a_figure_that_is_none_is_not_believed(
    booted: World, fat: Path, monkeypatch: pytest.MonkeyPatch, field: str, value: object
) -> None:
    monkeypatch.setattr(measure, "store_sample", _refuse)
    measure_boot()
    assert booted.boots() == []
    path = fat / "kaltstart/kept-sample.json"
    found = json.loads(path.read_text())
    found["sample"][field] = value
    path.write_text(json.dumps(found))
    assert read_kept() is None


def test_nothing_is_kept_by_a_boot_that_is_stored(booted: World, fat: Path) -> None:

    measure_boot()
    assert len(booted.boots()) == 1
    assert list(fat.iterdir()) == []
