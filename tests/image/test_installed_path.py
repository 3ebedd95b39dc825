# SPDX-License-Identifier: Apache-2.0
"""`path = "installed"`: the drive's own system is started, reports its start, and returns."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Cut, Result, Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.own_system import STAYS, TITLE, UP, OwnSystem, make_own_system
from tests.lab.requestlog import parse_requests

_PLAN = """\
version = 1
[campaign]
name = "Own system"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-1"
start = "LAB-1"
[boot]
path = "installed"
cycles = {cycles}
power = {power}
wake_margin = 60
"""


@pytest.mark.long
@pytest.mark.parametrize("firmware", ["uefi", "secureboot"])
def test_a_drives_own_system_reports_its_start_and_returns(out: Path, firmware: str) -> None:
    drive = ModelledDrive(serial="LAB-1", name="LAB-1", file=make_own_system(_file(out)))
    plan = _PLAN.format(cycles=2, power='["cold", "warm"]')
    trial = Trial(out=out, plan=plan, drives=[drive], firmware=firmware, from_start=True)
    result = run_campaign(trial)

    assert result.ok, f"{result.outcome}: {result.reason}"
    boots = _boots(result)
    print(*boots, sep="\n")
    assert [(boot["path"], boot["valid"], boot["power"]) for boot in boots] == [
        ("installed", 1, "cold"),
        ("installed", 1, "warm"),
    ]
    for boot in boots:
        assert all(
            boot[name] for name in ("boot_s", "kernel_s", "userspace_s")
        )  # the lab has no others
        assert int(str(boot["read_bytes"])) > 1 << 20
    told = [text for name, text in _events(result) if name == "own-system-reported"]
    assert len(told) == 2
    assert all("Own System 1" in each for each in told)
    _check_writes(out)
    _check_variables(out)


@pytest.mark.long
def test_a_drive_that_the_firmware_cannot_start_is_named(out: Path) -> None:
    """It has no driver for the drive's controller: it starts the stick instead, each time."""
    drive = ModelledDrive(
        serial="LAB-1", name="LAB-1", file=make_own_system(_file(out)), bus="raid"
    )
    plan = _PLAN.format(cycles=1, power='"cold"')
    result = run_campaign(Trial(out=out, plan=plan, drives=[drive], from_start=True))

    assert result.outcome == "done", f"{result.outcome}: {result.reason}"
    done = result.lines_of("campaign-done")[-1].fields
    assert (done["samples"], done["failed"]) == ("0", "1")
    failed = [text for name, text in _events(result) if name == "attempt-failed"]
    assert len(failed) == 3
    assert all("did not report" in each for each in failed)
    _check_variables(out)


@pytest.mark.long
@pytest.mark.parametrize(
    ("system", "cuts"),
    [
        # A person finds it on, switches it off and on again.
        (
            OwnSystem(unit=False),
            [Cut(event=UP, nth=n) for n in (1, 2, 3)],
        ),
        (OwnSystem(hangs=True), [Cut(power_on=n, says=TITLE) for n in (2, 4, 6)]),
    ],
    ids=["no unit", "hangs in its loader"],
)
def test_a_system_that_never_reports_ends_after_three_attempts(
    out: Path, system: OwnSystem, cuts: list[Cut]
) -> None:
    drive = ModelledDrive(serial="LAB-1", name="LAB-1", file=make_own_system(_file(out), system))
    plan = _PLAN.format(cycles=1, power='"cold"')
    trial = Trial(out=out, plan=plan, drives=[drive], cuts=cuts, from_start=True)
    result = run_campaign(trial)

    print(*_events(result), sep="\n")
    assert result.outcome == "done", f"{result.outcome}: {result.reason}"
    assert result.cuts_made == len(cuts)
    done = result.lines_of("campaign-done")[-1].fields
    assert (done["samples"], done["failed"]) == ("0", "1")
    failed = [text for name, text in _events(result) if name == "attempt-failed"]
    assert len(failed) == len(cuts)
    assert all("did not report" in each for each in failed)
    _check_variables(out)


@pytest.mark.long
def test_a_system_that_does_not_restart_has_its_sample_stored(out: Path) -> None:
    file = make_own_system(_file(out), OwnSystem(restarts=False))
    drive = ModelledDrive(serial="LAB-1", name="LAB-1", file=file)
    plan = _PLAN.format(cycles=1, power='"cold"')
    trial = Trial(
        out=out, plan=plan, drives=[drive], cuts=[Cut(event=STAYS)], from_start=True
    )  # someone who finds it on switches it off and on again
    result = run_campaign(trial)

    print(*_events(result), sep="\n")
    assert result.ok, f"{result.outcome}: {result.reason}"
    assert [(boot["path"], boot["valid"], boot["cold_proof"]) for boot in _boots(result)] == [
        ("installed", 1, "unproven")
    ]
    _check_variables(out)


@pytest.mark.long
def test_a_loader_that_starts_another_drives_system_gives_no_sample(out: Path) -> None:
    drives = [
        ModelledDrive(
            serial=f"LAB-{system.number}",
            name=f"LAB-{system.number}",
            file=make_own_system(_file(out, f"-{system.number}"), system),
        )
        for system in (OwnSystem(number=1, root_number=2), OwnSystem(number=2))
    ]
    plan = _PLAN.format(cycles=1, power='"cold"').replace(
        "[boot]", '[[drive]]\nserial = "LAB-2"\nstart = "LAB-2"\n[boot]'
    )
    result = run_campaign(Trial(out=out, plan=plan, drives=drives, from_start=True))

    print(*_events(result), sep="\n")
    assert result.outcome == "done", f"{result.outcome}: {result.reason}"
    failed = [text for name, text in _events(result) if name == "attempt-failed"]
    assert len(failed) == 3
    assert all("LAB-1" in each and "another drive than" in each for each in failed)
    boots = sorted((boot["drive_serial"], boot["valid"]) for boot in _boots(result))
    assert boots == [("LAB-1", 0), ("LAB-2", 1)]
    _check_variables(out)


def _file(out: Path, tail: str = "") -> Path:
    out.mkdir(parents=True, exist_ok=True)
    return out.parent / f"{out.name}-own{tail}.raw"


def _boots(result: Result) -> list[dict[str, object]]:
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as connection:
        connection.row_factory = sqlite3.Row
        query = "SELECT * FROM boot_times ORDER BY cycle"
        return [dict(row) for row in connection.execute(query)]


def _events(result: Result) -> list[tuple[str, str]]:
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as connection:
        return list(connection.execute("SELECT event, detail FROM events ORDER BY seq"))


def _check_writes(out: Path) -> None:
    """From outside: the system wrote to its /var, and nothing was written anywhere else."""
    drives = out / "drives"
    places = [
        each.offset
        for each in parse_requests((drives / "LAB-1.log").read_text())
        if each.kind not in {"Read", "Flush", "Block"}
    ]
    var = 1 + 288
    print("writes:", len(places), json.dumps(sorted({place >> 20 for place in places})))
    assert places, "the system that was started writes to its own drive"
    assert min(places) >= var << 20


def _check_variables(out: Path) -> None:
    """Nothing that Kaltstart's is left to be started, or to be reported."""
    variables = (out / "firmware-variables.fd").read_bytes()
    alive = b"\x3f"
    for words in ("Kaltstart: the drive's own system", "KaltstartOrder", "KaltstartReport"):
        name = f"{words}\0".encode("utf-16-le")
        places = [at for at in range(len(variables)) if variables.startswith(name, at)]
        headers = [variables.rfind(b"\xaa\x55", 0, at) for at in places]
        # VARIABLE_HEADER of EDK2: StartId 0x55AA, then the state; 0x3F is a variable that is there.
        assert all(variables[header + 2 : header + 3] != alive for header in headers), words
