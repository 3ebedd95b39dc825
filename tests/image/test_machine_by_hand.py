# SPDX-License-Identifier: Apache-2.0
"""By hand on the booted image: campaigns of another stick, keyboard, language, time, a shell.

And the power button, while a program that was started in the shell keeps the database locked.
"""

from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.drives import DEFAULT_DRIVES, DriveBay
from tests.lab.machine import PATIENCE_S, MachineSetup
from tests.lab.saved import restored
from tests.lab.stick import make_stick, put_file
from tests.lab.terminal import Terminal
from tests.report.database import make_database

# Quotes within the words: what is typed is on the screen too, and must not look like the answer.
_INTERFACES = ("kaltstart-tui@tty1", "kaltstart-tui@ttyS0")
_GERMAN = "dumpkeys -C /dev/tty1 | grep -Eqi 'adiaeresis|00e4' && echo ger''man"
# What the interface on the screen may open, asked by a process that joins its unit.
_NO_DRIVE = (
    ": < /dev/sda && (echo $BASHPID > /sys/fs/cgroup$(systemctl show -P ControlGroup"
    " kaltstart-tui@tty1)/cgroup.procs; : < /dev/kmsg && : <> /dev/sda) 2>&1"
    " | grep '/dev/sda: Operation not permitted' && echo no''-drive"
)
# What a program may do that has taken the interface over, tried in a unit with all its settings.
_RIGHTS = """\
mkdir -p /run/kaltstart/tui
unit=/run/systemd/system/kaltstart-taken@.service
sed -E -e '/^(Standard|TTY|Restart|Conflicts|Nice|Description)/d' \
  -e 's,^ExecStart=.*,ExecStart=/bin/bash /run/taken,' \
  /usr/lib/systemd/system/kaltstart-tui@.service > "$unit"
cat > /run/taken << 'EOF'
exec 2> /run/kaltstart/tui/errors
may() { if "${@:2}" > /dev/null; then echo "$1"; fi >> /run/kaltstart/tui/may; }
write() { bash -c ": >> $1"; }
connect() { python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('$1')"; }
manager=(busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1)
login=(busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager)
may run-a-program systemd-run --quiet /bin/true
may start-a-unit "${manager[@]}" org.freedesktop.systemd1.Manager StartUnit ss tmp.mount replace
may reach-systemd connect /run/systemd/private
may switch-off "${login[@]}" PowerOff b false
may add-a-unit write /run/systemd/system/taken.service
may name-a-helper write /proc/sys/kernel/core_pattern
may leave-its-group bash -c 'echo $$ > /sys/fs/cgroup/cgroup.procs'
may open-a-drive write /dev/sda
may signal-systemd kill -0 1
may change-what-the-engine-says write /run/kaltstart/status.json
may remove-results mv /var/lib/kaltstart/raw /var/lib/kaltstart/taken
may remove-the-database mv /var/lib/kaltstart/kaltstart.sqlite /var/lib/kaltstart/taken.sqlite
may read-the-log bash -c ': < /dev/kmsg'
may come-forward renice -n -5 $$
may store-requests write /var/lib/kaltstart/kaltstart.sqlite
EOF
systemctl daemon-reload
until grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done 2> /dev/null
systemctl start kaltstart-taken@tty1
while systemctl is-active --quiet kaltstart-taken@tty1; do sleep 1; done
say may $(cat /run/kaltstart/tui/may)
for unit in kaltstart-engine kaltstart-tui@tty1 kaltstart-tui@ttyS0; do
  pid=$(systemctl show -P MainPID $unit)
  grep -q ' /usr/lib/kaltstart/bytecode$' "/proc/$pid/maps" && echo $unit
done > /run/quick
say quick $(cat /run/quick)
say failed $(systemctl list-units --failed --plain --no-legend | cut -d ' ' -f 1)
"""
_CLOCK = "grep 2027-01-02 /sys/class/rtc/rtc0/date && echo clock''-set"

_LOCK = """\
until grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done 2> /dev/null
python3 -c '
import sqlite3, time
database = sqlite3.connect("/var/lib/kaltstart/kaltstart.sqlite", autocommit=True, timeout=60)
database.execute("BEGIN EXCLUSIVE")
time.sleep(1 << 20)' &
until grep -q 'python3 has it locked' /run/kaltstart/status.json; do sleep 1; done
say shown
"""


@pytest.mark.long
def test_the_power_button_is_heard_while_a_program_keeps_the_database_locked(out: Path) -> None:
    stick = make_stick(IMAGE, out / "stick.raw")
    setup = MachineSetup(stick=stick, serial_log=out / "serial.log", agent=_LOCK)
    with restored(setup, image=IMAGE) as machine:
        machine.wait_for("lab-agent: shown", timeout_s=PATIENCE_S)
        machine.press_power_button()
        machine.wait_off(timeout_s=PATIENCE_S)
        assert "kaltstart: refused" not in machine.text, "it waited in vain, and then it was off"
        assert machine.text.count("kaltstart: ready") == 1


@pytest.mark.long
def test_keyboard_and_time_are_set_and_a_shell_gives_the_page_back(out: Path) -> None:
    stick = make_stick(IMAGE, out / "stick.raw")
    make_database(out / "theirs.sqlite").close()
    put_file(stick, "Rack 4 Übernahme.sqlite", (out / "theirs.sqlite").read_bytes())
    setup = MachineSetup(stick=stick, serial_log=out / "serial.log", interface=True, agent=_RIGHTS)
    terminal = Terminal()
    drive = next(drive for drive in DEFAULT_DRIVES if drive.model == "ssd")
    try:
        with (
            DriveBay([drive], folder=out / "drives") as bay,
            restored(setup, image=IMAGE, drives=bay.attached(power_on=1)) as machine,
        ):
            terminal.attach(machine.serial_line)
            machine.wait_event("ready", timeout_s=PATIENCE_S)
            may = machine.wait_for(r"lab-agent: may([^\r\n]*)[\r\n]", timeout_s=PATIENCE_S)[
                1
            ].split()
            assert may == ["read-the-log", "come-forward", "store-requests"]
            quick = machine.wait_for(r"lab-agent: quick([^\r\n]*)[\r\n]", timeout_s=PATIENCE_S)
            assert quick[1].split() == ["kaltstart-engine", *_INTERFACES], "in one file of bytecode"
            _take_over_campaign_and_write_reports(terminal)
            terminal.send("5")
            terminal.wait_for("free of")
            (out / "serial-Machine.txt").write_text(terminal.screen())
            for program in ("Linux 6.", "bcache-tools 1.", "fio 3."):
                terminal.wait_for(program)
            terminal.send("PageDown")
            terminal.wait_for("systemd 257")
            _set_keyboard_and_time(terminal)
            _speak_german_and_english_again(terminal)
            _open_and_leave_shell(terminal)
    finally:
        terminal.close()


def _take_over_campaign_and_write_reports(terminal: Terminal) -> None:
    terminal.send("4")
    terminal.wait_for("m import")
    terminal.send("m")
    terminal.wait_for("Rack 4 Übernahme.sqlite")
    terminal.send("Enter")
    terminal.wait_for("1 campaign is imported")
    terminal.send("Tab", "Enter")
    terminal.wait_for("1 campaign imported with 18 boots")
    terminal.wait_for("LAB-SSHD-1     46.02   27.20   28.12")
    terminal.send("a")
    terminal.wait_for("1 of 1 reports written")
    terminal.wait_for("reports/1-three-drives/report.html")


def _set_keyboard_and_time(terminal: Terminal) -> None:
    terminal.send("k")
    terminal.wait_for("Swiss, German")
    terminal.send("Down", "Down", "Enter")
    terminal.wait_for("Keyboard accepted")
    terminal.wait_for("de  German")
    terminal.send("t")
    terminal.wait_for("Date and time")
    terminal.send("C-u", "2027-01-02 03:04", "Enter")
    terminal.wait_for("Setting the time accepted")
    terminal.wait_for("2027-01-02 03:")


def _speak_german_and_english_again(terminal: Terminal) -> None:
    terminal.send("l")
    terminal.wait_for("Deutsch")
    terminal.send("Down", "Enter")
    terminal.wait_for("[5 Maschine]")
    terminal.wait_for("de  Deutsch")
    terminal.send("1")
    terminal.wait_for("[1 Laufwerke]")
    terminal.send("5")
    terminal.wait_for("[5 Maschine]")
    terminal.send("l")
    terminal.wait_for("English")
    terminal.send("Up", "Enter")
    terminal.wait_for("[5 Machine]")


def _open_and_leave_shell(terminal: Terminal) -> None:
    terminal.send("x")
    terminal.wait_for("Open a shell")
    terminal.send("Right", "Enter")
    terminal.wait_for("A root shell.")
    # A shell that starts takes no line that was typed before its prompt.
    terminal.wait_for("root@kaltstart")
    terminal.send(_GERMAN, "Enter")
    terminal.wait_for("german")
    terminal.send(_CLOCK, "Enter")
    terminal.wait_for("clock-set")
    terminal.send(_NO_DRIVE, "Enter")
    terminal.wait_for("no-drive")
    terminal.send("exit", "Enter")
    terminal.wait_for("[5 Machine]")
