# SPDX-License-Identifier: Apache-2.0
"""Raw output: from a campaign down to what its tools said, whole, in pieces, or gone."""

import shutil

import pytest

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.raw_scenes import FIO, SMART, add_raw
from tests.tui.steps import drawn, finish, press, settle, shown
from tui.app import KaltstartApp
from tui.charset import drawable
from tui.format import show_bytes
from tui.model.raw import PIECE_BYTES, PIECE_LINES, RawOutput
from tui.page import Page
from tui.port import KaltstartError
from tui.results.raw import describe_piece


def test_all_that_is_kept_is_listed_in_the_order_of_the_work(engine: FakeEngine) -> None:
    found = engine.port().list_raw(add_raw(engine))
    serial = HDD.serial
    assert [(each.owner, each.name, each.size_bytes) for each in found] == [
        (f"health before, {serial}", "smartctl", SMART.stat().st_size),
        (f"boot 1, {serial}", "its sample", 0),
        (f"1. fio on {serial}", "rand-read.fio", FIO.with_suffix(".fio").stat().st_size),
        (f"1. fio on {serial}", "rand-read.json", FIO.stat().st_size),
        (f"2. sql on {serial}", "nothing is kept", 0),
    ]


def test_each_is_read_as_it_is(engine: FakeEngine) -> None:
    port = engine.port()
    health, sample, _, fio, nothing = port.list_raw(add_raw(engine))
    assert port.read_raw(fio, 0).lines == tuple(FIO.read_text().splitlines())
    assert port.read_raw(health, 0).lines == tuple(SMART.read_text().splitlines())
    values = dict(line.split(maxsplit=1) for line in port.read_raw(sample, 0).lines)
    assert (values["boot_s"], values["cold_proof"]) == ("46.2", "unproven")
    assert values["firmware_s"] == "not known"
    with pytest.raises(KaltstartError, match="has no raw output of it"):
        port.read_raw(nothing, 0)
    shutil.rmtree(engine.data / "raw")
    with pytest.raises(KaltstartError, match=r"raw/1/rand-read\.json was removed"):
        port.read_raw(fio, 0)


def test_a_long_one_comes_in_pieces_of_whole_lines_that_make_up_all_of_it(
    engine: FakeEngine,
) -> None:
    folder = engine.data / "raw/1"
    folder.mkdir(parents=True)
    tail = "." * 40
    lines = [f"{number:06}\t\x1b[31m \u4e2d{tail}" for number in range(PIECE_BYTES // 28)]
    text = "\n".join(lines) + "\n"
    (folder / "long.log").write_text(text, encoding="utf-8")
    port = engine.port()
    output = RawOutput("a step", "long.log", "file", "1/long.log")
    found: list[str] = []
    at, said = 0, []
    while at < len(text.encode()):
        piece = port.read_raw(output, at)
        assert 0 < piece.end_byte - piece.first_byte <= PIECE_BYTES
        found += piece.lines
        said.append(describe_piece(piece))
        at = piece.end_byte
    assert [line.split()[0] for line in found] == [line[:6] for line in lines]
    assert drawable(found[0]) == rf"000000  \x1b[31m \u4e2d{tail}"
    assert len(said) == 3
    assert said[0].startswith("first 32 ")
    assert all(each.endswith(f"of {show_bytes(len(text.encode()))}") for each in said)


def test_what_a_skipped_or_paused_step_kept_is_listed_too(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("raw", state="paused", boots={HDD: []})
    for state in ("skipped", "planned", "skipped", "planned"):
        step_id = engine.add_step(campaign_id, "fio", HDD, state=state)
        if step_id <= 2:
            (engine.data / f"raw/{step_id}").mkdir(parents=True)
            (engine.data / f"raw/{step_id}/rand-read.json").write_text("{}")
    assert [(each.owner, each.name) for each in engine.port().list_raw(campaign_id)] == [
        (f"1. fio on {HDD.serial}", "rand-read.json"),
        (f"2. fio on {HDD.serial}", "rand-read.json"),
    ]


def test_a_link_is_not_followed(engine: FakeEngine) -> None:
    campaign_id = add_raw(engine)
    before = engine.port().list_raw(campaign_id)
    (engine.data / "raw/1/a.json").symlink_to(FIO)
    (engine.data / "raw/1/b").symlink_to(FIO.parent)
    assert engine.port().list_raw(campaign_id) == before


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
def test_a_piece_has_so_many_lines_that_keys_are_heard(ending: str, engine: FakeEngine) -> None:
    add_raw(engine)
    text = (ending * PIECE_LINES * 2 + "end" + ending).encode()
    (engine.data / "raw/1/short.log").write_bytes(text)
    port, at = engine.port(), 0
    lines: list[str] = []
    while at < len(text):
        piece = port.read_raw(RawOutput("a step", "short.log", "file", "1/short.log"), at)
        assert 0 < len(piece.lines) <= PIECE_LINES
        lines += piece.lines
        at = piece.end_byte
    assert at == len(text)
    assert lines == [""] * PIECE_LINES * 2 + ["end"]


def test_what_is_no_text_is_not_drawn(engine: FakeEngine) -> None:
    folder = engine.data / "raw/1"
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"PK\0\1")
    (folder / "a.log").write_bytes(b"")
    port = engine.port()
    with pytest.raises(KaltstartError, match=r"a\.bin is no text: 4 bytes in .*raw/1/a\.bin"):
        port.read_raw(RawOutput("a step", "a.bin", "file", "1/a.bin"), 0)
    assert port.read_raw(RawOutput("a step", "a.log", "file", "1/a.log"), 0).is_all


async def test_enter_leads_from_a_campaign_to_what_its_tools_said(engine: FakeEngine) -> None:
    add_raw(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4", "enter")
        await shown(pilot, "RawListDialog Table")
        assert "1. fio on WD-WX41A47H2291" in drawn(pilot)
        await press(pilot, *["down"] * 3, "enter")
        await shown(pilot, "RawDialog #lines")
        assert '"fio version"' in drawn(pilot)
        assert f"rand-read.json, {show_bytes(FIO.stat().st_size)}" in drawn(pilot)
        await press(pilot, "escape")
        await shown(pilot, "RawListDialog Table")
        await press(pilot, "down", "enter")
        await shown(pilot, "Ask #text")
        assert "has no raw output of it" in drawn(pilot)
        await press(pilot, "escape")
        await shown(pilot, "RawListDialog Table")
        await press(pilot, "escape")
        await finish(pilot, "flow")
        assert isinstance(pilot.app.screen, Page)


async def test_pieces_are_turned_by_keys(engine: FakeEngine) -> None:
    add_raw(engine)
    long = engine.data / "raw/1/rand-read.fio"
    long.write_text("".join(f"line {number:058}\n" for number in range(800)))
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4", "enter")
        await shown(pilot, "RawListDialog Table")
        await press(pilot, "down", "down", "enter")
        await shown(pilot, "RawDialog #lines")
        first = drawn(pilot)
        assert "first 32 KiB of 50 KiB" in first
        for key in ("n", "n", "b"):
            await press(pilot, key)
            await shown(pilot, "RawDialog #lines")
            assert ("32 KiB to 50 KiB of 50 KiB" in drawn(pilot)) == (key == "n")
        assert drawn(pilot) == first
