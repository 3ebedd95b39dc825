# SPDX-License-Identifier: Apache-2.0
"""The commands a person runs: they explain themselves, and refuse what they must not touch."""

import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.lab.campaign import REPO

_COMMANDS = (
    "bench",
    "build",
    "command-docs",
    "demo",
    "fonts",
    "lab",
    "release",
    "screens",
    "test",
    "toolbox",
    "torture",
    "write",
)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=REPO, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    done = _run(f"ci/{name}", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: ci/{name}")


def test_tab_completes_commands_options_and_files(tmp_path: Path) -> None:
    done = _run("ci/command-docs", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (tmp_path / "stick.sqlite").touch()
    (tmp_path / "out").mkdir()
    script = f"""
        cd {tmp_path}; source ./kaltstart.bash
        for line in "ver" "report --del" "verdicts --database st" "check st" "merge st" \
            "merge x.sqlite st" "merge --into st" "report --out o" "compare 1 2 --out st"; do
          COMP_WORDS=(kaltstart $line) COMPREPLY=()
          COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
          _shtab_appliance
          echo "${{COMPREPLY[*]}}"
        done
    """
    assert _run("bash", "-c", script).stdout.splitlines() == [
        *("verdicts", "--delete", "stick.sqlite", "stick.sqlite", "stick.sqlite"),
        *("stick.sqlite", "stick.sqlite", "out", "stick.sqlite"),
    ]


@pytest.mark.parametrize("device", ["/dev/null", "/dev/no-such-disk", "README.md"])
def test_write_refuses_what_is_no_whole_disk(device: str) -> None:
    done = _run("ci/write", device)
    assert done.returncode == 3
    assert "write:" in done.stderr


def _write_sbom() -> subprocess.CompletedProcess[str]:
    """Of the fixture's Debian packages, with the copyright files of those in the toolbox."""
    return _run(
        *("/usr/bin/python3", "ci/sbom.py", "0.1.0", "font=1-2"),
        *("--manifest", "tests/fixtures/mkosi/manifest.json", "--copyright", "/usr/share/doc"),
        *("--lock", "ci/locks/image.txt", "--installed", sysconfig.get_path("purelib")),
        *("--wheels", f"{os.environ['KALTSTART_CACHE']}/wheels"),
    )


def test_sbom_lists_debian_and_python_packages() -> None:
    sbom = json.loads(_write_sbom().stdout)
    assert sbom["serialNumber"].startswith("urn:uuid:")
    assert sbom["metadata"]["component"]["name"] == "kaltstart"
    names = {component["name"] for component in sbom["components"]}
    assert {"systemd", "textual", "font"} <= names
    assert set(sbom["dependencies"][0]["dependsOn"]) <= {
        component["bom-ref"] for component in sbom["components"]
    }


def test_sbom_names_licences_and_the_file_that_was_installed() -> None:
    done = _write_sbom()
    parts = {each["name"]: each for each in json.loads(done.stdout)["components"]}
    lock = (REPO / "ci/locks/image.txt").read_text()
    assert {"license": {"name": "LGPL-2.1+"}} in parts["systemd"]["licenses"]
    assert "licenses" not in parts["font"]
    assert parts["textual"]["licenses"] == [{"license": {"id": "MIT"}}]
    for name, part in parts.items():
        if part["purl"].startswith("pkg:pypi/"):
            assert part["licenses"], name
            [only] = part["hashes"]
            assert f"sha256:{only['content']}" in lock
    assert f"of {len(parts)} parts with a known licence" in done.stderr


def test_debians_python_packages_of_the_image_are_in_the_toolbox_and_in_no_lock() -> None:
    found = re.findall(r"^ +python3-(\S+)$", (REPO / "mkosi.conf").read_text(), re.MULTILINE)
    assert {"jinja2", "segno"} <= set(found)
    toolbox = (REPO / "ci/toolbox.packages").read_text().splitlines()
    assert {f"python3-{name}" for name in found} <= set(toolbox)
    for lock in ("image", "test"):
        locked = re.findall(r"^(\S+)==", (REPO / f"ci/locks/{lock}.txt").read_text(), re.MULTILINE)
        assert not {*found, "markupsafe"} & set(locked), lock
