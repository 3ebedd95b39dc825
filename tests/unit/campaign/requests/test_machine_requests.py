# SPDX-License-Identifier: Apache-2.0
"""What a person may ask of the machine itself."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from appliance.campaign.context import CampaignContext
from appliance.campaign.log import EventLog, record
from appliance.campaign.requests import machine as machine_module
from appliance.campaign.requests.machine import Machine
from appliance.campaign.silent_drives import SilentDrives
from appliance.errors import PlanError, RefusedError, StepFailedError
from appliance.machine import facts as machine_facts
from appliance.machine import keyboard
from appliance.machine.language import read_stored_language, store_language
from appliance.run import Finished
from appliance.store.connect import SCHEMA_VERSION, open_database
from appliance.store.read.overview import select_events
from tests.unit.campaign.world import STICK, World


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The commands that would have been started."""
    commands: list[tuple[str, ...]] = []

    def note(command: list[str]) -> Finished:
        commands.append(tuple(command))
        return Finished(tuple(command), 0, "", "")

    monkeypatch.setattr(machine_module, "run", note)
    monkeypatch.setattr(keyboard, "run", note)
    return commands


@pytest.fixture
def context(world: World) -> Iterator[CampaignContext]:
    connection = open_database(world.path)
    world.boot_id = "b"
    host = world.host()
    yield CampaignContext(connection, host, SilentDrives(host), countdown=lambda *_: False)
    connection.close()


@pytest.fixture
def machine(
    context: CampaignContext, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> Machine:
    kept: list[str] = []
    monkeypatch.setattr(machine_module, "store_layout", kept.append)
    return Machine(context, STICK)


@pytest.fixture
def set_to(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The times that would have been set."""
    asked: list[datetime] = []
    monkeypatch.setattr(machine_module, "set_time", asked.append)
    return asked


def test_facts_are_published_once_and_again_when_they_change(
    machine: Machine, tmp_path: Path
) -> None:
    machine.publish()
    path = tmp_path / "run/machine.json"
    facts = json.loads(path.read_text())
    assert facts["versions"]["database schema"] == str(SCHEMA_VERSION)
    assert facts["keyboard"] == "us"
    machine.set_keyboard("de")
    assert json.loads(path.read_text())["keyboard"] == "de"


def test_the_firmware_is_asked_once_in_a_boot(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each read of one of its variables is a call into it, and idle time has no end."""
    machine.publish()
    read: list[Path] = []

    def read_bytes(path: Path) -> bytes:
        read.append(path)
        return b""

    monkeypatch.setattr(machine_facts, "read_bytes", read_bytes)
    machine.publish()
    machine.set_keyboard("de")
    assert read == []
    assert json.loads((tmp_path / "run/machine.json").read_text())["firmware"] == "uefi"


def test_a_keyboard_is_loaded_and_noted(
    machine: Machine, context: CampaignContext, started: list[tuple[str, ...]]
) -> None:
    said = machine.set_keyboard("de")
    assert said == "the keyboard is de, now and at the next start"
    [command] = started
    assert (command[0], command[-1]) == ("loadkeys", "de-latin1-nodeadkeys")
    [event] = select_events(context.connection, limit=9)
    assert (event.event, event.detail) == ("set-keyboard", said)


def test_the_kept_keyboard_is_loaded_when_the_machine_starts(
    machine: Machine,
    started: list[tuple[str, ...]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keyboard, "read_stored_layout", lambda: "de")
    machine.restore_keyboard()
    machine.publish()
    assert [command[-1] for command in started] == ["de-latin1-nodeadkeys"]
    assert json.loads((tmp_path / "run/machine.json").read_text())["keyboard"] == "de"


@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error"), StepFailedError("loadkeys failed with code 1")]
)
def test_a_keyboard_that_cannot_be_loaded_is_noted_and_keeps_nothing_from_starting(
    machine: Machine,
    context: CampaignContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    def fail(_: list[str]) -> Finished:
        raise error

    monkeypatch.setattr(keyboard, "read_stored_layout", lambda: "de")
    monkeypatch.setattr(keyboard, "run", fail)
    machine.restore_keyboard()
    machine.publish()
    assert json.loads((tmp_path / "run/machine.json").read_text())["keyboard"] == "us"
    [event] = select_events(context.connection, limit=9)
    assert event.event == "keyboard-not-loaded"
    assert event.detail == f"the keys are those of us: {error}"


def test_a_stick_that_does_not_keep_the_keyboard_is_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(machine_module, "store_layout", full)
    said = machine.set_keyboard("fr")
    assert said == "the keyboard is fr until power-off; not kept: No space left on device"


def test_a_language_is_kept_and_published(
    context: CampaignContext, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_module, "store_language", partial(store_language, folder=tmp_path))
    said = machine.set_language("de")
    assert said == "the language is de, now and at the next start"
    published = json.loads((tmp_path / "run/machine.json").read_text())
    assert published["language"] == "de"
    assert published["language"] in published["languages"]
    read = partial(read_stored_language, folder=tmp_path)
    monkeypatch.setattr(machine_module, "read_stored_language", read)
    Machine(context, STICK).publish()
    assert json.loads((tmp_path / "run/machine.json").read_text())["language"] == "de"


def test_an_unknown_language_is_refused_and_a_lost_one_is_english(
    machine: Machine, tmp_path: Path
) -> None:
    with pytest.raises(RefusedError, match='no language "xx"; there are en, de'):
        machine.set_language("xx")
    assert read_stored_language(folder=tmp_path) == "en"
    (tmp_path / "language").write_bytes(b"\xff\n")
    assert read_stored_language(folder=tmp_path) == "en"
    (tmp_path / "language").write_text("xx\n")
    assert read_stored_language(folder=tmp_path) == "en"


def test_a_stick_that_does_not_keep_the_language_is_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(machine_module, "store_language", full)
    said = machine.set_language("de")
    assert said == "the language is de until power-off; not kept: No space left on device"


def test_the_time_is_set_to_what_was_asked(machine: Machine, set_to: list[datetime]) -> None:
    said = machine.set_time("2026-11-22 06:24")
    assert set_to == [datetime(2026, 11, 22, 6, 24, tzinfo=UTC)]
    assert said.startswith("the time is 2026-11-22 06:24 UTC now; it was ")
    with pytest.raises(PlanError, match="write it as"):
        machine.set_time("tomorrow")
    assert len(set_to) == 1


def work(context: CampaignContext, *, state: str, boot_id: str) -> None:
    """A campaign in `state` that did something in a boot."""
    context.connection.execute(
        "INSERT INTO campaign (id, name, plan_toml, plan_sha256, state, on_finish,"
        " max_power_actions, max_attempts, created_at)"
        " VALUES (7, 'a', 'version = 1', 'sha', ?, 'tui', 9, 3, 'T')",
        (state,),
    )
    this_boot = replace(context.this_boot, boot_id=boot_id)
    log = EventLog(context.connection, replace(context.host, this_boot=this_boot))
    record(log, "campaign-resumed", campaign_id=7)


def test_the_time_is_not_set_while_a_campaign_goes_by_it(
    machine: Machine, context: CampaignContext, set_to: list[datetime]
) -> None:
    work(context, state="paused", boot_id=context.this_boot.boot_id)
    with pytest.raises(RefusedError, match="campaign 7 has begun to measure times") as refused:
        machine.set_time("2026-11-22 06:24")
    assert "restart the machine" in refused.value.hint
    assert set_to == []


@pytest.mark.parametrize(("state", "boot_id"), [("done", "b"), ("paused", "an earlier one")])
def test_the_time_is_set_beside_a_campaign_that_does_not_go_by_it(
    machine: Machine, context: CampaignContext, set_to: list[datetime], state: str, boot_id: str
) -> None:
    work(context, state=state, boot_id=boot_id)
    machine.set_time("2026-11-22 06:24")
    assert len(set_to) == 1


@pytest.mark.parametrize("terminal", ["", "../x", "tty1 tty2", "pts/0", "-f"])
def test_a_shell_is_opened_on_a_terminal_only(
    terminal: str, machine: Machine, started: list[tuple[str, ...]]
) -> None:
    with pytest.raises(RefusedError, match="not a terminal"):
        machine.open_shell(terminal)
    assert started == []
    for good in ("tty1", "ttyS0"):
        machine.open_shell(good)
        assert started.pop()[-1] == f"kaltstart-shell@{good}.service"
