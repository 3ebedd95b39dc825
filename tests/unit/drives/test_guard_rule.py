# SPDX-License-Identifier: Apache-2.0
"""What keeps drives as they are before any program of ours runs, as far as files can show it."""

import re
from configparser import RawConfigParser
from pathlib import Path

import pytest

from appliance.drives.probe import WRITE_PROTECTED
from appliance.stick.partitions import DISK_UUID

EXTRA = Path(__file__).parents[3] / "mkosi.extra"
RULES = EXTRA / "usr/lib/udev/rules.d"


def statements() -> list[str]:
    text = (RULES / "61-kaltstart-guard.rules").read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_rule_and_engine_know_the_same_stick() -> None:
    found = re.findall(r'ENV\{ID_PART_TABLE_UUID\}=="([^"]*)"', "\n".join(statements()))
    assert found == [DISK_UUID]
    assert DISK_UUID.islower()  # as blkid writes it


def test_a_disk_is_set_read_only_when_added_and_when_its_medium_changes_only() -> None:
    setting = [line for line in statements() if "--setro" in line]
    assert [line.split(", RUN", maxsplit=1)[0] for line in setting] == [
        'ACTION=="add"',
        'ACTION=="change", ENV{DISK_MEDIA_CHANGE}=="1"',
    ]


def test_what_the_drive_itself_forbids_is_noted_where_it_is_looked_for() -> None:
    (link,) = re.findall(r'SYMLINK\+="([^"]*)"', "\n".join(statements()))
    assert Path("/dev", link) == WRITE_PROTECTED / "%k"


def test_it_is_noted_before_our_own_mark_is_set() -> None:
    order = [line for line in statements() if "attr{ro}" in line or "--setro" in line]
    assert "attr{ro}" in order[0]


def test_a_drive_that_udev_has_forgotten_does_not_pass_for_write_protected() -> None:
    """It is read-only by our mark: udev had no rules while the stick was pulled out."""
    lines = [line for line in statements() if 'KALTSTART_SEEN}!="1"' in line]
    assert [line.rpartition(", ")[2] for line in lines] == [
        'ENV{KALTSTART_WRITE_PROTECTED}="$attr{ro}"',
        'ENV{KALTSTART_WRITE_PROTECTED}="0"',
    ]
    # The kernel's own events, and those at the start, have none with a hyphen.
    assert 'ENV{SYNTH_UUID}=="*-*"' in lines[1]


def test_every_jump_has_its_label() -> None:
    text = "\n".join(statements())
    assert set(re.findall(r'GOTO="(\w+)"', text)) == set(re.findall(r'LABEL="(\w+)"', text))


def test_nothing_assembles_automatically() -> None:
    # systemd.unit(5) and udev(7): an empty file in /etc masks its namesake in /usr/lib.
    masked = {
        rule.name for rule in (EXTRA / "etc/udev/rules.d").iterdir() if not rule.stat().st_size
    }
    assert masked == {
        "64-md-raid-assembly.rules",
        "69-bcache.rules",
        "69-lvm.rules",
        "90-zfs.rules",
    }


def _appliance_words() -> list[str]:
    config = RawConfigParser(strict=False)
    config.optionxform = str  # type: ignore[assignment,method-assign]
    config.read_string((EXTRA.parent / "mkosi.conf").read_text())
    return config["Content"]["KernelCommandLine"].split()


def _measured_words() -> list[str]:
    return (EXTRA / "usr/share/kaltstart/measured.cmdline").read_text().split()


@pytest.mark.parametrize("words", [_appliance_words(), _measured_words()], ids=["stick", "drive"])
def test_nothing_is_mounted_swapped_to_or_resumed_from_automatically(words: list[str]) -> None:
    # noresume: firmware may hold the place of a hibernated system of this machine's own
    # (HibernateLocation). Trying to resume from it writes to the drive: swsusp_check() in
    # kernel/power/swap.c takes the image's signature away.
    wanted = {"systemd.gpt_auto=0", "rd.systemd.gpt_auto=0", "systemd.swap=0", "noresume"}
    assert wanted <= set(words)


def test_a_hibernated_systems_place_stays_in_the_firmware() -> None:
    # The unit would delete the variable, and that system would boot instead of resuming.
    mask = EXTRA / "etc/systemd/system/systemd-hibernate-clear.service"
    assert mask.read_bytes() == b""
