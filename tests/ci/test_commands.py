"""The commands a person runs: they explain themselves, and refuse what they must not touch."""

import json
import subprocess
import sys

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
