"""The commands a person runs: they explain themselves, and refuse what they must not touch."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.campaign import REPO

_COMMANDS = ("bench", "build", "demo", "fonts", "lab", "screens", "test", "toolbox", "write")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=REPO, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    done = _run(f"ci/{name}", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: ci/{name}")


@pytest.mark.parametrize("device", ["/dev/null", "/dev/no-such-disk", "README.md"])
def test_write_refuses_what_is_no_whole_disk(device: str) -> None:
    done = _run("ci/write", device)
    assert done.returncode == 3
    assert "write:" in done.stderr


def test_sbom_lists_debian_and_python_packages() -> None:
    manifest = REPO / "tests/fixtures/mkosi/manifest.json"
    done = _run(sys.executable, "ci/sbom.py", str(manifest), "ci/locks/image.txt", "font=1-2")
    names = {component["name"] for component in json.loads(done.stdout)["components"]}
    assert {"systemd", "textual", "font"} <= names


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that is neither in the repository nor below /tmp."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def test_lab_hands_in_files_of_one_name_and_what_they_name(elsewhere: Path) -> None:
    plan, drives = elsewhere / "a/x.toml", elsewhere / "b/x.toml"
    for file, text in ((plan, "the plan"), (drives, 'file = "held/drive.raw"')):
        file.parent.mkdir()
        file.write_text(text)
    (elsewhere / "b/held").mkdir()
    (elsewhere / "b/held/drive.raw").write_text("what is held")
    # In the toolbox's place one that shows what it is given.
    commands = elsewhere / "repository/ci"
    commands.mkdir(parents=True)
    shutil.copy(REPO / "ci/lab", commands)
    toolbox = commands / "toolbox"
    toolbox.write_text('#!/bin/sh\ncat "$6" "$8" "$(dirname "$8")/held/drive.raw"\n')
    toolbox.chmod(0o755)
    done = subprocess.run(
        [commands / "lab", "--plan", plan, "--drives", drives],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == 'the planfile = "held/drive.raw"what is held'
