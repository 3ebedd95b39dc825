"""Whose an array is, as Python and the initrd's shell script know it."""

import re
from pathlib import Path
from uuid import UUID

import pytest

from appliance.arrays.set_uuid import array_set_uuid, slot_of_set
from appliance.workloads.reference_os import SLOTS

_REPO = Path(__file__).parents[3]
_SCRIPT = (_REPO / "mkosi.images/initrd/mkosi.extra/usr/lib/kaltstart/register-array").read_text()


@pytest.mark.parametrize("slot", range(1, SLOTS + 1))
def test_a_set_says_its_slot_and_is_a_uuid_of_its_own(slot: int) -> None:
    made = array_set_uuid(slot)
    assert slot_of_set(made) == slot
    assert slot_of_set(made.upper()) == slot
    assert str(UUID(made)) == made
    assert UUID(made).version == 4
    assert array_set_uuid(slot) != made


@pytest.mark.parametrize(
    "foreign",
    [
        "",
        "0f3a8c52-6d1e-4b7a-9c40-5e2d7f81a6b3",
        "6b616c74-0003-4001-8",
        "x6b616c74-0003-4001-8f04-0ff8d2b0786a",
        "6b616c74-0001",
    ],
)
def test_another_set_has_no_slot(foreign: str) -> None:
    assert slot_of_set(foreign) is None


def test_the_initrd_knows_a_set_by_the_same_digits() -> None:
    """The superblock's bytes up to the set's UUID, as two digits each."""
    ((before, magic, between, ours),) = re.findall(
        r"^  (\?+)([0-9a-f]{32})(\?+)\"\$\(printf '(.*)%03d' \"\$slot\"\)\"\*\) ;;$",
        _SCRIPT,
        re.MULTILINE,
    )
    # csum, offset and version of 8 bytes each; uuid of 16: struct cache_sb_disk.
    assert (len(before), len(between)) == (2 * 24, 2 * 16)
    assert magic == "c68573f64e1a45ca8265f57f48ba6d81"
    assert array_set_uuid(12).replace("-", "").startswith(f"{ours}012")
