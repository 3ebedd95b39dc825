# SPDX-License-Identifier: Apache-2.0
"""`ci/bench`: what Kaltstart's own figures are worth, held against a peer in the same boot.

What drives do is a ratio: the emulated machine's absolute speed means nothing. The tools by hand
run without engine and interface, so after all steps, not between them: where the host's speed
changes meanwhile, the ratio does. What a person waits for at the interface is in `bench_interface`,
what a boot takes beside itself in `bench_boots`. Each part is independent: what one has measured is
written at once, whatever becomes of the next.
"""

import json
import shutil
import sqlite3
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
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
# A host's processors are not the same from minute to minute: each job comes several times, as a
# step and by hand.
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
_BY_HAND = Path(__file__).with_name("bench.sh")
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
_TESTS = ("seq-read", "seq-write", "rand-read", "rand-write")
_BY_HAND_ROUNDS = {**dict.fromkeys((*_TESTS, "sequential"), _ROUNDS), "surface": 2}
_MARK = "processor"
_TICKS_PER_S = 100
"""proc_pid_stat(5): USER_HZ, which is 100 on every PC."""
_TERMINALS = 2
_CAMPAIGN_S = 3600
_BY_HAND_S = 1800
_TROUBLE = (RuntimeError, OSError, LabTimeoutError, MachineOffError, QmpError)


@dataclass(frozen=True, slots=True)
class Mark:
    """What was used up to the end of a step; read inside the machine."""

    age_s: float
    """Since the machine's start."""
    interface_s: float
    """Processor time of the interfaces of both terminals."""
    engine_s: float
    """Processor time of the engine's own process, without the programs that it starts."""


def parse_rates(by_hand: Mapping[str, str]) -> dict[str, list[float]]:
    """Bytes per second of each round by hand, of `seq-read-1` under `seq-read`. Pure.

    Raises RuntimeError with what fio said where it failed, and where a rate is missing.
    """
    rates: dict[str, list[float]] = {}
    for key, text in by_hand.items():
        name, _, _ = key.rpartition("-")
        if name == _MARK:
            continue
        first, _, message = text.partition(" ")
        if first == "failed":
            raise RuntimeError(f"fio by hand failed at {key}: {message or 'no message'}")
        try:
            rates.setdefault(name, []).append(float(first))
        except ValueError:
            raise RuntimeError(f"no rate of fio by hand at {key}: {text!r}") from None
    for name, rounds in _BY_HAND_ROUNDS.items():
        if len(rates.get(name, ())) != rounds:
            raise RuntimeError(f"{len(rates.get(name, ()))} of {rounds} rounds by hand: {name}")
    return rates


def parse_marks(by_hand: Mapping[str, str]) -> dict[int, Mark]:
    """What was used up to the end of each step, by the step. Pure; raises RuntimeError."""
    marks = {}
    for key, text in by_hand.items():
        name, _, step = key.rpartition("-")
        if name == _MARK:
            try:
                age_s, interface_us, engine_ticks = map(float, text.split())
            except ValueError:
                raise RuntimeError(f"no processor time at {key}: {text!r}") from None
            marks[int(step)] = Mark(age_s, interface_us / 1e6, engine_ticks / _TICKS_PER_S)
    return marks


def compare_fio(
    steps: Mapping[str, Sequence[float]], by_hand: Mapping[str, Sequence[float]]
) -> list[Measure]:
    """A step's bandwidth over that of the same job by hand, by fio's test; medians. Pure."""
    measures = []
    for test, rates_bytes_s in steps.items():
        peer_bytes_s = statistics.median(by_hand[test])
        ratio = statistics.median(rates_bytes_s) / peer_bytes_s
        measures.append(
            Measure(
                name=f"fio step over bare fio, {test}",
                value=round(ratio, 4),
                unit="ratio of bandwidths",
                # What of the ratio may be the host's doing.
                peer=f"fio by hand: {peer_bytes_s:.0f} B/s; {len(rates_bytes_s)} steps"
                f" {_describe_spread(rates_bytes_s)}, by hand {_describe_spread(by_hand[test])}",
                goal="0.99 to 1.01",
                holds=0.99 <= ratio <= 1.01,
            )
        )
    return measures


def compare_interface(marks: Mapping[int, Mark], steps: Sequence[int]) -> Measure:
    """Processor time of the interface per second of fio steps, each after another step. Pure.

    Emulated processors vary less in it than in a rate. Raises RuntimeError where it was not seen.
    """
    try:
        first, last = marks[steps[0] - 1], marks[steps[-1]]
    except KeyError as error:
        raise RuntimeError(f"the processor time of step {error} was not seen") from None
    seconds = last.age_s - first.age_s
    share = (last.interface_s - first.interface_s) / seconds / _TERMINALS
    engine = (last.engine_s - first.engine_s) / seconds
    return Measure(
        name="interface's processor time beside fio steps, no key pressed",
        value=round(share, 4),
        unit="s per second, mean of its two terminals",
        peer=f"the engine's own process: {engine:.4f} s per second",
        goal="at most 0.01",
        holds=share <= 0.01,
    )


def compare_lottery(rates_bytes_s: Sequence[float], by_hand_bytes_s: Sequence[float]) -> Measure:
    """The direct passes' rate over fio's sequential O_DIRECT read of the same files; medians."""
    peer_bytes_s = statistics.median(by_hand_bytes_s)
    ratio = statistics.median(rates_bytes_s) / peer_bytes_s
    return Measure(
        name="lottery, direct pass, over fio's sequential read",
        value=round(ratio, 4),
        unit="ratio of rates",
        peer=f"fio --rw=read --bs=1M --direct=1: {peer_bytes_s:.0f} B/s",
        goal="at least 0.98",
        holds=ratio >= 0.98,
    )


def compare_surface(bw_bytes_s: float, by_hand_bytes_s: Sequence[float]) -> Measure:
    """A surface scan's rate over fio's best sequential O_DIRECT read of the same bare drive."""
    peer_bytes_s = max(by_hand_bytes_s)
    ratio = bw_bytes_s / peer_bytes_s
    return Measure(
        name="surface scan over fio's sequential read",
        value=round(ratio, 4),
        unit="ratio of rates",
        peer=f"fio --rw=read --bs=1M --direct=1, one or eight at once: {peer_bytes_s:.0f} B/s",
        goal="at least 0.98",
        holds=ratio >= 0.98,
    )


def _describe_spread(rates: Sequence[float]) -> str:
    spread = (max(rates) - min(rates)) / statistics.median(rates)
    return f"within {spread * 100:.1f} %"


def measure_drives(out: Path) -> list[Measure]:
    """Boot once, run the campaign, then the peers by hand. Raises on a campaign that fails."""
    script = f"rounds={_ROUNDS}\n{_BY_HAND.read_text()}"
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
        messages = machine.listen(timeout_s=_BY_HAND_S)
        machine.wait_off(timeout_s=120)
    database = get_database(setup.stick, out)
    if database is None:
        raise RuntimeError(f"no database on {setup.stick}")
    with closing(sqlite3.connect(database)) as connection:
        by_test: dict[str, list[float]] = {test: [] for test in _TESTS}
        for test, bw_bytes_s in connection.execute(
            "SELECT variant, value FROM results WHERE workload = 'fio' AND metric = 'bw_bytes_s'"
        ):
            by_test[test].append(bw_bytes_s)
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
        steps = [
            row[0]
            for row in connection.execute("SELECT id FROM step WHERE kind = 'fio' ORDER BY id")
        ]
    if any(len(rates) != _ROUNDS for rates in by_test.values()) or not surface:
        raise RuntimeError(f"results are missing: {by_test}, surface {surface}")
    by_hand = parse_rates(messages)
    return [
        *compare_fio(by_test, by_hand),
        compare_interface(parse_marks(messages), steps),
        compare_lottery(rates, by_hand["sequential"]),
        *(compare_surface(rate, by_hand["surface"]) for rate in surface),
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
