# SPDX-License-Identifier: Apache-2.0
"""One drive paused, stopped, resumed and skipped: the real command asks, the engine answers."""

import subprocess
import sys
from collections.abc import Collection
from contextlib import closing, suppress
from pathlib import Path

import pytest

from appliance.campaign.requests.handlers import RequestContext, carry_out
from appliance.errors import KaltstartError
from appliance.store.connect import open_database
from appliance.store.tables.requests import select_new_requests
from tests.unit.campaign.steps.step_machine import Machine
from tests.unit.campaign.world import HDD, SSD, World

_COMMAND = """\
import sys
from pathlib import Path
from appliance.stick import partitions
partitions.RUN = Path(sys.argv.pop(1))
partitions.DATABASE = partitions.RUN / "kaltstart.sqlite"
from appliance.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A campaign of one step on each of two drives, as the database of a stick has it."""
    made = Machine(World(tmp_path / "kaltstart.sqlite"), tmp_path)
    made.world.make_campaign(cycles=0)
    made.add_steps(HDD, SSD)
    return made


def _set(machine: Machine, assignment: str) -> None:
    with closing(open_database(machine.world.path)) as connection:
        connection.execute(f"UPDATE {assignment}")


def _command(
    machine: Machine, *words: str, running: Collection[int] | None = None
) -> tuple[int, str]:
    """The exit code and output; the engine answers, `running` as in `RequestContext`."""
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, str(machine.world.path.parent), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    context = machine.world.context()
    said = None
    while said is None:
        for request in select_new_requests(context.connection):
            asked = RequestContext(context.connection, context.host, request, running=running)
            try:
                carry_out(asked)
            except KaltstartError as error:
                asked.decline(str(error), error.exit_code)
        with suppress(subprocess.TimeoutExpired):
            said, _ = process.communicate(timeout=0.05)
    context.connection.close()
    return process.returncode, said.strip()


def _paused(machine: Machine) -> list[object]:
    return [row[0] for row in machine.rows("SELECT paused FROM campaign_drive ORDER BY slot")]


def test_one_drive_is_paused_stopped_and_resumed(machine: Machine) -> None:
    busy: tuple[int, ...] = (1, 2)
    said = f"{HDD.serial} pauses once its current part is stored"
    assert _command(machine, "pause", "--drive", HDD.serial, running=busy) == (0, said)
    assert _paused(machine) == ["after its part", ""]
    said = f"{SSD.serial} pauses now; its current part is measured again"
    assert _command(machine, "stop", "--drive", SSD.serial, running=busy) == (0, said)
    assert _paused(machine) == ["after its part", "at once"]
    said = f"{HDD.serial} goes on"
    assert _command(machine, "resume", "--drive", HDD.serial, running=busy) == (0, said)
    assert _paused(machine) == ["", "at once"]
    code, said = _command(machine, "resume", "--drive", HDD.serial, running=busy)
    assert (code, said) == (3, f"{HDD.serial} is not paused")
    assert machine.world.campaign().state == "running", "the others go on"


def test_a_drives_step_is_skipped_while_it_runs_and_while_the_campaign_is_paused(
    machine: Machine,
) -> None:
    _set(machine, "step SET state = 'running' WHERE id = 1")
    code, said = _command(machine, "skip", "--drive", SSD.serial, running=(1,))
    assert code == 3
    assert f"lottery on {SSD.serial} is not running now: nothing was skipped" in said
    code, said = _command(machine, "skip", "--drive", HDD.serial, running=(1,))
    assert (code, said) == (0, f"lottery on {HDD.serial} is skipped")
    _set(machine, "campaign SET state = 'paused'")
    code, said = _command(machine, "skip", "--drive", SSD.serial)
    assert (code, said) == (0, f"lottery on {SSD.serial} is skipped")
    assert [step.state for step in machine.steps()] == ["skipped", "skipped"]


@pytest.mark.parametrize("command", ["pause", "stop", "resume", "skip"])
def test_a_drive_that_is_not_in_the_campaign_is_refused_with_those_that_are(
    machine: Machine, command: str
) -> None:
    code, said = _command(machine, command, "--drive", "NONE\x1b[1m", running=(1, 2))
    assert code == 2
    assert said.splitlines() == [
        r"campaign 1 has no drive NONE\x1b[1m",
        f"What to do: its drives: {HDD.serial}, {SSD.serial}",
    ]
    assert _paused(machine) == ["", ""]


def test_what_has_ended_is_refused(machine: Machine) -> None:
    _set(machine, "step SET state = 'done' WHERE id = 1")
    for command, what in (("pause", "paused"), ("stop", "paused"), ("skip", "skipped")):
        code, said = _command(machine, command, "--drive", HDD.serial, running=(2,))
        assert (code, said) == (3, f"{HDD.serial} has no steps left: nothing was {what}")
    _set(machine, "campaign_drive SET paused = 'at once' WHERE drive_id = 2")
    _set(machine, "campaign SET state = 'paused'")
    code, said = _command(machine, "resume", "--drive", SSD.serial)
    assert code == 3
    assert "campaign 1 is paused with all its drives" in said
    code, said = _command(machine, "skip")
    assert code == 3
    assert "no step is running: nothing was skipped" in said
    assert "--drive" in said
    _set(machine, "campaign SET state = 'done'")
    for command, also in (
        ("pause", ""),
        ("stop", ""),
        ("resume", " or paused"),
        ("skip", " or paused"),
    ):
        code, said = _command(machine, command, "--drive", SSD.serial)
        assert (code, said) == (3, f"no campaign is running{also}")
