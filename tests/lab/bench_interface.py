# SPDX-License-Identifier: Apache-2.0
"""The interface's part of `ci/bench`: how soon it is there, how soon it answers, what it takes.

An emulated processor is ten times slower than a real one, or worse. So each time has a peer, an
empty page of the same library in the same machine, which never steps back behind the others. All
is timed outside the emulation too.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tests.lab.campaign import IMAGE, REPO
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.faults import parse_faults
from tests.lab.machine import Machine, MachineSetup
from tests.lab.measures import Measure, describe_times, find_95th, hold_below
from tests.lab.stick import make_stick
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import SSHD

_INSIDE = Path(__file__).with_name("keys_inside.py")
_READY_S = 600
_STARTS = 5
"""Of one start to the next the emulated machine's time to a prompt varies by a tenth."""
_STALLED = "LAB-STALLED"
_FEW = tuple(
    ModelledDrive(serial=f"LAB-KEY-{number}", size_bytes=1 << 30) for number in range(1, 5)
)
_BUSES = ["sata"] * 12 + ["nvme"] * 5 + ["scsi"] * 4 + ["usb"] * 2
_MANY = (
    *(
        ModelledDrive(serial=f"LAB-{number:02}", bus=bus, size_bytes=256 << 20)
        for number, bus in enumerate(_BUSES, 1)
    ),
    # Never of itself: told to, once the image has started.
    ModelledDrive(
        serial=_STALLED, bus="scsi", size_bytes=256 << 20, faults=parse_faults(["stall@9999s"])
    ),
)
# In the interface's place, as systemd's serial-getty@.service has it, which the image masks.
_LOGIN = {
    "systemd.extra-unit.kaltstart-tui@ttyS0.service": (
        "[Service]\nType=idle\nExecStart=-/sbin/agetty --noreset --noclear --keep-baud 115200 -\n"
        "StandardInput=tty\nStandardOutput=tty\nTTYPath=/dev/ttyS0\nTTYReset=yes\n"
        "TTYColumns=80\nTTYRows=24\n"
    ),
    "systemd.unit-dropin.kaltstart-tui@tty1.service": "[Unit]\nConditionPathExists=/nowhere\n",
}
_HEAD = f"""\
cat > /run/keys_inside.py <<'EOF'
{_INSIDE.read_text()}
EOF
idle() {{
  until grep -q '"phase": "idle"' /run/kaltstart/status.json \\
    && grep -q '"looking": false' /run/kaltstart/drives.json; do sleep 1; done 2> /dev/null
}}
keys() {{
  # As the interface's unit has it.
  PYTHONPATH=/usr/lib/kaltstart/site:$PYTHONPATH python3 /run/keys_inside.py "$@" \\
    2> /run/keys.err | while read -r line; do say "$line"; done
  test ! -s /run/keys.err || say failed "$(tail -n 1 /run/keys.err)"
}}
"""
# Said when all is drawn, so that it is in no one's way. Its stamp is the kernel's own clock.
_CLOCK = "sleep 45; say clock\n"
_KEYS = f"""\
{_HEAD}{_CLOCK}idle
systemctl stop kaltstart-tui@ttyS0
read -r serials drive < <(python3 -c 'import json
rows = json.load(open("/run/kaltstart/drives.json"))["drives"]
offered = next(row["path"] for row in rows if row["offered"])
print(",".join(row["serial"] for row in rows), offered)')
keys keys "$serials" fio --name=load "--filename=$drive" --readonly --direct=1 --rw=randread \\
  --bs=4k --ioengine=libaio --iodepth=32 --numjobs=2 --time_based --runtime=600
say end
"""
_LIST = f"""\
{_HEAD}idle
systemctl stop kaltstart-tui@ttyS0 kaltstart-tui@tty1 kaltstart-engine
rm -f /run/kaltstart/drives.json /run/kaltstart/status.json
say stall
sleep 3
keys starts {",".join(each.serial for each in _MANY)} systemctl start --no-block kaltstart-engine
say end
"""


def measure_keys(out: Path) -> list[Measure]:
    """Boots in turn: a login prompt in the interface's place, and itself; in the last, its keys."""
    logins_s: list[float] = []
    pages_s: list[float] = []
    keys: Mapping[str, Sequence[float]] = {}
    for script in (*[_CLOCK + "say end\n"] * (_STARTS - 1), _KEYS):
        number = len(pages_s) + 1
        login_s, _ = _boot(out / f"login-{number}", _LOGIN, _CLOCK + "say end\n", until="login: ")
        page_s, keys = _boot(out / f"page-{number}", {}, script, until=r"\[1 Drives\]")
        logins_s.append(login_s)
        pages_s.append(page_s)
    return [
        compare_boots(pages_s, logins_s),
        *judge_keys(keys, _time_outside("keys")),
        judge_memory(keys),
    ]


def measure_list(out: Path) -> list[Measure]:
    """One boot with 24 drives, one of which does not answer."""
    return judge_starts(_boot_many(out / "list"), _time_outside("starts"))


_KINDS_OF_KEY = (("arrows", "the next line"), ("pages", "another page"))


def compare_boots(pages_s: Sequence[float], logins_s: Sequence[float]) -> Measure:
    """How much later the first page is there than a login prompt in its place; the medians."""
    ratio = statistics.median(pages_s) / statistics.median(logins_s)
    return Measure(
        name="first page over login prompt",
        value=round(ratio, 3),
        unit="ratio of seconds since the kernel's start",
        peer=f"login prompt at {_list_times(logins_s)}, first page at {_list_times(pages_s)}",
        goal="at most 1.1",
        holds=ratio <= 1.1,
    )


def _list_times(times_s: Sequence[float]) -> str:
    return f"{', '.join(f'{each:.1f}' for each in times_s)} s"


def judge_keys(
    inside: Mapping[str, Sequence[float]], outside: Mapping[str, Sequence[float]]
) -> list[Measure]:
    """From the key to the last of what it leads to, in milliseconds and over an empty page."""
    places = (
        ("nothing beside it", inside, "", 50.0),
        ("fio at full load", inside, "loaded-", 150.0),
        ("outside the emulation", outside, "", 50.0),
    )
    limits = [
        hold_below(
            f"key to redraw, {what}, {where}",
            find_95th(times[state + key]) * 1000,
            "ms",
            peer=f"its {describe_times(times[state + key])}; "
            f"an empty page's {describe_times(times[f'{state}empty'])}",
            below=below_ms,
        )
        for where, times, state, below_ms in places
        for key, what in _KINDS_OF_KEY
    ]
    ratios = [
        _compare_keys(f"{what}, {where}", inside[state + key], inside[f"{state}empty"])
        for where, _, state, _ in places[:2]
        for key, what in _KINDS_OF_KEY
    ]
    return limits + ratios


def _compare_keys(name: str, own_s: Sequence[float], empty_s: Sequence[float]) -> Measure:
    """The medians: of the interface over an empty page of the same library in its place."""
    ratio = statistics.median(own_s) / statistics.median(empty_s)
    return Measure(
        name=f"key to redraw over an empty page, {name}",
        value=round(ratio, 3),
        unit="ratio of medians",
        peer=f"an empty page's {describe_times(empty_s)}",
        goal="at most 1.3",
        holds=ratio <= 1.3,
    )


def judge_memory(inside: Mapping[str, Sequence[float]]) -> Measure:
    """What it takes of the RAM."""
    megabytes = inside["memory-kib"][0] * 1024 / 1e6
    peer = "its share of all it maps (PSS), after a visit to each page"
    return hold_below("interface's memory", megabytes, "MB", peer=peer, below=80)


def judge_starts(
    inside: Mapping[str, Sequence[float]], outside: Mapping[str, Sequence[float]]
) -> list[Measure]:
    """From its start to the whole list on its page, in seconds."""
    return [
        hold_below(
            f"start to a list of {len(_MANY)} drives, {where}",
            times["start-list"][0],
            "s",
            peer=f"the page itself after {times['start-page'][0]:.2f} s; "
            f"an empty page after {times['start-empty'][0]:.2f} s",
            below=2,
        )
        for where, times in (
            ("one silent", inside),
            ("outside the emulation", outside),
        )
    ]


def _boot(
    out: Path, more: Mapping[str, str], script: str, *, until: str
) -> tuple[float, dict[str, list[float]]]:
    """Seconds of the kernel's clock until the serial line says `until`; what the agent says."""
    setup = _make_setup(out, script, more)
    with (
        DriveBay(_FEW, folder=out / "drives") as bay,
        Machine(setup, drives=bay.attached(power_on=1)) as machine,
    ):
        machine.wait_for(until, timeout_s=_READY_S)
        drawn_s = machine.age_s
        clock = machine.wait_for(r"\[ *(\d+\.\d+)\] ?lab-agent: clock", timeout_s=_READY_S)
        drawn_s -= machine.age_s - float(clock[1])
        times = _parse_times(machine.listen(timeout_s=_READY_S))
    return drawn_s, times


def _boot_many(out: Path) -> dict[str, list[float]]:
    """The interface and its list of 24 drives, one of which does not answer."""
    setup = _make_setup(out, _LIST, {})
    with (
        DriveBay(_MANY, folder=out / "drives") as bay,
        Machine(setup, drives=bay.attached(power_on=1)) as machine,
    ):
        machine.wait_for("lab-agent: stall", timeout_s=_READY_S)
        bay.stop_answering(_STALLED)
        return _parse_times(machine.listen(timeout_s=_READY_S))


def _make_setup(out: Path, script: str, more: Mapping[str, str]) -> MachineSetup:
    out.mkdir(parents=True)
    return MachineSetup(
        processors=2,
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        agent=script,
        interface=True,
        credentials=more,
    )


def _time_outside(what: str) -> dict[str, list[float]]:
    """The same on this machine's own processors, beside an engine that is made of files."""
    with tempfile.TemporaryDirectory(prefix="kaltlab-", dir="/tmp") as folder:
        engine = FakeEngine(Path(folder))
        drives = [
            replace(SSHD, path=f"/dev/{i}", serial=each.serial) for i, each in enumerate(_MANY)
        ]
        engine.show_drives(*drives, looking=False)
        engine.show_machine()
        engine.say()
        environment = {
            **os.environ,
            "KALTSTART_RUN": str(engine.run),
            "KALTSTART_DATA": str(engine.data),
            "PYTHONPATH": str(REPO),
        }
        words = [sys.executable, str(_INSIDE), what, ",".join(each.serial for each in _MANY)]
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return _parse_times(dict(line.split(" ", 1) for line in done.stdout.splitlines()))


def _parse_times(said: Mapping[str, str]) -> dict[str, list[float]]:
    if "failed" in said:
        raise RuntimeError(f"the interface could not be timed: {said['failed']}")
    return {key: [float(word) for word in text.split()] for key, text in said.items()}
