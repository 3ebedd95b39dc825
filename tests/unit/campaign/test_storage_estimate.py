# SPDX-License-Identifier: Apache-2.0
"""What a plan will store: each figure of the estimate against a real database and report."""

import gzip
import io
import random
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign import storage_estimate as module
from appliance.campaign.storage_estimate import estimate_storage
from appliance.event_texts import tell
from appliance.plan.read import parse_plan
from appliance.report import export
from appliance.report.csv_files import write_rows
from appliance.samples.model import (
    ActivitySample,
    Result,
    SliceSample,
    TemperatureSample,
    Ticket,
)
from appliance.store.maintenance import thinning
from appliance.store.read.workloads import MAX_ACTIVITY, stream_activity
from appliance.store.tables import steps as store
from appliance.store.tables.events import insert_event
from appliance.store.tables.health import insert_temperatures
from appliance.store.tables.steps import insert_slices
from tests.report.database import Disk, make_database
from tests.report.states import BYPASS
from tests.report.workloads import DRIVES, add_step, add_workloads
from tests.unit.campaign.world import HDD, SSD

_SERIAL = "WD-WX41A47H2291"
_ROWS = 3000
_METRICS = (
    "bw_bytes_s", "iops", "lat_p50_ns", "lat_p95_ns", "lat_p99_ns", "lat_p999_ns", "lat_p9999_ns",
    "app_read_bytes", "app_write_bytes", "device_read_bytes", "device_write_bytes", "seconds",
    "hit_ratio",
)  # fmt: skip

# Of 20 TB, as in a shelf.
_LARGE = replace(HDD, size_bytes=20_000_000_000_000)


@pytest.fixture
def database(tmp_path: Path) -> sqlite3.Connection:
    return make_database(tmp_path / "rows.sqlite", disks=[Disk(_SERIAL, "disk")])


def _activity(draw: random.Random) -> list[ActivitySample]:
    return [
        ActivitySample(
            _SERIAL, t + draw.random() / 1000, int(draw.gauss(1.5e8, 1e7)), 0,
            int(draw.gauss(150, 10)), 0, draw.uniform(0.9, 1.01),
        )
        for t in range(_ROWS)
    ]  # fmt: skip


def _insert_activity(connection: sqlite3.Connection, step: int) -> None:
    store.insert_activity(connection, step, _activity(random.Random(1)))


def _insert_temperatures(connection: sqlite3.Connection, step: int) -> None:
    rows = [TemperatureSample(_SERIAL, 10.0 * n + 0.01, 41.0) for n in range(_ROWS)]
    (drive,) = connection.execute("SELECT id FROM drive").fetchone()
    insert_temperatures(connection, step, {_SERIAL: drive}, rows)


def _insert_results(connection: sqlite3.Connection, step: int) -> None:
    draw, met = random.Random(2), BYPASS.read()
    rows = [
        Result(f"64M/rand-read/{n}", metric, draw.random() * 1e9, met)
        for n in range(_ROWS // len(_METRICS))
        for metric in _METRICS
    ]
    store.insert_results(connection, step, _SERIAL, rows)


def _insert_tickets(connection: sqlite3.Connection, step: int) -> None:
    draw = random.Random(3)
    rows = [
        Ticket("direct", "bypass", n, "a", n, 100 << 20, draw.random(), 0, 100 << 20, 0)
        for n in range(_ROWS)
    ]
    store.insert_tickets(connection, step, rows)


def _insert_slices(connection: sqlite3.Connection, step: int) -> None:
    size = 200_000_000_000
    rows = [
        SliceSample(n, n * size, (n + 1) * size, size, 0, 1.1e8 + n, 1.2e8 + n, 1.3e8 + n)
        for n in range(_ROWS)
    ]
    insert_slices(connection, step, rows)


def _insert_events(connection: sqlite3.Connection, step: int) -> None:
    what = "something of usual length about it, said"
    fields = {"kind": "surface", "device": _SERIAL, "part": "part 017", "what": what}
    for n in range(_ROWS):
        insert_event(
            connection,
            campaign_id=1,
            boot_id="6b616c74-0000-4000-8000-0000000000aa",
            monotonic_s=n / 7,
            level="info",
            event="step-note",
            detail=tell("step-note", fields),
            fields=fields,
        )


@pytest.mark.parametrize(
    ("insert", "row_bytes"),
    [
        (_insert_activity, module.ACTIVITY_ROW_BYTES),
        (_insert_temperatures, module.TEMPERATURE_ROW_BYTES),
        (_insert_results, module.RESULT_ROW_BYTES),
        (_insert_tickets, module.TICKET_ROW_BYTES),
        (_insert_slices, module.SLICE_ROW_BYTES),
        (_insert_events, module.EVENT_ROW_BYTES),
    ],
)
def test_a_row_takes_what_is_said_of_it(
    database: sqlite3.Connection, insert: Callable[[sqlite3.Connection, int], None], row_bytes: int
) -> None:
    step = add_step(database, "surface", _SERIAL, position=0)
    before = _measure(database)
    insert(database, step)
    database.commit()
    assert (_measure(database) - before) / _ROWS == pytest.approx(row_bytes, rel=0.15)


def _measure(connection: sqlite3.Connection) -> int:
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages * page_bytes)


def test_a_row_of_the_report_takes_what_is_said_of_it(database: sqlite3.Connection) -> None:
    step = add_step(database, "surface", _SERIAL, position=0)
    _insert_activity(database, step)
    database.commit()
    out = io.StringIO(newline="")
    write_rows(out, stream_activity(database, 1))
    text = out.getvalue()
    assert len(text) / _ROWS == pytest.approx(module.ACTIVITY_CSV_BYTES, rel=0.15)
    packed = len(gzip.compress(text.encode()))
    assert packed / _ROWS == pytest.approx(module.ACTIVITY_GZ_BYTES, rel=0.3)
    assert module.PLAIN_ACTIVITY == export._PLAIN_ACTIVITY


def test_a_report_of_workloads_is_about_as_large_as_estimated(tmp_path: Path) -> None:
    disks = [Disk(serial, "disk") for serial in DRIVES]
    workloads = make_database(tmp_path / "workloads.sqlite", disks=disks)
    add_workloads(workloads)
    counted = [
        workloads.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        for table in ("result", "step", "ticket")
    ]
    folder = export.export_campaign(
        workloads, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path / "raw"
    )
    pages = sum(
        path.stat().st_size
        for path in folder.iterdir()
        if path.name not in {"kaltstart.sqlite", "activity.csv"}
    )
    results, steps, tickets = counted
    estimated = (
        module._PAGE_BYTES
        + steps * module._PAGE_OF_STEP_BYTES
        + results * module.RESULT_TEXT_BYTES
        + tickets * module.TICKET_ROW_BYTES
    )
    assert pages == pytest.approx(estimated, rel=0.25)


def _plan(
    *tables: str, drives: str = '[[drive]]\nserial = "LAB-HDD-1"\nerase = "LAB-HDD-1"\n'
) -> str:
    return "version = 1\n[campaign]\nname = 'room'\n" + drives + "".join(tables)


def _workload(kind: str, keys: str = "") -> str:
    return f'[[workload]]\nkind = "{kind}"\n{keys}\n'


def test_a_surface_and_a_verify_of_a_large_disk_are_days_of_activity() -> None:
    plan = parse_plan(
        _plan(_workload("surface"), _workload("verify", 'size = "all"\npower_cycle = true'))
    )
    found = estimate_storage(plan, [_LARGE])
    # Four times 20 TB: 222 hours at 100 MB/s, 74 at the fastest.
    assert found.rows_bytes == pytest.approx(800_000 * 111, rel=0.05)
    assert found.least_bytes == pytest.approx(4 * 20e12 / 300e6 * 106, rel=0.05)
    row_bytes = module.ACTIVITY_GZ_BYTES + module.TEMPERATURE_CSV_BYTES / 10
    assert found.report_bytes == pytest.approx(800_000 * row_bytes, rel=0.1)
    # Two steps with an hour of intervals each, and a temperature every ten seconds.
    copied_bytes = 2 * 3600 * 106 + 80_000 * module.TEMPERATURE_ROW_BYTES
    assert found.copied_bytes == pytest.approx(copied_bytes, rel=0.1)


def test_what_is_thinned_and_when_is_as_the_store_does_it() -> None:
    assert module.PLAIN_ACTIVITY == thinning.LONG_ROWS
    assert module.MAX_ACTIVITY == MAX_ACTIVITY


def test_a_sweep_takes_its_whole_time_in_any_case() -> None:
    text = _workload("sweep", 'set_sizes = ["8M", "16M"]\ntests = ["seq-read"]\nruntime = 86400')
    found = estimate_storage(parse_plan(_plan(text)), [HDD])
    assert found.least_bytes == pytest.approx(2 * 86_400 * 106, rel=0.01)


def test_a_step_on_an_array_records_three_devices() -> None:
    drives = "".join(
        f'[[drive]]\nserial = "{serial}"\nerase = "{serial}"\nrole = "{role}"\n'
        for serial, role in (("LAB-HDD-1", "backing"), ("LAB-SSD-1", "cache"))
    )
    sweep = 'set_sizes = ["8M"]\ntests = ["seq-read"]\nruntime = 86400\n'
    text = _plan("[array]\n", _workload("sweep", sweep + 'on = "array"'), drives=drives)
    found = estimate_storage(parse_plan(text), [HDD, SSD])
    assert found.least_bytes == pytest.approx(3 * 86_400 * 106, rel=0.01)


def test_a_contention_test_records_the_drives_that_are_the_load_as_well() -> None:
    drives = "".join(
        f'[[drive]]\nserial = "{serial}"\nrole = "{role}"\n'
        for serial, role in (("LAB-HDD-1", "target"), ("LAB-SSD-1", "control"))
    )
    text = _plan(_workload("contention", "runtime = 60\nrounds = 20"), drives=drives)
    found = estimate_storage(parse_plan(text), [HDD, SSD])
    step_bytes = 2 * 40 * 60 * 106 + 40 * module._KEPT_BYTES
    assert found.least_bytes == pytest.approx(2 * step_bytes, rel=0.01)


def test_boots_take_little_but_for_their_charts() -> None:
    boot = '[boot]\ncycles = 10\ncharts = "{}"\n'
    without, all_of_them = (
        estimate_storage(parse_plan(_plan(boot.format(word))), [HDD]) for word in ("none", "all")
    )
    assert without.rows_bytes < 300_000
    assert without.raw_bytes == 0
    assert all_of_them.raw_bytes == 10 << 20
    assert all_of_them.report_bytes - without.report_bytes == 10 << 20


def test_rounds_of_fio_are_runs_of_it() -> None:
    once, often = (
        estimate_storage(
            parse_plan(_plan(_workload("fio", f'tests = ["rand-read"]\nsteady_state = {steady}'))),
            [HDD],
        )
        for steady in ("false", "true")
    )
    assert once.raw_bytes == 72 << 10
    assert often.raw_bytes == 25 * (72 << 10)
    assert often.rows_bytes > once.rows_bytes


@pytest.mark.parametrize("kind", ["fio", "lottery", "matrix", "sql", "surface", "selftest"])
def test_every_kind_has_an_estimate(kind: str) -> None:
    found = estimate_storage(parse_plan(_plan(_workload(kind))), [HDD])
    assert found.rows_bytes > 0
    assert found.least_bytes < found.rows_bytes + found.raw_bytes


def test_a_drive_that_is_not_here_is_left_out() -> None:
    found = estimate_storage(parse_plan(_plan(_workload("surface"))), [])
    assert found.least_bytes < 1 << 20
