# SPDX-License-Identifier: Apache-2.0
"""Settled boots of two drives in words: the ratio with its interval, or why there is none."""

from dataclasses import replace

import pytest

from appliance.store.read.overview import BootRow
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.steps import press, settle, text_of
from tui.app import KaltstartApp
from tui.figures.side_ratios import describe_boot_ratios
from tui.model.campaigns import Campaign, CampaignDrive
from tui.port.boot_ratios import find_boot_ratios
from tui.results import page

DISK_S = (47.0, 46.9, 47.1, 47.0, 46.8, 47.2, 47.0, 46.9)
SSD_S = (23.5, 23.4, 23.6, 23.5, 23.4, 23.6, 23.5, 23.5)

TITLE = "Settled boots side by side, with the interval of their ratio"


def booted(identity: str, *boot_s: float, proof: str = "unproven") -> CampaignDrive:
    return CampaignDrive(
        campaign_id=1,
        drive_id=1,
        identity=identity,
        wwn="",
        name=identity,
        model="",
        role="target",
        rotational=True,
        released=True,
        failed_reason="",
        label="",
        paused="",
        planned=len(boot_s),
        done=len(boot_s),
        failed=0,
        skipped=0,
        open=0,
        next_position=None,
        boots=tuple(
            BootRow(
                campaign_id=1,
                drive_serial=identity,
                drive_wwn="",
                cycle=cycle,
                charted=False,
                power="cold",
                cold_proof=proof,
                cold_reason="",
                valid=True,
                boot_s=seconds,
                at="",
            )
            for cycle, seconds in enumerate(boot_s, 1)
        ),
    )


def describe(*drives: CampaignDrive) -> list[str]:
    ratios, unsettled = find_boot_ratios(drives)
    campaign = Campaign(
        id=1,
        name="",
        state="done",
        reason="",
        created_at="",
        finished_at="",
        planned=0,
        done=0,
        failed=0,
        skipped=0,
        is_pausing=False,
        is_wake_asked=False,
        drives=drives,
        report="",
        boot_ratios=ratios,
        unsettled=unsettled,
    )
    return describe_boot_ratios(campaign, 120)


def test_a_boot_that_trains_a_drive_is_in_no_figure() -> None:
    """Even where a time of it is stored."""
    drive = booted("LAB-HDD-1", *DISK_S)
    training = replace(drive.boots[0], trained=True, boot_s=99.0)
    assert replace(drive, boots=(training, *drive.boots[1:])).times_s == DISK_S[1:]


def cooled(drive: CampaignDrive, state: str) -> CampaignDrive:
    return replace(drive, boots=tuple(replace(boot, cooling=state) for boot in drive.boots))


def test_boots_that_are_not_cooled_alike_are_not_compared() -> None:
    disk, hybrid = booted("DISK", *DISK_S), booted("HYBRID", *SSD_S)
    _, alike = describe(cooled(disk, "proven"), cooled(hybrid, "proven"))[0].split("\n")
    assert "not compared" not in alike
    assert "cold, unproven, cooled" in alike
    told = describe(cooled(disk, "proven"), cooled(hybrid, "unproven"))[0]
    assert "not compared" in told
    assert "cold, unproven, cooling unproven against cold, unproven, cooled" in told


def test_the_fastest_drive_is_held_against_each_other_one() -> None:
    drives = (booted("DISK", *DISK_S), booted("SSD", *SSD_S))
    (text,) = describe(*drives)
    assert text.splitlines() == [
        TITLE,
        "  SSD against DISK: 2.00 times faster, 1.99 to 2.01 (n = 8 and 8; cold, unproven)",
    ]


def test_of_two_like_drives_is_told_what_cannot_be_seen() -> None:
    drives = (booted("A", *DISK_S), booted("B", *reversed(DISK_S)))
    (text,) = describe(*drives)
    assert "A against B: no difference larger than 0.3 % can be seen" in text


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (booted("X", *SSD_S[:3]), "not settled, so not compared: X"),
        # It learns: each boot is faster than the one before.
        (booted("X", *(60.0 - 5 * n for n in range(8))), "not settled, so not compared: X"),
        (
            booted("X", *SSD_S, proof="proven"),
            "X against DISK: not compared: cold, proven against cold, unproven",
        ),
    ],
)
def test_what_is_not_alike_is_not_compared(other: CampaignDrive, said: str) -> None:
    (text,) = describe(booted("DISK", *DISK_S), other)
    assert text.splitlines()[1:] == [f"  {said}"]


def test_nothing_is_said_of_one_drive_or_of_unsettled_ones() -> None:
    assert describe(booted("DISK", *DISK_S)) == []
    assert describe(booted("A", *DISK_S[:4]), booted("B", *SSD_S[:4])) == []


def test_boots_that_do_not_count_are_left_out() -> None:
    drive = booted("SSD", *SSD_S, 99.0, 99.0)
    (*counted, invalid, charted) = drive.boots
    left_out = (*counted, replace(invalid, valid=False), replace(charted, charted=True))
    disk = booted("DISK", *DISK_S)
    assert describe(replace(drive, boots=left_out), disk) == (describe(booted("SSD", *SSD_S), disk))


async def test_page_results_has_it_below_the_table(engine: FakeEngine) -> None:
    engine.add_campaign("both", cycles=8, boots={HDD: list(DISK_S), SSHD: list(SSD_S)})
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        text = text_of(pilot, "#results")
    assert f"  {SSHD.serial} against {HDD.serial}: 2.00 times faster, 1.99 to 2.01 (n = 8" in text


def test_the_cold_and_the_warm_boots_of_a_drive_are_two_series() -> None:
    times = (40.0, 20.0, 27.0, 20.1, 27.1, 20.0, 27.0, 20.1, 27.1, 20.0, 27.0, 20.1)
    mixed = booted("A", *times)
    mixed = replace(
        mixed,
        boots=tuple(
            replace(boot, power="cold" if boot.cycle % 2 else "warm") for boot in mixed.boots
        ),
    )
    cold, warm = mixed.by_power
    assert (cold.times_s, warm.times_s) == (times[::2], times[1::2])
    assert mixed.times_s == cold.times_s
    told = describe(mixed)[0]
    assert "A, warm against A, cold: not compared" in told
    assert booted("B", 20.0, 20.1).by_power[0].booted == "B"


def test_an_untimed_boot_is_not_counted_and_a_charted_one_is_always_marked() -> None:
    drive = booted("A", 20.0, 21.0, 22.0)
    first, second, third = drive.boots
    trained = replace(first, trained=True, boot_s=None)
    charted = replace(third, charted=True, kernel_errors="an error")
    drive = replace(drive, boots=(trained, second, charted))
    assert page._sum_up(drive)[3:] == ("2", "0")
    drawn = page._describe_boots(drive, 22.0, 80)
    assert "CHARTED KERNEL ERRORS" in drawn
