# SPDX-License-Identifier: Apache-2.0
"""systemd's own times, from the lines of `systemctl show`."""

from dataclasses import astuple

import pytest

from appliance.samples.startup import PROPERTIES, parse_startup

# systemd 257.6 on a PC with UEFI; systemd-analyze calls it
# 10.231s (firmware) + 7.539s (loader) + 5.422s (kernel) + 13.168s (userspace).
UEFI = """\
FirmwareTimestampMonotonic=17770382
LoaderTimestampMonotonic=7539019
InitRDTimestampMonotonic=0
UserspaceTimestampMonotonic=5422672
FinishTimestampMonotonic=18590863
"""
BIOS = """\
FirmwareTimestampMonotonic=0
LoaderTimestampMonotonic=0
InitRDTimestampMonotonic=2104551
UserspaceTimestampMonotonic=7911204
FinishTimestampMonotonic=26480117
"""


def test_firmware_and_loader_count_back_from_the_kernels_start() -> None:
    startup = parse_startup(UEFI)
    assert startup is not None
    assert astuple(startup) == pytest.approx(
        (10.231363, 7.539019, 5.422672, None, 13.168191, 18.590863)
    )


def test_what_bios_does_not_tell_is_not_zero() -> None:
    startup = parse_startup(BIOS)
    assert startup is not None
    assert (startup.firmware_s, startup.loader_s) == (None, None)
    assert (startup.kernel_s, startup.finish_s) == (2.104551, 26.480117)
    assert startup.initrd_s == pytest.approx(5.806653)
    assert startup.userspace_s == pytest.approx(18.568913)


@pytest.mark.parametrize("loader", ["17770382", "17770383", "18446744073701912234"])
def test_times_of_firmware_that_cannot_be_are_unknown(loader: str) -> None:
    """ACPI's table without the loader's start gives it the whole, and one behind its end wraps."""
    startup = parse_startup(UEFI.replace("7539019", loader))
    assert startup is not None
    assert (startup.firmware_s, startup.loader_s, startup.kernel_s) == (None, None, 5.422672)


@pytest.mark.parametrize("lines", [UEFI, BIOS])
def test_the_parts_add_up(lines: str) -> None:
    startup = parse_startup(lines)
    assert startup is not None
    parts = (startup.kernel_s, startup.initrd_s, startup.userspace_s)
    assert sum(part or 0 for part in parts) == pytest.approx(startup.finish_s)


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_lines_does_not_matter(order: int) -> None:
    assert parse_startup("\n".join(UEFI.splitlines()[::order])) == parse_startup(UEFI)


@pytest.mark.parametrize("finish", ["0", "", "[not set]", "18446744073709551615x"])
def test_a_start_up_that_goes_on_has_no_times(finish: str) -> None:
    assert parse_startup(UEFI.replace("18590863", finish)) is None


def test_a_system_that_tells_no_parts_has_none() -> None:
    startup = parse_startup("FinishTimestampMonotonic=20500000")
    assert startup is not None
    assert (startup.kernel_s, startup.initrd_s, startup.userspace_s) == (None, None, None)
    assert startup.finish_s == 20.5


def test_no_answer_is_no_time() -> None:
    assert parse_startup("") is None


def test_all_properties_are_asked_for() -> None:
    assert [line.partition("=")[0] for line in UEFI.splitlines()] == list(PROPERTIES)
