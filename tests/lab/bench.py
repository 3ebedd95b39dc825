# SPDX-License-Identifier: Apache-2.0
"""`ci/bench`: what Kaltstart's own figures are worth, held against a peer in the same boot.

What drives do is a ratio: the emulated machine's absolute speed means nothing. What a person waits
for at the interface is in `bench_interface`, what a boot takes beside itself in `bench_boots`. Each
part is independent: what one has measured is written at once, whatever becomes of the next.
"""

import json
import shutil
import sqlite3
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from tests.lab.bench_boots import measure_boots
from tests.lab.bench_interface import measure_keys, measure_list
from tests.lab.bench_shelf import measure_shelf
from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.faults import parse_faults
from tests.lab.machine import LabTimeoutError, Machine, MachineOffError, MachineSetup
from tests.lab.measures import Measure
from tests.lab.qmp import QmpError
from tests.lab.stick import get_database, make_stick, put_file

# Every request takes 10 ms. A drive that takes no time would show nothing but how much of the
# host's processors the emulator got; here what a program adds to the drive's time comes out.
_DRIVE = ModelledDrive(
    serial="LAB-EVEN-1",
    model="ssd",
    name="LAB-EVEN-1",
    size_bytes=1 << 30,
    faults=parse_faults(["slow@0+1G x10"]),
)
# A host's processors are not the same from minute to minute: each job comes several times, here and
# there.
_FIO = """\
[[workload]]
kind = "fio"
filesystem = "ext4"
size = "64M"
runtime = 15
page_cache = "bypass"
ioengine = "psync"
"""
_ROUNDS = 3
_PLAN = f"""\
version = 1
[campaign]
name = "bench"
autostart = true
on_finish = "tui"
[[drive]]
serial = "LAB-EVEN-1"
erase = "LAB-EVEN-1"
[[workload]]
kind = "lottery"
file_size = "4M"
passes = ["direct"]
repeat = 3
{_FIO * _ROUNDS}[[workload]]
kind = "surface"
"""
_TESTS = ("seq-read", "rand-read", "seq-write", "rand-write")
_CAMPAIGN_S = 3600
_BY_HAND_S = 1800
_TROUBLE = (RuntimeError, OSError, LabTimeoutError, MachineOffError, QmpError)


def compare_fio(ours: Mapping[str, Sequence[float]], by_hand: Mapping[str, str]) -> list[Measure]:
    """Our steps' bandwidth over that of the same job by hand, by fio's test; medians."""
    measures = []
    for key, rates_bytes_s in ours.items():
        peer_bytes_s = _find_median(by_hand, key)
        ratio = statistics.median(rates_bytes_s) / peer_bytes_s
        measures.append(
            Measure(
                name=f"fio step over bare fio, {key}",
                value=round(ratio, 4),
                unit="ratio of bandwidths",
                peer=f"fio by hand: {peer_bytes_s:.0f} B/s",
                goal="0.99 to 1.01",
                holds=0.99 <= ratio <= 1.01,
            )
        )
    return measures


def compare_lottery(rates_bytes_s: Sequence[float], by_hand: Mapping[str, str]) -> Measure:
    """The direct passes' rate over fio's sequential O_DIRECT read of the same files; medians."""
    peer_bytes_s = _find_median(by_hand, "sequential")
    ratio = statistics.median(rates_bytes_s) / peer_bytes_s
    return Measure(
        name="lottery, direct pass, over fio's sequential read",
        value=round(ratio, 4),
        unit="ratio of rates",
        peer=f"fio --rw=read --bs=1M --direct=1: {peer_bytes_s:.0f} B/s",
        goal="at least 0.98",
        holds=ratio >= 0.98,
    )


def compare_surface(bw_bytes_s: float, by_hand: Mapping[str, str]) -> Measure:
    """A surface scan's rate over fio's best sequential O_DIRECT read of the same bare drive."""
    peer_bytes_s = max(
        float(text.split()[0]) for key, text in by_hand.items() if key.startswith("surface-")
    )
    ratio = bw_bytes_s / peer_bytes_s
    return Measure(
        name="surface scan over fio's sequential read",
        value=round(ratio, 4),
        unit="ratio of rates",
        peer=f"fio --rw=read --bs=1M --direct=1, one or eight at once: {peer_bytes_s:.0f} B/s",
        goal="at least 0.98",
        holds=ratio >= 0.98,
    )


def _find_median(by_hand: Mapping[str, str], key: str) -> float:
    """Bytes per second over the rounds of one job by hand, "key-1", "key-2" and so on."""
    return statistics.median(
        float(by_hand[f"{key}-{number}"].split()[0]) for number in range(1, _ROUNDS + 1)
    )


def measure_drives(out: Path) -> list[Measure]:
    """Boot once, run the campaign, then the peers by hand. Raises on a campaign that fails."""
    script = (Path(__file__).parent / "bench.sh").read_text()
    setup = MachineSetup(
        processors=2,
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        agent=script,
        interface=True,
    )
    put_file(setup.stick, "plan.toml", _PLAN)
    with (
        DriveBay([_DRIVE], folder=out / "drives") as bay,
        Machine(setup, drives=bay.attached(power_on=1)) as machine,
    ):
        done = machine.wait_event("campaign-done", timeout_s=_CAMPAIGN_S)
        if done.fields["failed"] != "0":
            raise RuntimeError(f"the campaign failed: {done.text}; see {setup.serial_log}")
        by_hand = machine.listen(timeout_s=_BY_HAND_S)
        machine.press_power_button()
        machine.wait_off(timeout_s=120)
    database = get_database(setup.stick, out)
    if database is None:
        raise RuntimeError(f"no database on {setup.stick}")
    with closing(sqlite3.connect(database)) as connection:
        ours: dict[str, list[float]] = {test: [] for test in _TESTS}
        for test, bw_bytes_s in connection.execute(
            "SELECT variant, value FROM results WHERE workload = 'fio' AND metric = 'bw_bytes_s'"
        ):
            ours[test].append(bw_bytes_s)
        rates = [
            row[0]
            for row in connection.execute(
                "SELECT sum(bytes) / sum(seconds) FROM tickets GROUP BY (seq - 1) / 100"
            )
        ]
        surface = [
            row[0]
            for row in connection.execute(
                "SELECT value FROM results WHERE workload = 'surface' AND variant = 'whole'"
                " AND metric = 'bw_bytes_s'"
            )
        ]
    if any(len(rates) != _ROUNDS for rates in ours.values()) or not surface:
        raise RuntimeError(f"results are missing: {ours}, surface {surface}")
    return [
        *compare_fio(ours, by_hand),
        compare_lottery(rates, by_hand),
        *(compare_surface(rate, by_hand) for rate in surface),
    ]


_PARTS: Mapping[str, Callable[[Path], list[Measure]]] = {
    "drives": measure_drives,
    "boots": measure_boots,
    "keys": measure_keys,
    "list": measure_list,
    "shelf": measure_shelf,
}


def main(words: list[str]) -> int:
    """Measure, write the list, show it; 0 when all was measured, whether it holds or not."""
    target, *chosen = words
    unknown = [name for name in chosen if name not in _PARTS]
    if unknown:
        print(f"bench: no such part: {', '.join(unknown)}; there are {', '.join(_PARTS)}")
        return 2
    failed = 0
    measures: list[Measure] = []
    for name in chosen or _PARTS:
        out = Path(target).parent / "bench" / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        try:
            found = _PARTS[name](out)
        except _TROUBLE as error:
            failed += 1
            print(f"bench: the part {name} could not be measured: {error}; see {out}", flush=True)
            continue
        for measure in found:
            verdict = "holds" if measure.holds else "DOES NOT HOLD"
            print(f"{measure.value:9.3f}  {verdict:14} {measure.name} (goal {measure.goal})")
        measures += found
        rows = [asdict(measure) for measure in measures]
        Path(target).write_text(json.dumps(rows, indent=2) + "\n")
    print(f"bench: {sum(m.holds for m in measures)} of {len(measures)} goals hold; {target}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
