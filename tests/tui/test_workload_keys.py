# SPDX-License-Identifier: Apache-2.0
"""All keys of a workload in the form: shown, typed, refused, and the same in the plan again."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from textual.pilot import Pilot

from appliance.plan.compose import compose_plan
from appliance.plan.model import ALL_TABLES, DEFAULTS
from appliance.units import parse_size
from appliance.workloads.fio.keys import SPEED_TESTS
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, SSHD
from tests.tui.releasing import go_on, release, started_plan
from tests.tui.steps import app_of, drawn, finish, press, settle, shown, text_of, type_text
from tests.tui.test_german import find_cut
from tui import language
from tui.app import KaltstartApp
from tui.model.draft import PlanElement, PlanTable
from tui.model.plan_keys import PlanKey, describe
from tui.model.status import ARRAY
from tui.plan.all_keys import KeyRow, KeysDialog
from tui.plan.compose import ComposeDialog
from tui.plan.workload_row import WorkloadRow
from tui.port.keys import read_keys, read_value, show_value
from tui.port.releases import does_table_write
from tui.widgets.choice import Choice
from tui.widgets.field import Field
from tui.widgets.line import Line

pytestmark = pytest.mark.slow

KINDS = tuple(kind for kind, table in ALL_TABLES.items() if "on" in table.keys)
ON_ARRAY = {"modes", "warm_up"}
# What a key is not allowed, or means nothing, without.
COMPANIONS: Mapping[str, PlanTable] = {
    "memory_max": {"page_cache": "bounded"},
    "page_cache": {"memory_max": "64M"},
    "ioengine": {"iodepth": 1},
    "max_rounds": {"steady_state": True},
    "same_blocks": {"steady_state": True},
    "fresh_first": {"tests": ("seq-write",), "precondition": 1},
    "modes": {"on": "array"},
    "warm_up": {"on": "array", "modes": ("writeback",)},
}
TABLES: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "tickets": ({"often": 24, "1-x": 2}, {"a": 4}),
    "options": (
        {"rw": "randread", "bs": "4k,8k", "iodepth": 4, "size": "1M"},
        {"rw": "write:8k", "bssplit": "4k/60:64k/40", "norandommap": True, "rate_iops": "100"},
    ),
}


def vary(key: PlanKey) -> Iterator[Any]:
    """Values that a plan may have there, the default not among them."""
    match key.shape:
        case "choice":
            yield from ({"true": True, "false": False}.get(each, each) for each in key.choices)
        case "list" if key.name == "on":
            yield from (HDD.serial, [EVIL.serial, HDD.serial])
        case "list":
            words: list[Any] = [{"true": True, "false": False}.get(e, e) for e in key.choices]
            yield from (words[::-1] or ["2M", 4 << 20], words[1:2] or ["8M"])
        case "table":
            yield from TABLES[key.name]
        case "number":
            yield from (float(each) if "." in each else int(each) for each in _ends(key))
        case _:
            yield from (*_ends(key)[:1], _find_size(key), *key.choices)


def _find_size(key: PlanKey) -> int:
    """As a number of bytes."""
    return min(128 << 20, parse_size(_ends(key)[1])) if key.shape == "size" else 128 << 20


def _ends(key: PlanKey) -> list[str]:
    return key.bounds.split(" - ")


def plan_with(kind: str, table: Mapping[str, Any]) -> str:
    """Of HDD and EVIL; where it is about the array, of SSHD and HDD in one."""
    full: dict[str, Any] = {"kind": kind, **table}
    if kind == "sweep" and "set_sizes" not in table:
        full.setdefault("cache_size", "8M")
    if SPEED_TESTS & set(full.get("tests", ())):
        full["page_cache"] = "bypass"
    if full.get("page_cache") != "bounded":
        full.pop("memory_max", None)
    if kind == "contention" and isinstance(full.get("on"), str):
        full["on"] = [full["on"], EVIL.serial]  # it compares drives
    on_array = full.get("on") == "array"
    return compose_plan(
        name="drive comparison",
        drives=[HDD, SSHD if on_array else EVIL],
        roles={HDD.serial: "backing", SSHD.serial: "cache"} if on_array else {},
        array={"kind": "bcache"} if on_array else None,
        workloads=[full],
        typed={},
    )


async def open_form(pilot: Pilot[Any], *keys: str) -> ComposeDialog:
    """The form of a new campaign after these keys."""
    await settle(pilot)
    await press(pilot, "2", "n", *keys)
    form = pilot.app.screen
    assert isinstance(form, ComposeDialog)
    return form


async def open_keys(pilot: Pilot[Any], kind: str) -> KeysDialog:
    """All keys of that test, which is chosen."""
    pilot.app.screen.query_one(f"#{kind}-on").focus()
    await press(pilot, "f6")
    await shown(pilot, "#key-seed")
    dialog = pilot.app.screen
    assert isinstance(dialog, KeysDialog)
    return dialog


async def take_keys(pilot: Pilot[Any]) -> None:
    """Done, and the plan has nothing against it."""
    pilot.app.screen.query_one("#done").focus()
    await press(pilot, "enter")
    await finish(pilot, "check")
    assert isinstance(pilot.app.screen, ComposeDialog), drawn(pilot)


def find_key(pilot: Pilot[Any], name: str) -> KeyRow:
    """The line of that key."""
    return next(row for row in pilot.app.screen.query(KeyRow) if row.key.name == name)


async def set_key(pilot: Pilot[Any], name: str, text: str) -> None:
    """As a person does it: typed, or chosen."""
    row = find_key(pilot, name)
    if row.key.shape == "choice":
        row.query_one(Choice).focus()
        words = row.key.choices
        turns = words.index(text) - words.index(show_value(row.read()))
        await press(pilot, *["enter"] * (turns % len(words)))
    else:
        row.query_one(Field).focus()
        await press(pilot, "ctrl+u")
        await type_text(pilot, text)


@pytest.mark.parametrize(("kind", "place"), [*((kind, "drives") for kind in KINDS), ("fio", ARRAY)])
async def test_every_key_goes_through_the_form_and_its_page_unchanged(
    kind: str, place: str, engine: FakeEngine
) -> None:
    keys = [each for each in read_keys(kind) if (each.name in ON_ARRAY) == (place == ARRAY)]
    pick = ("a", "down", "a") if place == ARRAY else ("space", "down", "down", "space")
    engine.show_drives(HDD, SSHD, EVIL)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        form = await open_form(pilot, *pick)
        row = form.query_one(f"#row-{kind}", WorkloadRow)
        form.query_one("#boot-on").focus()
        await press(pilot, "space")
        port, drives = app_of(pilot).port, app_of(pilot).snapshot.drives
        for key in keys:
            for value in vary(key):
                toml = plan_with(kind, {**COMPANIONS.get(key.name, {}), key.name: value})
                state = port.parse_form_state(toml, drives)
                row.fill(state.template.tests[kind])
                on = state.template.tests[kind].get("on", ())
                row.take_place(on if isinstance(on, tuple) else (str(on),))
                assert port.find_lost(toml, form._read()) == (), f"{toml}\n{row.read()}"
                # As all of its fields hold it; opening the page each time would take minutes.
                values = row.list_values()
                row.take(
                    {
                        each.name: read_value(each, show_value(values.get(each.name, each.default)))
                        for each in row.keys.values()
                    }
                )
                assert port.find_lost(toml, form._read()) == (), f"{toml}\n{row.read()}"
        before = row.read()
        await open_keys(pilot, kind)
        await take_keys(pilot)
        assert row.read() == before


@pytest.mark.parametrize("code", ["en", "de"])
async def test_every_key_is_there_with_its_default_and_words(code: str, engine: FakeEngine) -> None:
    engine.language = code
    engine.show_machine()
    language.use(code)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await open_form(pilot, "space")
        for kind in KINDS:
            await open_keys(pilot, kind)
            rows = {row.key.name: row for row in pilot.app.screen.query(KeyRow)}
            assert rows.keys() == ALL_TABLES[kind].keys.keys() - {"kind"}
            for name, row in rows.items():
                default = DEFAULTS[kind].get(name, "")
                assert row.key.default == (tuple(default) if isinstance(default, list) else default)
                assert row.query_one(".does", Line).text.endswith(f" {describe(row.key)}")
            assert find_cut(pilot) == []
            await press(pilot, "escape")


async def test_what_is_typed_is_in_the_plan_where_it_differs_from_the_default(
    engine: FakeEngine,
) -> None:
    engine.show_drives(HDD)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        form = await open_form(pilot, "space", "tab", "tab", "enter")
        await open_keys(pilot, "fio")
        await set_key(pilot, "tests", "rand-read, seq-read")
        await set_key(pilot, "runtime", "5")
        await set_key(pilot, "numjobs", "1")
        await set_key(pilot, "page_cache", "bounded")
        await set_key(pilot, "memory_max", "64M")
        await set_key(pilot, "steady_state", "true")
        await take_keys(pilot)
        row = form.query_one("#row-fio", WorkloadRow)
        assert row.on
        assert "F6: tests = rand-read, seq-read; runtime = 5; " in drawn(pilot)
        assert text_of(pilot, "#writes").startswith("NOTHING IS WRITTEN")
        await open_keys(pilot, "fio")
        await set_key(pilot, "runtime", "")
        await set_key(pilot, "precondition", "1")
        await take_keys(pilot)
        assert "WILL BE LOST" in text_of(pilot, "#writes")
        form.query_one("#boot-on").focus()
        await press(pilot, "space")
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["workload"] == [
            {
                "kind": "fio",
                "tests": ["rand-read", "seq-read"],
                "size": "1G",
                "filesystem": "none",
                "page_cache": "bounded",
                "memory_max": "64M",
                "precondition": 1,
                "steady_state": True,
            }
        ]


REFUSED: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "fio": (
        ("runtime", "99999", "must be a whole number of seconds from 1 to 86400"),
        ("runtime", "long", "must be a whole number of seconds from 1 to 86400"),
        ("tests", "seq-read,, x", "must be an array of at least one test"),
        ("tests", "seq-read, x", 'must be "seq-read" or "seq-write"'),
        ("memory_max", "64M", 'is only for page_cache = "bounded"'),
        ("options", "filename=x", "points elsewhere: the bench decides"),
        ("on", "nobody", "must be the serial number or WWN of a drive of this plan"),
        ("modes", "writeback", 'on = "array"'),
    ),
    "lottery": (
        ("tickets", "a 4", "must be a table of at least one file and its tickets"),
        ("tickets", "a=0", "must be a whole number from 1 to 10000"),
    ),
    "matrix": (("record_sizes", "5000", "must be a power of two from 512"),),
    "sweep": (("norandommap", "perhaps", "must be true or false"),),
}
"""By kind: a key, what is typed there, and what is told."""


@pytest.mark.parametrize("kind", REFUSED)
async def test_what_the_plan_refuses_stands_by_its_key(kind: str, engine: FakeEngine) -> None:
    engine.show_drives(HDD)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await open_form(pilot, "space")
        dialog = await open_keys(pilot, kind)
        for key, text, told in REFUSED[kind]:
            row = find_key(pilot, key)
            before = row.query_one(Field).value
            await set_key(pilot, key, text)
            dialog.query_one("#done").focus()
            await press(pilot, "enter")
            await finish(pilot, "check")
            assert pilot.app.screen is dialog
            shown_lines = [each for each in dialog.query(".mistakes").results(Line) if each.display]
            assert shown_lines == [row.query_one(".mistakes", Line)], f"{key} = {text}"
            assert shown_lines[0].text.startswith("! ")
            assert told in shown_lines[0].text
            assert pilot.app.focused is row.query_one(Field)
            await set_key(pilot, key, before)
        await press(pilot, "escape")
        assert not pilot.app.screen.query_one(f"#row-{kind}", WorkloadRow).on, "nothing was taken"


async def test_it_can_be_set_before_any_drive_is_picked(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        form = await open_form(pilot)
        form.query_one("#cycles", Field).value = "many"
        await open_keys(pilot, "sql")
        await set_key(pilot, "seed", "7")
        await take_keys(pilot)
        assert form.query_one("#row-sql", WorkloadRow).read()["seed"] == 7


async def test_a_place_of_its_own_can_be_left_again(engine: FakeEngine) -> None:
    engine.show_drives(HDD, SSHD)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        form = await open_form(pilot, "space", "down", "space")
        await open_keys(pilot, "surface")
        await set_key(pilot, "on", SSHD.serial)
        await take_keys(pilot)
        row = form.query_one("#row-surface", WorkloadRow)
        assert row.read()["on"] == SSHD.serial
        row.query_one("#surface-on-what").focus()
        await press(pilot, "enter")
        assert "on" not in row.read()


async def test_drives_that_the_user_named_stay_while_the_array_comes_and_goes(
    engine: FakeEngine,
) -> None:
    engine.show_drives(HDD, SSHD, EVIL)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        form = await open_form(pilot, "space", "down", "space", "down", "space")
        await open_keys(pilot, "verify")
        await set_key(pilot, "on", SSHD.serial)
        await take_keys(pilot)
        row = form.query_one("#row-verify", WorkloadRow)
        form.query_one("DriveTable").focus()
        await press(pilot, "up", "up", "a", "down", "a")
        assert form._array() is not None
        assert row.read()["on"] == SSHD.serial
        await press(pilot, "space", "space", "up", "space", "space")
        assert form._array() is None
        assert row.read()["on"] == SSHD.serial, "else it would erase all three"
        # One that is no drive of the plan any more is refused.
        await press(pilot, "down", "space")
        form.query_one("#boot-on").focus()
        await press(pilot, "space")
        await go_on(pilot)
        assert pilot.app.screen is form
        assert "serial number or WWN of a drive of this plan" in row.mistakes[0].text
        where = form.query_one("#verify-on-what")
        assert pilot.app.focused is where
        await press(pilot, "enter")
        assert "on" not in row.read()


async def test_the_layout_never_says_that_a_job_only_reads_which_writes(
    engine: FakeEngine,
) -> None:
    engine.show_drives(HDD)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        form = await open_form(pilot, "space")
        row = form.query_one("#row-fio", WorkloadRow)
        for own, is_writing in (("rw=randread", False), ("rw=write", True)):
            await open_keys(pilot, "fio")
            await set_key(pilot, "filesystem", "none")
            await set_key(pilot, "options", own)
            await take_keys(pilot)
            form.query_one("#fio-place").focus()
            for _ in range(5):
                await press(pilot, "enter")
                table = row.read()
                assert "tests" not in table
                assert does_table_write(table) == (
                    is_writing or table.get("filesystem") is not None
                )


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        (PlanKey("tests", "list"), "a, b-c,", ("a", "b-c")),
        (PlanKey("on", "list"), '"a,\\u0022b", 007', ('a,"b', "007")),
        (PlanKey("options", "table"), 'a=1, b="1", c=4k', {"a": 1, "b": "1", "c": "4k"}),
        (PlanKey("options", "table"), "a=true, b=1.5", {"a": True, "b": 1.5}),
        (PlanKey("options", "table"), "a=1, a=2", "a=1, a=2"),
        (PlanKey("options", "table"), 'a="', 'a="'),
        (PlanKey("on", "list"), '"\\UFFFFFFFF"', ("\\UFFFFFFFF",)),
        (PlanKey("options", "table"), 'a="\\uD800"', {"a": "\\uD800"}),
        (PlanKey("sample", "number", 1.0), "0,5", 0.5),
        (PlanKey("sample", "number", 1.0), "1e-3", 0.001),
        *(
            (PlanKey("sample", "number", 1.0), text, text)
            for text in ("nan", "inf", "1e999", "1_0")
        ),
        (PlanKey("sample", "number", 1.0), "٣", "٣"),
        (PlanKey("sample", "number", 1.0), "", 1.0),
        (PlanKey("runtime", "number", 60, is_whole=True), "6x", "6x"),
    ],
)
def test_what_a_field_holds(key: PlanKey, text: str, value: object) -> None:
    assert read_value(key, text) == value


@pytest.mark.parametrize(
    "text", ["plain", "1", "true", "1.5", "a,b", 'q"\\', "中\x1b\U0001f4be", " "]
)
def test_texts_come_out_of_a_field_as_they_went_in(text: str) -> None:
    listed = show_value((text, "x"))
    assert listed.isascii()
    assert read_value(PlanKey("on", "list"), listed) == (text, "x")
    table: dict[str, PlanElement] = {"k": text, "l": 1}
    assert read_value(PlanKey("options", "table"), show_value(table)) == table


def test_every_key_has_words_of_its_own() -> None:
    assert len(KINDS) == 10
    keys = {each.name: each for kind in KINDS for each in read_keys(kind)}
    assert [name for name, each in keys.items() if not describe(each)] == []
