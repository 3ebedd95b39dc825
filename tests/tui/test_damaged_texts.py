# SPDX-License-Identifier: Apache-2.0
"""Any text of a filled database is changed: that is reported, or a good page is made, never a bug.

Code that reads states by their words, times or JSON meets what no program has written.
"""
# ruff: noqa: S608 - tables and columns are those of the schema

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.campaign.drives.health import hours_up
from appliance.campaign.verdicts import judge_campaign
from appliance.errors import KaltstartError
from appliance.plan.read import parse_plan
from appliance.report.csv_files import render_json, render_results, render_steps
from appliance.report.pages import render_page, render_verdicts
from appliance.report.views import make_report
from appliance.store.connect import open_database
from appliance.store.maintenance.merge import merge_database
from appliance.store.maintenance.repair import Repair, repair_rows
from appliance.store.read import campaign as reading
from appliance.store.tables.boots import select_cycles
from appliance.store.tables.campaigns import select_campaign, select_campaign_drives
from appliance.store.tables.health import select_health
from appliance.store.tables.steps import select_steps
from appliance.workloads.drive_content import parse_content
from tests.plan_examples import STEADY
from tests.report.filled import fill_database
from tests.report.judged import make_site
from tests.report.pages_read import read_page
from tui.port.stored import StoredReader

_OTHERS = st.sampled_from(
    ("", "{", "[]", "{}", "null", "[[1]]", '{"n": {}}', '{"sha256": 1}', "9" * 400, "2026-11-21",
     "2026-11-21T03:20:00.12", "0000-00-00T00:00:00Z", "\0", "accept", "{x}", "{0}", "{x.y}", "-1",
     "\N{REPLACEMENT CHARACTER}", "version = 1", "step 1")
)  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "filled.sqlite"
    fill_database(path).close()
    return path


@pytest.fixture(scope="module")
def texts(filled: Path) -> list[tuple[str, str]]:
    """Each column of text that a row has."""
    with closing(open_database(filled)) as connection:
        return [
            (row[0], row[1])
            for row in connection.execute(
                """
                SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
                WHERE t.type = 'table' AND c.type = 'TEXT' AND t.name NOT LIKE 'sqlite_%'
                ORDER BY 1, 2
                """
            )
            if connection.execute(f"SELECT 1 FROM {row[0]}").fetchone()
        ]


@settings(STEADY, max_examples=40)
@given(data=st.data())
def test_a_text_that_is_another_one_is_no_bug(
    filled: Path, texts: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("damaged")
    try:
        path = folder / "kaltstart.sqlite"
        shutil.copyfile(filled, path)
        table, column = data.draw(st.sampled_from(texts))
        with closing(open_database(path)) as connection:
            _spoil(connection, table, column, data)
        _read_all(path)
        mended: list[Repair] = []
        with closing(open_database(path)) as connection, suppress(KaltstartError):
            repair_rows(connection, note=mended.extend)
        if mended:
            _read_all(path)
    finally:
        shutil.rmtree(folder)


def _spoil(connection: sqlite3.Connection, table: str, column: str, data: st.DataObject) -> None:
    for rule in ("ignore_check_constraints = ON", "foreign_keys = OFF"):
        connection.execute(f"PRAGMA {rule}")
    rows = connection.execute(f"SELECT rowid, {column} FROM {table} ORDER BY rowid").fetchall()
    key, text = data.draw(st.sampled_from(rows), label=f"{table}.{column}")
    content = (text or "").encode()
    if content and data.draw(st.booleans(), label="a bit"):
        at = data.draw(st.integers(0, len(content) - 1), label="byte")
        turned = bytearray(content)
        turned[at] ^= 1 << data.draw(st.integers(0, 7), label="bit")
        content = bytes(turned)
    else:
        content = data.draw(_OTHERS, label="instead").encode()
    with suppress(sqlite3.IntegrityError):  # it would be another row
        connection.execute(
            f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (content, key)
        )


def _read_all(path: Path) -> None:
    """As page, report, verdict, a start and an import do: each on its own may say what is wrong."""
    with closing(open_database(path)) as connection:
        for read in (_read_pages, _read_report, _read_as_a_start_does, _judge, _merge):
            with _expecting_a_message():
                read(connection, path)


class _expecting_a_message:  # noqa: N801 - used as a function
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> bool:
        if not isinstance(error, KaltstartError):
            return False
        assert error.message
        return True


def _read_pages(_: sqlite3.Connection, path: Path) -> None:
    reader = StoredReader(path, fat=path.parent, clock=lambda: 0.0)
    reader.read()
    assert reader.value.campaigns


def _read_report(connection: sqlite3.Connection, _: Path) -> None:
    rows = reading.select_campaign(connection, campaign_id=1)
    view = make_report(rows, charts={}, earlier=reading.select_earlier(connection, rows))
    assert read_page(render_page(view)).words
    if view.verdicts:
        assert read_page(render_verdicts(view.verdicts)).words
    for render in (render_results, render_json, render_steps):
        assert render(rows)


def _read_as_a_start_does(connection: sqlite3.Connection, _: Path) -> None:
    campaign = select_campaign(connection, 1)
    assert campaign
    asked: tuple[Callable[[], object], ...] = (
        lambda: parse_plan(campaign.plan_toml),
        lambda: [parse_content(row.noted_content) for row in select_campaign_drives(connection, 1)],
        lambda: select_cycles(connection, 1),
        lambda: select_steps(connection, 1),
        lambda: [hours_up(make_site(connection).host, row) for row in select_health(connection, 1)],
    )
    for ask in asked:
        with _expecting_a_message():
            ask()


def _judge(connection: sqlite3.Connection, _: Path) -> None:
    judge_campaign(make_site(connection), 1)


def _merge(_: sqlite3.Connection, path: Path) -> None:
    with closing(open_database(path.with_name("mine.sqlite"))) as mine:
        merge_database(mine, path, room_bytes=1 << 30)
        for (number,) in mine.execute("SELECT id FROM campaign").fetchall():
            make_report(reading.select_campaign(mine, campaign_id=number), charts={})


@pytest.fixture(autouse=True)
def _without_a_policy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("appliance.campaign.verdicts.POLICY", tmp_path / "policy.toml")
