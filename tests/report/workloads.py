# SPDX-License-Identifier: Apache-2.0
"""Steps for a database to report on, stored by the store's own functions.

The figures are invented and only have the shape of real ones: a disk, a hybrid that answers repeats
from its flash, an SSD; RAM answers what a page cache holds. Their cache states are judged by the
engine's code. The report's layout is tested on them.
"""

import random
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace

from appliance.caches.judge import hit_ratio
from appliance.errors import Blame
from appliance.samples.model import ActivitySample, CacheState, Result, Ticket
from appliance.store.connect import transaction
from appliance.store.tables import steps as store
from appliance.workloads.lottery.keys import LotteryPass
from appliance.workloads.lottery.workload import judge_ticket
from tests.report.states import BALLAST, BYPASS, COLD, NOT_DROPPED, WARM, Setup

MB = 1e6
FILE_BYTES = 100 << 20
TICKETS = {"a": 4, "b": 6, "d": 10, "f": 24, "j": 2}
DRIVES = {"LAB-HDD-1": 100 * MB, "LAB-SSHD-1": 110 * MB, "LAB-SSD-1": 480 * MB}
"""Bytes per second from platters or cells."""
FLASH = {"LAB-SSHD-1": 330 * MB}
RAM = 4000 * MB

PLAN = """version = 1
[[workload]]
kind = "lottery"
passes = ["direct", "cold", "warm"]
[[workload]]
kind = "fio"
page_cache = "bypass"
[[workload]]
kind = "matrix"
free_ram = "1G"
[[workload]]
kind = "sweep"
cache_size = "128M"
[[workload]]
kind = "sql"
data_size = "512M"
"""


SUM_OF_PHASES = CacheState(
    "partial", "unproven", "a sum of phases; each has a cache state of its own"
)
"""A sum has no caches of its own; what the engine says of it."""


def add_workloads(connection: sqlite3.Connection, *, serials: Sequence[str] = ()) -> None:
    """All kinds on each drive of campaign 1, at fixed times; the last SQL step failed."""
    wanted = serials or tuple(DRIVES)
    with transaction(connection):
        connection.execute("UPDATE campaign SET plan_toml = ?", (PLAN,))
        position = 0
        for index, kind in enumerate(("lottery", "fio", "matrix", "sweep", "sql")):
            for serial in wanted:
                rate = DRIVES.get(serial, 100 * MB)
                step = add_step(connection, kind, serial, position=position, index=index)
                position += 1
                if kind == "lottery":
                    _add_lottery(connection, step, serial, rate)
                elif kind == "sql" and serial == "LAB-SSD-1":
                    end_step(connection, step, "failed", "the drive answered with an I/O error")
                    continue
                else:
                    make = {
                        "fio": _make_fio,
                        "matrix": _make_matrix,
                        "sweep": _make_sweep,
                        "sql": _make_sql,
                    }[kind]
                    add_results(connection, step, make(serial, rate))
                add_activity(connection, step, rate, seconds=40)
                end_step(connection, step, "done")
        connection.execute("UPDATE result SET at = '2026-11-21T05:00:00.000Z', checksum = NULL")
        connection.execute(
            "UPDATE step SET started_at = '2026-11-21T04:30:00.000Z',"
            " finished_at = '2026-11-21T05:00:00.000Z'"
        )
        connection.execute("UPDATE part SET finished_at = '2026-11-21T05:00:00.000Z'")


def add_step(
    connection: sqlite3.Connection, kind: str, serial: str, *, position: int, index: int = 0
) -> int:
    """A running step of campaign 1; its id."""
    (drive,) = connection.execute("SELECT id FROM drive WHERE serial = ?", (serial,)).fetchone()
    store.insert_step(
        connection,
        campaign_id=1,
        position=position,
        kind=kind,
        drive_id=drive,
        device=serial,
        workload_index=index,
    )
    (step,) = connection.execute("SELECT max(id) FROM step").fetchone()
    store.update_step_running(connection, step)
    return int(step)


def end_step(
    connection: sqlite3.Connection,
    step: int,
    state: str,
    reason: str = "",
    blame: Blame = "drive",
) -> None:
    store.update_step_ended(connection, step, state, reason=reason, blame=blame)


def add_results(connection: sqlite3.Connection, step: int, results: Iterable[Result]) -> None:
    """Store results, a part per variant."""
    found = tuple(results)
    store.insert_results(connection, step, "sdb", found)
    for variant in dict.fromkeys(result.variant for result in found):
        store.insert_part(connection, step, variant, results=1)


def add_activity(connection: sqlite3.Connection, step: int, rate: float, *, seconds: int) -> None:
    """Of the step's device. A second of every three is idle."""
    (device,) = connection.execute("SELECT device FROM step WHERE id = ?", (step,)).fetchone()
    store.insert_activity(
        connection,
        step,
        [
            ActivitySample(device, float(t), int(rate) if t % 3 else 0, 4096 * t, 100, 1, 0.9)
            for t in range(1, seconds + 1)
        ],
    )


def make_results(
    variant: str,
    met: Setup | CacheState,
    *,
    app: float = 0.0,
    hit: float = 0.0,
    **metrics: float,
) -> list[Result]:
    """The rows of one variant; with `app` also the bytes and the share RAM answered.

    `met` is judged by these bytes, or by as many written; a state is what the engine says at once.
    """
    served = app * (1 - hit)
    if app:
        metrics |= {
            "app_read_bytes": app,
            "device_read_bytes": served,
            "hit_ratio": hit_ratio(int(app), int(served)),
        }
    if isinstance(met, Setup):
        met = met.read(app, served) if app else met.write()
    return [Result(variant, metric, value, met) for metric, value in metrics.items()]


def _add_lottery(connection: sqlite3.Connection, step: int, serial: str, rate: float) -> None:
    results: list[Result] = []
    tickets: list[Ticket] = []
    passes: tuple[tuple[LotteryPass, Setup], ...]
    passes = (("direct", BYPASS), ("cold", COLD), ("warm", WARM))
    for name, setup in passes:
        urn = [file for file, number in TICKETS.items() for _ in range(number)]
        # First reads lie between repeats often enough to show that they alone are slow.
        random.Random(3).shuffle(urn)
        seen: dict[str, list[Ticket]] = {}
        for seq, file in enumerate(urn, start=1):
            nth = len(seen.setdefault(file, [])) + 1
            from_ram = name == "warm" or (name == "cold" and nth > 1)
            is_first = name == "direct" and nth == 1
            drive = rate if is_first else FLASH.get(serial, rate)
            resident = FILE_BYTES if from_ram else 0
            ticket = Ticket(
                pass_name=name,
                page_cache=judge_ticket(name, resident, length=FILE_BYTES, proven=True),
                seq=seq,
                file=file,
                nth=nth,
                bytes=FILE_BYTES,
                seconds=FILE_BYTES / (RAM if from_ram else drive * (1 + seq % 5 / 100)),
                major_faults=0,
                device_read_bytes=0 if from_ram else FILE_BYTES,
                resident_before_bytes=resident,
            )
            seen[file].append(ticket)
            tickets.append(ticket)
        for file, own in sorted(seen.items()):
            app = sum(ticket.bytes for ticket in own)
            served = sum(ticket.device_read_bytes for ticket in own)
            results += make_results(
                f"{name}/{file}",
                setup,
                app=app,
                hit=1 - served / app,
                rate_bytes_s=app / sum(ticket.seconds for ticket in own),
            )
        asked, served = (
            sum(getattr(ticket, field) for own in seen.values() for ticket in own)
            for field in ("bytes", "device_read_bytes")
        )
        results += make_results(name, setup.read(asked, served), touch_ratio=1.0)
    results += make_results("other", BYPASS, device_write_bytes=5.0 * FILE_BYTES)
    add_results(connection, step, results)
    store.insert_tickets(connection, step, tickets)


def _make_fio(serial: str, rate: float) -> list[Result]:
    results: list[Result] = []
    seek = 180.0 if rate < 200 * MB else 60_000.0
    for test, share in (("seq-read", 1.0), ("seq-write", 0.9)):
        bw = rate * share
        results += make_results(
            test,
            BYPASS,
            app=1e9,
            bw_bytes_s=bw,
            iops=bw / (1 << 20),
            lat_p50_ns=1e9 * (1 << 20) / bw,
            lat_p99_ns=2e9 * (1 << 20) / bw,
        )
    results += make_results("precondition/pass-1", BYPASS, bw_bytes_s=rate)
    for number in range(1, 8):
        iops = seek * (1 + 1 / number)
        results += make_results(
            f"rand-write/round-{number}",
            BYPASS,
            bw_bytes_s=iops * 4096,
            iops=iops,
            lat_p50_ns=1e9 / iops,
            lat_p99_ns=4e9 / iops,
        )
    unproven = make_results(
        "rand-read", NOT_DROPPED, app=1e8, hit=0.3, iops=seek * 1.4, bw_bytes_s=seek * 4096 * 1.4
    )
    return results + unproven


def _make_matrix(serial: str, rate: float) -> list[Result]:
    results: list[Result] = []
    for size in ("512M", "2G"):
        for number, record in enumerate(("4K", "64K", "1M", "16M")):
            for operation, share in (("write", 0.8), ("read", 1.0), ("rand-read", 0.2)):
                small = size == "512M" and operation != "write"
                found = make_results(
                    f"{size}/{record}/{operation}",
                    WARM if small else BALLAST,
                    app=2e9,
                    hit=1.0 if small else 0.02,
                    rate_bytes_s=RAM if small else rate * share * (1 + number) / 4,
                )
                # The tool died: what it said is kept and marked.
                broken = (serial, size, record, operation) == ("LAB-HDD-1", "2G", "16M", "read")
                results += [replace(result, valid=not broken) for result in found]
    return results


def _make_sweep(serial: str, rate: float) -> list[Result]:
    results: list[Result] = []
    fits = {"32M": 1.0, "64M": 1.0, "128M": 0.9, "192M": 0.3, "256M": 0.15}
    for size, share in fits.items():
        for access, factor in (("randommap", 1.0), ("norandommap", 1.3), ("norandommap/zipf", 1.8)):
            fast = 9000.0 if serial in FLASH else 180.0
            iops = 60_000.0 if rate > 200 * MB else max(180.0, fast * share * factor)
            results += make_results(
                f"{size}/rand-read/{access}", BYPASS, app=1e8, iops=iops, bw_bytes_s=iops * 4096
            )
        results += make_results(
            f"{size}/seq-read/randommap",
            BYPASS,
            app=1e8,
            iops=rate / (1 << 20),
            bw_bytes_s=max(rate, FLASH.get(serial, 0.0) * share),
        )
    return results


def _make_sql(serial: str, rate: float) -> list[Result]:
    results: list[Result] = []
    total = 0.0
    phases = ("recovery", "indexes", "wide_update", "string_updates", "select")
    for number, phase in enumerate(phases, start=1):
        seconds = round(4e9 * number / rate / 3, 3)
        total += seconds
        results += make_results(phase, BALLAST, app=1e9, hit=0.1 * number, seconds=seconds)
    return results + make_results("total", SUM_OF_PHASES, seconds=total)
