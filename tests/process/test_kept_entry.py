"""A measured boot whose one-shot entry the firmware kept: the initrd's script, in our folders."""

import re
import subprocess
from pathlib import Path

import pytest

from appliance.campaign import this_boot

_REPO = Path(__file__).parents[2]
_SCRIPT = _REPO / "mkosi.images/initrd/mkosi.extra/usr/lib/kaltstart/note-kept-entry"
_ENTRY = f"LoaderEntryOneShot-{this_boot._LOADER_GUID}"
_BOOT_NEXT = f"BootNext-{this_boot._GLOBAL_GUID}"
_DROP_INS = {
    "kaltstart-deadline.service.d": "[Service]\nExecStart=\n"
    "ExecStart=/usr/bin/systemctl --force poweroff\n",
    "kaltstart-measure.service.d": "[Unit]\nFailureAction=poweroff-force\n",
}


@pytest.mark.parametrize(
    ("options", "variables", "is_kept"),
    [
        ("quiet kaltstart.slot=1", [_ENTRY], True),
        ("quiet kaltstart.slot=1", [_BOOT_NEXT], True),
        ("kaltstart.slot=1", ["LoaderInfo-1"], False),
        ("quiet", [_ENTRY], False),  # the appliance: it counts
        ("kaltstart.slot=1", None, False),  # started by BIOS
    ],
)
def test_what_ends_a_boot_that_would_come_again(
    tmp_path: Path, options: str, variables: list[str] | None, *, is_kept: bool
) -> None:
    (tmp_path / "cmdline").write_text(f"{options}\n")
    (tmp_path / "panic").write_text("30\n")
    if variables is not None:
        (tmp_path / "efivars").mkdir()
        for name in variables:
            (tmp_path / "efivars" / name).touch()
    script = _SCRIPT.read_text()
    for was, now in (
        ("/sys/firmware/efi/efivars", "efivars"),
        ("/proc/sys/kernel/panic", "panic"),
        ("/proc/cmdline", "cmdline"),
        ("/run/systemd/system", "units"),
    ):
        assert was in script
        script = script.replace(was, str(tmp_path / now))
    subprocess.run(["sh", "-c", script], check=True)
    made = {path.parent.name: path.read_text() for path in tmp_path.glob("units/*/*.conf")}
    assert made == (_DROP_INS if is_kept else {})
    assert (tmp_path / "panic").read_text() == ("0\n" if is_kept else "30\n")


@pytest.mark.parametrize("root", ["mkosi.extra", "mkosi.images/initrd/mkosi.extra"])
@pytest.mark.parametrize(
    ("kept", "action"),
    [(_ENTRY, "poweroff"), (_BOOT_NEXT, "poweroff"), ("", "reboot")],
)
def test_an_emergency_is_no_loop(tmp_path: Path, root: str, kept: str, action: str) -> None:
    unit = _REPO / root / "usr/lib/systemd/system/emergency.service.d/kaltstart.conf"
    (command,) = re.findall(
        r"^ExecStart=/bin/sh -c '(.*?)'$", unit.read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "cmdline").write_text("kaltstart.slot=1\n")
    (tmp_path / "efivars").mkdir()
    if kept:
        (tmp_path / "efivars" / kept).touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "systemctl").write_text('#!/bin/sh\necho "$@"\n')
    (tools / "systemctl").chmod(0o755)
    command = (
        command.replace("\\\n", "")
        .replace("/proc/cmdline", str(tmp_path / "cmdline"))
        .replace("/sys/firmware/efi/efivars", str(tmp_path / "efivars"))
    )
    done = subprocess.run(
        ["sh", "-c", command],
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["--force", action]


def test_the_script_is_run_before_the_first_device_is_looked_for() -> None:
    unit = _REPO / "mkosi.images/initrd/mkosi.extra/usr/lib/systemd/system"
    text = (unit / "systemd-udev-trigger.service.d/kaltstart.conf").read_text()
    assert "ExecStartPre=-/usr/lib/kaltstart/note-kept-entry" in text.splitlines()
    assert _SCRIPT.stat().st_mode & 0o111
