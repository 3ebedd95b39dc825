# SPDX-License-Identifier: Apache-2.0
"""The drives of the sample report and of the pictures are no quicker than a tenth of real ones."""

import pytest

from tests.lab.drives import ModelledDrive, parse_drives
from tests.lab.sample import DRIVES
from tests.lab.screens import DRIVES as PICTURED
from tests.lab.timing import Clockwork

_MIB = 1 << 20


def _read_rates(drive: ModelledDrive) -> tuple[float, float]:
    """MB/s of sixteen reads in a row at each end of the drive, of what no flash holds."""
    clock = Clockwork(
        size_bytes=drive.size_bytes,
        curve=None if drive.model == "ssd" else drive.curve,
        flash_bytes=drive.nand_bytes if drive.model == "sshd" else None,
        timing=drive.timing,
    )
    clock.power_on()
    rates = []
    for begin in (0, drive.size_bytes - 17 * _MIB):
        clock.read(begin, _MIB)
        took_s = sum(clock.read(begin + n * _MIB, _MIB).seconds for n in range(1, 17))
        rates.append(16 * _MIB / took_s / 1e6)
    return rates[0], rates[1]


@pytest.mark.parametrize(
    "drive", [*parse_drives(DRIVES), *PICTURED], ids=lambda drive: f"{drive.serial}-{drive.model}"
)
def test_each_transfers_a_tenth_of_what_such_drives_do(drive: ModelledDrive) -> None:
    outer, inner = _read_rates(drive)
    if drive.model == "ssd":
        assert (outer, inner) == pytest.approx((50.0, 50.0))
    else:
        assert outer == pytest.approx(18.0, rel=0.05)
        assert inner == pytest.approx(9.0, rel=0.15)
