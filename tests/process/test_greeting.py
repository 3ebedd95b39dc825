# SPDX-License-Identifier: Apache-2.0
"""What is on each console before the interface is: the initrd's script, in our folders."""

import subprocess
from pathlib import Path

import pytest

from appliance import VERSION

_REPO = Path(__file__).parents[2]
_SCRIPT = _REPO / "mkosi.images/initrd/mkosi.extra/usr/lib/kaltstart/greet"
_CONSOLES = ("tty1", "ttyS0", "ttyS1")


@pytest.mark.parametrize(
    ("options", "is_greeted"), [("quiet", True), ("quiet kaltstart.slot=1 ro", False)]
)
def test_each_console_has_name_and_version_unless_the_boot_is_measured(
    tmp_path: Path, options: str, *, is_greeted: bool
) -> None:
    (tmp_path / "cmdline").write_text(f"{options}\n")
    script = _SCRIPT.read_text()
    for was, now in (
        ("/proc/cmdline", str(tmp_path / "cmdline")),
        # As mkosi.images/initrd/mkosi.conf puts it there.
        ("/usr/lib/kaltstart/version", str(_REPO / "appliance/__init__.py")),
        *((f"/dev/{name}", str(tmp_path / name)) for name in _CONSOLES[:2]),
        # A port that the machine lacks.
        ("/dev/ttyS1", str(tmp_path / "none/ttyS1")),
    ):
        assert was in script
        script = script.replace(was, now)
    ran = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("", "")
    for name in _CONSOLES[:2]:
        console = tmp_path / name
        shown = console.read_text().splitlines() if console.exists() else []
        assert (
            [f"  Kaltstart {VERSION}"] == [line for line in shown if "Kalt" in line]
        ) == is_greeted
        assert any("Looking for the stick" in line for line in shown) == is_greeted
