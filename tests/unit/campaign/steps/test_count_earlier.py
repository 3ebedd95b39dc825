# SPDX-License-Identifier: Apache-2.0
"""What was at work on a drive or on the array before a step."""

import pytest

from appliance.campaign.steps.attempt import count_earlier
from appliance.store.tables.steps import StepRow

_DISK, _FLASH, _OTHER, _ARRAY = 1, 2, 3, None
_MEMBERS = frozenset({_DISK, _FLASH})


def _steps(*drive_ids: int | None, idle: int = -1) -> tuple[StepRow, ...]:
    return tuple(
        StepRow(
            id=position,
            campaign_id=1,
            position=position,
            kind="fio",
            drive_id=drive_id,
            device="",
            state="done",
            reason="",
            attempts=int(position != idle),
            workload_index=0,
        )
        for position, drive_id in enumerate(drive_ids)
    )


@pytest.mark.parametrize(
    ("drive_ids", "count"),
    [
        ((_OTHER,), 0),
        ((_OTHER, _DISK, _OTHER), 1),
        ((_DISK, _FLASH, _ARRAY), 0),
        ((_ARRAY, _ARRAY, _ARRAY), 2),
        ((_ARRAY, _OTHER, _ARRAY), 1),
        ((_ARRAY, _DISK, _ARRAY), 0),
        ((_ARRAY, _ARRAY, _DISK), 2),
        ((_ARRAY, _OTHER), 0),
    ],
)
def test_steps_on_the_array_are_steps_on_its_drives(
    drive_ids: tuple[int | None, ...], count: int
) -> None:
    steps = _steps(*drive_ids)
    assert count_earlier(steps, steps[-1], members=_MEMBERS) == count


def test_a_step_that_never_began_does_not_count() -> None:
    steps = _steps(_OTHER, _OTHER, idle=0)
    assert count_earlier(steps, steps[1], members=_MEMBERS) == 0
