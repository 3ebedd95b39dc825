"""The udev rules that keep drives read-only, as far as they can be checked without udev."""

import re
from pathlib import Path

from appliance.stick import DISK_UUID

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


def test_every_jump_has_its_label() -> None:
    text = "\n".join(statements())
    assert set(re.findall(r'GOTO="(\w+)"', text)) == set(re.findall(r'LABEL="(\w+)"', text))


def test_nothing_assembles_by_itself() -> None:
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
