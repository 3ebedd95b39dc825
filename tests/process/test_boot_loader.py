# SPDX-License-Identifier: Apache-2.0
"""What GRUB does before it takes an entry, on a BIOS machine: its script, run by bash.

The two languages have these lines in common; GRUB's own commands are played by functions.
"""

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_REPO = Path(__file__).parents[2]
_FINALIZE = (_REPO / "mkosi.finalize").read_text()
_MKIMAGE = (_REPO / "ci/mkosi-path/grub-mkimage").read_text()
_PLAYED = """
set() { declare -g "$1"; }
load_env() { [ -f "$2" ] && { [ "$3" = set_uuid ] || declare -g "$3=$(< "$2")"; }; }
save_env() { [ ! -e "$2.read-only" ] || return 1; [ -e "$2.forgets" ] || printf %s "${!3}" > "$2"; }
"""
_SET_ALL = 'for line; do eval "${line#set }"; done; echo "$disk $root $prefix"'


@dataclass
class _Firmware:
    folder: Path

    def put_stick(self, disk: str, entry: str) -> Path:
        """A stick as this disk, or a copy of one; its one-shot note."""
        note = self.folder / f"({disk},gpt1)/kaltstart/grubenv"
        note.parent.mkdir(parents=True)
        note.write_text(entry)
        return note

    def start(self, *, booted_from: str) -> str:
        """The entry that is started."""
        _, _, script = _FINALIZE.partition("cat >> \"$grub/grub.cfg\" <<'EOF'\n")
        script, _, _ = script.partition("\nEOF\n")
        assert script
        script += _make_choices(self.folder)
        done = subprocess.run(
            ["bash", "-c", f'{_PLAYED}\n{script}\necho "$default"'],
            cwd=self.folder,
            env={"disk": booted_from, "default": "appliance"},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()


def _make_choices(folder: Path) -> str:
    """The lines of grub.cfg that set the default, as mkosi.finalize makes them; the rest is GRUB's.

    The folder is written to.
    """
    function = re.search(r"^add\(\) .*?^}\n", _FINALIZE, flags=re.MULTILINE | re.DOTALL)
    loop = re.search(r"^for \(\(slot .*?^done\n", _FINALIZE, flags=re.MULTILINE | re.DOTALL)
    assert function
    assert loop
    given = f"slots=16 version=1 folder=/k common=quiet entries={folder} grub={folder} initrds=(/i)"
    subprocess.run(["bash", "-c", f"{given}\n{function[0]}\n{loop[0]}"], check=True)
    made = folder / "grub.cfg"
    lines = [line for line in made.read_text().splitlines() if line.startswith("if ")]
    made.unlink()
    return "\n" + "\n".join(lines)


@pytest.fixture
def firmware(tmp_path: Path) -> _Firmware:
    return _Firmware(tmp_path)


def test_an_entry_is_taken_once(firmware: _Firmware) -> None:
    note = firmware.put_stick("hd0", "measure-01")
    assert firmware.start(booted_from="hd0") == "measure-01"
    assert note.read_text() == ""
    assert firmware.start(booted_from="hd0") == "appliance"


@pytest.mark.parametrize("fault", ["read-only", "forgets"])
def test_an_entry_that_cannot_be_taken_out_is_not_taken(firmware: _Firmware, fault: str) -> None:
    note = firmware.put_stick("hd0", "measure-01")
    Path(f"{note}.{fault}").touch()
    assert firmware.start(booted_from="hd0") == "appliance"


def test_a_note_on_another_disk_is_neither_read_nor_written(firmware: _Firmware) -> None:
    copy = firmware.put_stick("hd0", "measure-02")
    own = firmware.put_stick("hd1", "measure-01")
    assert firmware.start(booted_from="hd1") == "measure-01"
    own.unlink()
    assert firmware.start(booted_from="hd1") == "appliance"
    assert copy.read_text() == "measure-02"


def test_its_script_and_kernels_are_read_from_the_disk_it_was_started_from() -> None:
    (lines,) = re.findall(r"^printf '%s\\n' (.*) > ", _MKIMAGE, flags=re.MULTILINE)
    done = subprocess.run(
        ["bash", "-c", _SET_ALL, "bash", *shlex.split(lines)],
        env={"root": "hd1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "hd1 hd1,gpt2 (hd1,gpt2)/grub\n"


def test_a_disk_the_firmware_does_not_name_keeps_its_note(firmware: _Firmware) -> None:
    note = firmware.put_stick("hd0", "measure-01")
    assert firmware.start(booted_from="fd0") == "appliance"
    assert note.read_text() == "measure-01"


@pytest.mark.parametrize("entry", ["measure-16", "measure-01-chart"])
def test_every_entry_can_be_taken(firmware: _Firmware, entry: str) -> None:
    firmware.put_stick("hd0", entry)
    assert firmware.start(booted_from="hd0") == entry


@pytest.mark.parametrize("entry", ["measure-17", "measure-1", "0", "measure-01 measure-02"])
def test_a_name_that_no_entry_has_starts_no_measured_boot(firmware: _Firmware, entry: str) -> None:
    """GRUB would take its first entry for it."""
    firmware.put_stick("hd0", entry)
    assert firmware.start(booted_from="hd0") == "appliance"
