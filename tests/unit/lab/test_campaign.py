# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

import pytest

from appliance.store.connect import open_database
from tests.lab import campaign
from tests.lab.campaign import Result, Trial, power_on_limit, prepare_out, run_campaign
from tests.lab.console import ConsoleLine
from tests.lab.machine import MachineSetup

if TYPE_CHECKING:
    from tests.lab.drives import DriveBay
    from tests.lab.machine import Machine


def line(event: str, **fields: str) -> ConsoleLine:
    return ConsoleLine(event, fields, event)


def test_only_a_finished_campaign_without_failures_is_ok(tmp_path: Path) -> None:
    good, bad = line("campaign-done", failed="0"), line("campaign-done", failed="1")
    assert Result(tmp_path, outcome="done", lines=[good]).ok
    assert not Result(tmp_path, outcome="running", lines=[good]).ok
    assert not Result(tmp_path, outcome="done", lines=[good, bad]).ok


def test_boot_times_come_from_the_contracts_view(tmp_path: Path) -> None:
    database = tmp_path / "kaltstart.sqlite"
    open_database(database).close()
    result = Result(tmp_path, database=database)
    assert result.boot_times() == []


def test_power_on_limit_follows_the_plan() -> None:
    plan = '[[drive]]\nserial="A"\n[[drive]]\nserial="B"\n[boot]\ncycles = 3\n'
    assert power_on_limit(plan) == 65
    assert power_on_limit("not TOML") == 10
    assert power_on_limit('[boot]\ncycles = "x"') == 10


def test_out_folder_of_an_earlier_run_is_emptied(tmp_path: Path) -> None:
    for name in ("serial.log", "kaltstart.sqlite", "keep.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "drives").mkdir()
    prepare_out(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"serial.log", "keep.txt"}
    assert (tmp_path / "serial.log").read_text() == ""


def test_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(FileExistsError, match="something else"):
        prepare_out(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


class _Machine:
    """It is on for three looks after the campaign, or until its button is pressed."""

    age_s = 1.0

    def __init__(self) -> None:
        self.presses = 0
        self._looks = 0

    def is_on(self) -> bool:
        self._looks += 1
        return self._looks <= 3 and not self.presses

    def poll(self) -> list[ConsoleLine]:
        return []

    def press_power_button(self) -> None:
        self.presses += 1


@pytest.mark.parametrize(
    ("plan", "interactive", "presses"),
    [
        ("", False, 1),
        ('[campaign]\non_finish = "tui"\n', False, 1),
        ('[campaign]\non_finish = "poweroff"\n', False, 0),
        ("", True, 0),
    ],
)
def test_a_machine_that_stays_on_is_switched_off_unless_a_person_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, plan: str, interactive: bool, presses: int
) -> None:
    monkeypatch.setattr(campaign, "_POLL_S", 0)
    said: list[str] = []
    operator = campaign._Operator(
        Trial(out=tmp_path, plan=plan, interactive=interactive, say=said.append),
        MachineSetup(stick=tmp_path / "stick.raw", serial_log=tmp_path / "serial.log"),
        cast("DriveBay", None),
        Result(tmp_path),
    )
    machine = _Machine()
    operator._take(line("campaign-done", failed="0"), cast("Machine", machine))
    operator._switch_off(cast("Machine", machine))
    assert machine.presses == presses
    assert said == ([] if interactive else ["     1.0 s  campaign-done"])


class _Bay:
    """The drives, without their processes."""

    def __init__(self, done: list[str]) -> None:
        self._done = done

    def __call__(self, *_: object, **__: object) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._done.append("all ended")


def test_what_was_stored_is_copied_also_if_a_signal_ends_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def interrupt(_: object) -> None:
        done.append("a signal")
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "make_stick", lambda _, stick: stick)
    monkeypatch.setattr(campaign, "DriveBay", _Bay(done))
    monkeypatch.setattr(campaign._Operator, "work", interrupt)
    monkeypatch.setattr(campaign, "get_database", lambda *_: done.append("database"))
    monkeypatch.setattr(campaign, "get_report", lambda *_: done.append("report"))
    with pytest.raises(KeyboardInterrupt):
        run_campaign(Trial(out=tmp_path, plan=None))
    assert done == ["a signal", "all ended", "database", "report"]
