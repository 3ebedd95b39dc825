# SPDX-License-Identifier: Apache-2.0
"""A new image over a used stick opens the kept database; a campaign over the serial line alone."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ci import keep_data
from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.stick import (
    DATA_NAME,
    FAT_NAME,
    find_partitions,
    get_database,
    get_file,
    make_stick,
    put_file,
)
from tests.lab.terminal import Terminal

_PLAN = """\
version = 1
[campaign]
name = "before"
on_finish = "tui"
[[drive]]
serial = "LAB-SSD-1"
[[workload]]
kind = "surface"
"""
# Far longer than it takes to type a line.
_LONG = (
    _PLAN.replace("before", "after").replace("surface", "fio")
    + 'filesystem = "none"\ntests = ["rand-read"]\npage_cache = "bypass"\n'
    + 'runtime = 3000\nsize = "8M"\n'
)
_FIRST = """\
until grep -qs '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done
kaltstart run /run/kaltstart/fat/mine.toml --wait > /dev/null
say run $?
say results "$(kaltstart results 1 --csv | sha256sum)"
say end
systemctl poweroff
"""
# One campaign, started, watched and stopped with the tools of the shell.
_SECOND = r"""until grep -qs '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done
say results "$(kaltstart results 1 --csv | sha256sum)"
say verdicts "$(kaltstart verdicts 1 --json | grep -c LAB-SSD-1)"
count='select count(*) from campaign'
say campaigns "$(sqlite3 -readonly /var/lib/kaltstart/kaltstart.sqlite "$count")"
say manual "$(man kaltstart | sed 's/.\x08//g' | grep -c -e '--wait')"
say editor "$(nano --version | head -n 1)"
say pager "$(less --version | head -n 1)"
say completion "$(bash -ic 'complete -p kaltstart' 2> /dev/null)"
say end
"""


# What is typed is on the screen too: quotes keep it from looking like the answer.
_TYPED = (
    ("kaltstart check long.toml && echo che''cked", "checked"),
    ("kaltstart run long.toml && echo sta''rted", "started"),
    ("until kaltstart status | grep fio; do sleep 1; done; echo wat''ched", "watched"),
    ("kaltstart stop && echo sto''pped", "stopped"),
    ("kaltstart events | tail -n 4; echo rea''d", "read"),
)


def _spoil_system(stick: Path) -> None:
    """As if another version's system was there: nothing of this one is left."""
    with stick.open("r+b") as file:
        file.write(b"\xaa" * 440)
        for part in find_partitions(stick):
            if part.name not in {FAT_NAME, DATA_NAME}:
                file.seek(part.offset_bytes)
                file.write(b"\xaa" * part.size_bytes)


@pytest.mark.long
def test_the_new_system_opens_what_was_kept(out: Path) -> None:
    stick = make_stick(IMAGE, out / "stick.raw")
    put_file(stick, "mine.toml", _PLAN)
    put_file(stick, "long.toml", _LONG)
    drive = ModelledDrive(serial="LAB-SSD-1", model="ssd", size_bytes=64 << 20)
    log = out / "serial.log"
    with DriveBay([drive], folder=out / "drives") as bay:
        setup = MachineSetup(stick=stick, serial_log=log, agent=_FIRST)
        with Machine(setup, drives=bay.attached(power_on=1)) as machine:
            first = machine.listen(timeout_s=PATIENCE_S)
            machine.wait_off(timeout_s=PATIENCE_S)
        assert first["run"] in {"0", "10"}

        _spoil_system(stick)
        assert keep_data.main([str(IMAGE), str(stick)]) == 0

        setup = MachineSetup(stick=stick, serial_log=log, agent=_SECOND, interface=True)
        terminal = Terminal()
        try:
            with Machine(setup, drives=bay.attached(power_on=2)) as machine:
                terminal.attach(machine.serial_line)
                second = machine.listen(timeout_s=PATIENCE_S)
                _run_over_serial_line(terminal)
        finally:
            terminal.close()
    assert second["results"] == first["results"]
    assert int(second["verdicts"]) > 0
    assert second["campaigns"] == "1"
    assert int(second["manual"]) > 0
    assert "nano" in second["editor"]
    assert "less" in second["pager"]
    assert second["completion"].endswith("kaltstart")

    assert get_file(stick, "mine.toml") == _PLAN.encode()
    database = get_database(stick, out)
    assert database is not None
    with closing(sqlite3.connect(database)) as connection:
        names = connection.execute("SELECT name, state FROM campaign ORDER BY id").fetchall()
    assert names == [("before", "done"), ("after", "paused")]


def _run_over_serial_line(terminal: Terminal) -> None:
    """As docs/manual/command.md has it, from power-on to the end of a campaign."""
    terminal.send("5")
    terminal.wait_for("free of")
    terminal.send("x")
    terminal.wait_for("Open a shell")
    terminal.send("Tab", "Enter")
    terminal.wait_for("root@kaltstart")
    terminal.send("cd /run/kaltstart/fat", "Enter")
    for line, answer in _TYPED:
        terminal.send(f"clear; {line}", "Enter")
        terminal.wait_for(answer)
    terminal.send("exit", "Enter")
    terminal.wait_for("[5 Machine]")
