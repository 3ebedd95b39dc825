# SPDX-License-Identifier: Apache-2.0
"""Bad input on the real image: a clear line, the right exit code, nothing written anywhere."""

import base64
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.console import ConsoleLine
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.saved import restored
from tests.lab.stick import make_stick, put_file

_HEAD = 'version = 1\n[campaign]\nname = "bad"\n'
_BOOT = '[boot]\nboot_set = "4M"\n'
_HOSTILE = 'it\'s "a"/../b \x1b[31m'


def _drive(serial: str, *, erase: str | None = None) -> str:
    return f'[[drive]]\nserial = "{serial}"\nerase = "{serial if erase is None else erase}"\n'


def _workload(kind: str, keys: str) -> str:
    return f'[[workload]]\nkind = "{kind}"\n{keys}\n'


_READ_ONLY = '[[drive]]\nserial = "LAB-A"\n'
_ELSEWHERE = 'options = { rw = "write", filename = "/dev/sda" }'

_ZONED = 'options = { rw = "randread", random_distribution = "zoned:50/5" }'


def _long_sweep(sizes: int) -> str:
    """Three tests of a day each on so many sets: some 27 MB of activity a set."""
    named = ", ".join(f'"{number}M"' for number in range(1, sizes + 1))
    return _workload(
        "sweep",
        f'set_sizes = [{named}]\ntests = ["rand-read"]\nnorandommap = [false, true]\n'
        'distribution = ["uniform", "zipf"]\nruntime = 86400\nidle_timeout = 0',
    )


# Name → plan, exit code of `check`, what its message must say.
_PLANS = {
    "good": (_HEAD + _drive("LAB-A") + _BOOT, 0, "good"),
    "unknown-key": (_HEAD + "colour = 1\n" + _drive("LAB-A") + _BOOT, 2, "line 4"),
    "wrong-type": (_HEAD + _drive("LAB-A") + '[boot]\ncycles = "ten"\n', 2, "cycles"),
    "absent": (_HEAD + _drive("LAB-NOT-HERE") + _BOOT, 3, "LAB-NOT-HERE"),
    "twice": (_HEAD + _drive("LAB-TWIN") + _BOOT, 3, "LAB-TWIN"),
    "stick": (_HEAD + _drive("LAB-STICK-1") + _BOOT, 3, "stick"),
    "protected-drive": (
        _HEAD + _drive("LAB-LOCKED") + _BOOT,
        3,
        "write-protected by the drive itself",
    ),
    "mismatch": (_HEAD + _drive("LAB-A", erase="LAB-B") + _BOOT, 3, "erase"),
    "small": (_HEAD + _drive("LAB-SMALL") + _BOOT, 3, "LAB-SMALL"),
    "elsewhere": (_HEAD + _drive("LAB-A") + _workload("fio", _ELSEWHERE), 2, "filename"),
    "no-option": (_HEAD + _drive("LAB-A") + _workload("fio", 'options = { bs = "4x" }'), 2, "bs"),
    "fio-says-no": (_HEAD + _drive("LAB-A") + _workload("fio", _ZONED), 2, "zoned"),
    "ballast": (
        _HEAD + _drive("LAB-A") + _workload("sql", 'free_ram = "64G"'),
        3,
        "64.0 GiB of RAM",
    ),
    "no-room": (_HEAD + _drive("LAB-SMALL") + _workload("lottery", ""), 3, "LAB-SMALL"),
    # The lab's stick has a data partition of 0.9 GB, and 240 MB for reports.
    "no-room-on-stick": (
        _HEAD + _drive("LAB-A") + _long_sweep(64),
        3,
        "kaltstart-data has no room for it",
    ),
    "no-room-for-copies": (
        _HEAD + _drive("LAB-A") + _long_sweep(28),
        0,
        "KALTSTART has no room for the report's copies of the database",
    ),
    "unreleased": (_HEAD + _READ_ONLY + _workload("lottery", ""), 3, "LAB-A"),
    "read-only-plan": (
        _HEAD + _READ_ONLY + _workload("lottery", 'filesystem = "none"'),
        0,
        "no drive",
    ),
}

_BY_COMMAND = ("good", "unknown-key")
"""These are checked as a person does it. The others in one process: each would load all again."""
_SCRIPT = (Path(__file__).parent / "refusals.sh").read_text()
_CHECK = """\
import contextlib, io, sys
from appliance.cli import main
for name in sys.argv[1:]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(["check", f"/run/{name}.toml"])
    print(name, code, " ".join(said.getvalue().split("\\n"))[:700], flush=True)
"""


def test_bad_input_is_refused_and_nothing_is_written(out: Path) -> None:
    plans = "".join(
        f"base64 -d <<< {base64.b64encode(text.encode()).decode()} > /run/{name}\n"
        for name, text in {
            "check.py": _CHECK,
            **{f"{name}.toml": text for name, (text, _, _) in _PLANS.items()},
        }.items()
    )
    for name in _BY_COMMAND:
        plans += f"code {name} python3 -m appliance check /run/{name}.toml\n"
    others = " ".join(name for name in _PLANS if name not in _BY_COMMAND)
    plans += f'python3 /run/check.py {others} | while read -r line; do say "$line"; done\n'
    drives = [
        ModelledDrive(serial="LAB-A"),
        ModelledDrive(serial="LAB-TWIN"),
        ModelledDrive(serial="LAB-TWIN", bus="scsi"),
        ModelledDrive(serial="LAB-SMALL", size_bytes=64 << 20),
        ModelledDrive(serial=_HOSTILE, bus="scsi"),
        ModelledDrive(serial="", bus="sata"),
        ModelledDrive(serial="LAB-LOCKED", bus="scsi", read_only=True),
    ]
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        agent=_SCRIPT.replace("@PLANS@", plans),
    )
    # Its own mistake is said on the console, too.
    put_file(setup.stick, "plan.toml", _PLANS["unknown-key"][0])
    with DriveBay(drives, folder=out / "drives") as bay:
        with restored(setup, image=IMAGE, drives=bay.attached(power_on=1)) as machine:
            refused = machine.wait_event("refused", timeout_s=PATIENCE_S)
            said = machine.listen(timeout_s=PATIENCE_S)
            _assert_clean(machine.text)
        written = sum(one["write_bytes"] for drive in bay.drives for one in bay.stats(drive))

    assert "line 4" in refused.fields["reason"]
    for name, (_, code, words) in _PLANS.items():
        assert said[name].startswith(f"{code} "), (name, said[name])
        assert words in said[name], (name, said[name])
    assert said["drives"].startswith("0 ")
    assert said["listing"] == "0", "a drive's control characters reached a terminal"
    assert said["unguarded"] == "", "every drive but the stick is read-only"
    assert (said["ports"], said["links"], said["passwords"]) == ("0", "0", "0")
    assert said["failed"] == "0"
    assert said["protected"].startswith("LAB-LOCKED write-protected by the drive itself")
    assert (
        said["bug"].rstrip() == "Traceback (most recent call last): RuntimeError: a bug on purpose"
    )
    assert said["full"].startswith("5 ")
    assert "full" in said["full"]
    assert said["read-only"].startswith("5 ")
    assert "read-only" in said["read-only"]
    assert said["newer"].startswith("5 ")
    assert "version 99" in said["newer"]
    assert said["repaired"].startswith("None")
    assert written == 0


@pytest.mark.long
def test_two_sticks_are_refused(out: Path) -> None:
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        second_stick=make_stick(IMAGE, out / "stick-2.raw"),
        serial_log=out / "serial.log",
    )
    put_file(setup.stick, "plan.toml", _PLANS["good"][0].replace("[[", "autostart = true\n[[", 1))
    drive = ModelledDrive(serial="LAB-A")
    with DriveBay([drive], folder=out / "drives") as bay:
        with Machine(setup, drives=bay.attached(power_on=1)) as machine:
            refused: ConsoleLine = machine.wait_event("refused", timeout_s=PATIENCE_S)
        written = sum(one["write_bytes"] for one in bay.stats(bay.drives[0]))
    assert "2 Kaltstart sticks" in refused.fields["reason"]
    assert written == 0


def _assert_clean(text: str) -> None:
    """Nothing a drive reports reaches the console as it is."""
    assert "\x1b[31m" not in text
