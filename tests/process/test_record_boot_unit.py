# SPDX-License-Identifier: Apache-2.0
"""The unit that records one boot removes itself, also where its Python is gone by then."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from appliance import record_boot


def test_it_is_removed_without_the_python_that_installed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_boot, "_PROGRAM", tmp_path / "record-boot.py")
    monkeypatch.setattr(record_boot, "_UNITS", tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "an environment/python"))
    (tmp_path / "record-boot.py").touch()
    unit = record_boot.format_unit(disk="/dev/sda", target="/var/tmp/b", more_s=0, processors=1)
    (tmp_path / record_boot.UNIT).write_text(unit)
    asked = tmp_path / "asked"
    systemctl = tmp_path / "bin/systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text(f'#!/bin/sh\necho "$*" > {asked}\n')
    systemctl.chmod(0o755)
    (cancel,) = (line for line in unit.splitlines() if line.startswith("ExecStopPost="))
    _, _, script = cancel.partition(" -c ")
    path = f"{systemctl.parent}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", f"sh -c {script}"], env={"PATH": path}, check=True)
    assert asked.read_text() == f"disable {record_boot.UNIT}\n"
    assert not (tmp_path / "record-boot.py").exists()
    assert not (tmp_path / record_boot.UNIT).exists()
