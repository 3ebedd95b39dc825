# SPDX-License-Identifier: Apache-2.0
"""Whose an array is."""

from uuid import UUID

import pytest

from appliance.arrays.model import array_set_uuid, slot_of_set
from appliance.reference_os.install import SLOTS


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
