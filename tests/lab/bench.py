# SPDX-License-Identifier: Apache-2.0
"""`ci/bench`: what Kaltstart's own figures are worth, held against a peer in the same boot.

What drives do is a ratio: the emulated machine's absolute speed means nothing. What engine and
interface take from fio is seen within its steps: the interfaces, or all, are held again and again,
between two times in which nothing is. Other tools by hand run without engine and interface, so
after all steps, not between them: where the host's speed changes meanwhile, the ratio does. What a
person waits for at the interface is in `bench_interface`, what a boot takes beside itself in
`bench_boots`. Each part is independent: what one has measured is written at once, whatever becomes
of the next.
"""

import json
import math
import shutil
import sqlite3
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

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
_FIO = """\
[[workload]]
kind = "fio"
filesystem = "ext4"
size = "64M"
runtime = {runtime_s}
page_cache = "bypass"
ioengine = "psync"
"""
_LOOP = _FIO + 'options = {{ rw = "{rw}", bs = "{bs}", time_based = "1" }}\n'
"""The same tests, but each goes on with its file for the whole of its time."""
_LOOPS = (("read", "1M"), ("write", "1M"), ("randread", "4K"), ("randwrite", "4K"))
_FIRST_WATCHED = 3
"""After the lottery, and a fio step in which nothing is held."""
_LAST_WATCHED = _FIRST_WATCHED + len(_LOOPS) - 1
_WINDOW_S, _SETTLE_S = 12, 1
_WINDOWS = 13
"""Of each test: three with all held, three with the interfaces held, one beside each."""
_WATCHED_S = _WINDOWS * (_WINDOW_S + _SETTLE_S) + 7
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
{_FIO.format(runtime_s=30)}\
{"".join(_LOOP.format(runtime_s=_WATCHED_S, rw=rw, bs=bs) for rw, bs in _LOOPS)}[[workload]]
kind = "surface"
"""
_BY_HAND_ROUNDS = {"sequential": _ROUNDS, "surface": 2}
_LEAST_PAIRS = 8
_MOST_ERROR = 0.005
"""A standard error with which a hundredth can be seen."""
_MARK, _WINDOW = "processor", "window"
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


Held = Literal["none", "interfaces", "all"]
_HELD: tuple[Held, ...] = get_args(Held)
_NAMES: Mapping[Held, str] = {
    "all": "fio step over the same step with engine and interface held",
    "interfaces": "fio step over the same step with the interfaces held",
}


@dataclass(frozen=True, slots=True)
class Window:
    """What the drive has served for fio in some seconds."""

    process_id: int
    """fio's: another test is another process."""
    held: Held
    """What did nothing meanwhile; the engine is among `all`."""
    rate_bytes_s: float


def parse_windows(by_hand: Mapping[str, str]) -> list[Window]:
    """In the order in which they were. Pure; raises RuntimeError."""
    windows = []
    for key, text in by_hand.items():
        if key.rpartition("-")[0] == _WINDOW:
            try:
                process_id, word, us, size_bytes = text.split()
                held = next(held for held in _HELD if held == word)
                rate_bytes_s = int(size_bytes) / int(us) * 1e6
                windows.append(Window(int(process_id), held, rate_bytes_s))
            except (ValueError, StopIteration):
                raise RuntimeError(f"no rate at {key}: {text!r}") from None
            if not rate_bytes_s:
                raise RuntimeError(f"the drive served nothing at {key}")
    return windows


def compare_windows(windows: Sequence[Window], held: Held) -> Measure:
    """What a fio step reaches with nothing held over what it does with `held`. Pure.

    Each such window is held against the geometric mean of the two around it, so that what changes
    steadily on the host is taken out. Raises RuntimeError where there are too few.
    """
    ratios = [
        math.log(before.rate_bytes_s * after.rate_bytes_s) / 2 - math.log(window.rate_bytes_s)
        for before, window, after in zip(windows, windows[1:], windows[2:], strict=False)
        if window.held == held
        and before.held == after.held == "none"
        and before.process_id == window.process_id == after.process_id
    ]
    if len(ratios) < _LEAST_PAIRS:
        raise RuntimeError(
            f"{len(ratios)} comparisons with {held} held beside fio, of {len(windows)} windows"
        )
    ratio = math.exp(statistics.fmean(ratios))
    error = statistics.stdev(ratios) / math.sqrt(len(ratios))
    return Measure(
        name=_NAMES[held],
        value=round(ratio, 4),
        unit="ratio of bandwidths",
        peer=f"{len(ratios)} windows of {_WINDOW_S} s, each between two in which nothing is held,"
        f" {len({window.process_id for window in windows})} tests; standard error {error:.4f}",
        goal=f"0.99 to 1.01, with a standard error of at most {_MOST_ERROR}",
        holds=0.99 <= ratio <= 1.01 and error <= _MOST_ERROR,
    )


def parse_rates(by_hand: Mapping[str, str]) -> dict[str, list[float]]:
    """Bytes per second of each round by hand, of `seq-read-1` under `seq-read`. Pure.

    Raises RuntimeError with what fio said where it failed, and where a rate is missing.
    """
    rates: dict[str, list[float]] = {}
    for key, text in by_hand.items():
        name, _, _ = key.rpartition("-")
        if name in {_MARK, _WINDOW}:
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


def compare_interface(marks: Mapping[int, Mark], step: int) -> Measure:
    """Processor time of the interface per second of a fio step. Pure.

    Emulated processors vary less in it than in a rate. Raises RuntimeError where it was not seen.
    """
    try:
        first, last = marks[step - 1], marks[step]
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


def measure_drives(out: Path) -> list[Measure]:
    """Boot once, run the campaign, then the peers by hand. Raises on a campaign that fails."""
    script = (
        f"rounds={_ROUNDS} window_s={_WINDOW_S} serial={_DRIVE.serial}"
        f" first_watched={_FIRST_WATCHED} last_watched={_LAST_WATCHED}\n{_BY_HAND.read_text()}"
    )
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
    if len(rates) != _ROUNDS or not surface:
        raise RuntimeError(f"results are missing: lottery {rates}, surface {surface}")
    by_hand = parse_rates(messages)
    windows = parse_windows(messages)
    return [
        *(compare_windows(windows, held) for held in _NAMES),
        compare_interface(parse_marks(messages), _FIRST_WATCHED - 1),
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
