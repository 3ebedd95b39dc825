# SPDX-License-Identifier: Apache-2.0
"""What the commands print does nothing to the terminal, whatever a drive calls itself."""

import json
from pathlib import Path

import pytest

from appliance import cli
from appliance.campaign import this_boot
from appliance.campaign.this_boot import ThisBoot
from appliance.errors import RefusedError
from appliance.stick import partitions as stick
from appliance.store.connect import open_database
from appliance.store.tables.campaigns import insert_campaign
from appliance.store.tables.requests import update_request

_DRIVE = "\x1b[2JWD-1\x9b5n"
_SHOWN = "\\x1b[2JWD-1\\x9b5n"


def test_what_an_error_quotes_of_a_drive_is_printed_as_escapes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = RefusedError(f"drive {_DRIVE} is gone", hint=f"plug in\n{_DRIVE}")
    assert cli._tell(error) == RefusedError.exit_code
    assert capsys.readouterr().err == f"drive {_SHOWN} is gone\nWhat to do: plug in\n{_SHOWN}\n"


def test_an_answer_of_the_engine_is_printed_as_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kaltstart.sqlite"
    engine = open_database(path)
    monkeypatch.setattr(stick, "DATABASE", path)
    monkeypatch.setattr(stick, "RUN", tmp_path)
    insert_campaign(
        engine, name="x", plan_toml="", plan_sha256="", on_finish="tui", max_power_actions=1,
        max_attempts=1, wake_margin_s=None,
    )  # fmt: skip
    monkeypatch.setattr(
        this_boot, "read_this_boot", lambda: ThisBoot("b", None, charted=False, firmware="uefi")
    )

    def answer(_seconds: float) -> None:
        said = f"campaign 1 started; {_DRIVE}\nfio on {_DRIVE} is skipped"
        update_request(engine, 1, state="accepted", answer=said, exit_code=0)

    monkeypatch.setattr("time.sleep", answer)
    assert cli.main(["report", "1"]) == 0
    said = f"campaign 1 started; {_SHOWN}\nfio on {_SHOWN} is skipped\n"
    assert capsys.readouterr().out == said


def test_what_the_engine_does_is_printed_as_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stick, "RUN", tmp_path)
    status = {"phase": "idle", "message": _DRIVE, "next": ""}
    (tmp_path / "status.json").write_text(json.dumps(status))
    assert cli.main(["status"]) == 0
    assert capsys.readouterr().out == f"idle: {_SHOWN}\n"
