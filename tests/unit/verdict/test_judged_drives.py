# SPDX-License-Identifier: Apache-2.0
"""Verdicts from figures: what is kept, remarked and rejected, and what is never called good."""

from dataclasses import replace

import pytest

from appliance.store.tables.verdicts import LimitRow
from appliance.verdict.evidence import Bound, Doubt, Evidence, Figure
from appliance.verdict.judge import Judged, judge
from appliance.verdict.limits import LIMITS, show_figure, show_sizes
from appliance.verdict.policy_file import Policy, parse_policy

HEAD = "version = 1\n[all]\n"
# Takes away what is built in, so that a test says everything that it is about.
NOTHING = "".join(f"{name} = {{}}\n" for name in LIMITS)


def make_policy(limits: str) -> Policy:
    named = {line.partition(" ")[0] for line in limits.splitlines()}
    rest = "".join(line + "\n" for line in NOTHING.splitlines() if line.split(" ")[0] not in named)
    return parse_policy(HEAD + rest + limits)


def make_drive(number: int = 1, *, model: str = "Lab disk", **figures: float | Figure) -> Evidence:
    return Evidence(
        drive_id=number,
        name=f"S{number}",
        model=model,
        transport="sata",
        rotational=True,
        figures={
            name: value if isinstance(value, Figure) else Figure(value)
            for name, value in figures.items()
        },
        link="6.0 Gb/s",
        surface_unread="",
        health_unread="",
    )


def judge_one(limits: str, drive: Evidence) -> Judged:
    (judged,) = judge(make_policy(limits), [drive])
    return judged


def row_of(judged: Judged, name: str) -> LimitRow:
    (row,) = [row for row in judged.limits if row.name == name]
    return row


@pytest.mark.parametrize(
    ("value", "outcome", "verdict"),
    [
        (0, "kept", "accept"),
        (1, "remark", "accept with remarks"),
        (10, "remark", "accept with remarks"),
        (11, "reject", "reject"),
    ],
)
def test_more_than_the_most(value: float, outcome: str, verdict: str) -> None:
    judged = judge_one("crc_errors = { remark = 0, reject = 10 }\n", make_drive(crc_errors=value))
    row = row_of(judged, "crc_errors")
    assert (row.outcome, judged.verdict) == (outcome, verdict)
    assert (row.measured, row.allowed) == (str(value), "remark above 0, reject above 10")


@pytest.mark.parametrize(
    ("value", "outcome"), [(100, "kept"), (99.9, "remark"), (50, "remark"), (49.9, "reject")]
)
def test_less_than_the_least(value: float, outcome: str) -> None:
    judged = judge_one(
        "surface_mean_mb_s = { remark = 100, reject = 50 }\n", make_drive(surface_mean_mb_s=value)
    )
    assert row_of(judged, "surface_mean_mb_s").outcome == outcome


@pytest.mark.parametrize(
    ("unmeasured", "outcome", "verdict"),
    [
        ("", "not measured", "accept"),
        (', unmeasured = "remark"', "remark", "accept with remarks"),
        (', unmeasured = "reject"', "reject", "reject"),
    ],
)
def test_what_was_not_measured_is_never_kept(unmeasured: str, outcome: str, verdict: str) -> None:
    limits = (
        f"crc_errors = {{ reject = 0 }}\nsurface_unreadable_bytes = {{ reject = 0{unmeasured} }}\n"
    )
    drive = make_drive(crc_errors=0, surface_unreadable_bytes=Figure(None, "it is gone"))
    judged = judge_one(limits, drive)
    row = row_of(judged, "surface_unreadable_bytes")
    assert (row.outcome, row.measured, row.detail) == (outcome, "", "it is gone")
    assert judged.verdict == verdict


def test_a_drive_on_which_nothing_was_measured_gets_no_verdict() -> None:
    limits = (
        'self_assessment = { failed = "reject", unmeasured = "remark" }\n'
        "failed_steps = { reject = 0 }\nfailed_boots = { remark = 0 }\n"
        'given_up = { failed = "reject" }\n'
    )
    # That nothing failed says nothing about the drive.
    judged = judge_one(limits, make_drive(failed_steps=0, failed_boots=0, given_up=0))
    assert judged.verdict is None
    # That it was lost on the way does.
    assert judge_one(limits, make_drive(given_up=Figure(1, "gone"))).verdict == "reject"
    assert judge_one(limits, make_drive()).verdict is None


def test_a_check_is_passed_or_failed() -> None:
    limits = 'self_assessment = { failed = "reject" }\nself_test = { failed = "remark" }\n'
    judged = judge_one(limits, make_drive(self_assessment=0, self_test=1))
    assert row_of(judged, "self_assessment").measured == "passed"
    row = row_of(judged, "self_test")
    assert (row.outcome, row.measured, row.allowed) == ("remark", "failed", "remark if failed")


def test_a_counter_in_doubt_is_a_remark_and_never_judged() -> None:
    limits = (
        "crc_errors = { reject = 0 }\nnew_crc_errors = { reject = 0 }\n"
        'self_test = { failed = "reject" }\n'
    )
    drive = make_drive(crc_errors=255, new_crc_errors=9, self_test=0)
    doubt = Doubt("crc_errors", 255, "", "an emulated drive's fixed table")
    doubtful = replace(drive, doubts=(doubt,))
    judged = judge_one(limits, doubtful)
    assert judged.verdict == "accept with remarks"
    assert [row.name for row in judged.limits] == ["self_test", "crc_errors"]
    row = row_of(judged, "crc_errors")
    assert (row.outcome, row.measured) == ("remark", "255")
    assert row.detail == "an emulated drive's fixed table"
    # It was not asked for: no remark.
    assert judge_one('self_test = { failed = "reject" }\n', doubtful).verdict == "accept"


def test_what_is_not_the_drives_fault_is_a_remark_and_never_more() -> None:
    limits = (
        'given_up = { failed = "reject", unmeasured = "reject" }\nfailed_steps = { reject = 0 }\n'
        "crc_errors = { reject = 0 }\n"
    )
    drive = make_drive(
        crc_errors=0, given_up=Figure(None, excuse="not taken"),
        failed_steps=Figure(0, excuse="fio: too hot"),
    )  # fmt: skip
    judged = judge_one(limits, drive)
    assert judged.verdict == "accept with remarks"
    given_up, steps = row_of(judged, "given_up"), row_of(judged, "failed_steps")
    assert (given_up.outcome, given_up.measured) == ("remark", "")
    assert given_up.detail == "not shown to be its fault: not taken"
    assert (steps.outcome, steps.detail) == ("remark", "not shown to be its fault: fio: too hot")
    worse = make_drive(failed_steps=Figure(1, "fio: gone", excuse="fio: too hot"))
    steps = row_of(judge_one(limits, worse), "failed_steps")
    assert (steps.outcome, steps.detail) == (
        "reject", "fio: gone; not shown to be its fault: fio: too hot"
    )  # fmt: skip


def test_reasons_begin_with_what_rejects() -> None:
    judged = judge_one(
        "crc_errors = { remark = 0 }\nsurface_unreadable_bytes = { reject = 0 }\n",
        make_drive(crc_errors=2, surface_unreadable_bytes=Figure(4096, "100 % was read")),
    )
    assert judged.reasons == (
        "surface: unreadable: 4 KiB (100 % was read); CRC errors of the cable: 2"
    )
    assert row_of(judged, "surface_unreadable_bytes").measured == "4096 B", "for programs: exact"


def test_a_drive_of_no_class_is_said_so_and_held_against_what_all_share() -> None:
    drive = replace(
        make_drive(crc_errors=0, surface_mean_mb_s=1), transport="other", rotational=False
    )
    (judged,) = judge(parse_policy("version = 1\n[all]\ncrc_errors = { reject = 0 }\n"), [drive])
    assert judged.drive_class is None
    assert judged.verdict == "accept with remarks"
    assert row_of(judged, "class").outcome == "remark"
    assert row_of(judged, "crc_errors").outcome == "kept"
    # Only classes have a limit on it.
    assert "surface_mean_mb_s" not in {row.name for row in judged.limits}


def test_flash_memory_behind_sas_is_held_against_the_nearest_class_and_says_so() -> None:
    drive = replace(
        make_drive(crc_errors=0, surface_mean_mb_s=1), transport="sas", rotational=False
    )
    judged = judge_one("surface_mean_mb_s = { reject = 100 }\n", drive)
    assert (judged.drive_class, judged.verdict) == ("sata-ssd", "reject")
    row = row_of(judged, "class")
    assert (row.outcome, row.measured) == ("kept", "sata-ssd")
    assert "behind sas has no class of its own" in row.detail
    assert "class" not in judged.reasons  # it is no remark


def test_what_no_one_looked_at_is_a_remark_whatever_the_policy() -> None:
    limits = "crc_errors = { reject = 0 }\n"
    drive = make_drive(crc_errors=0)
    assert judge_one(limits, drive).verdict == "accept"
    unread = replace(drive, surface_unread="surface not read", health_unread="health not read")
    judged = judge_one(limits, unread)
    assert judged.verdict == "accept with remarks"
    assert judged.reasons == "evidence: surface not read, health not read"
    judged = judge_one(limits, replace(drive, surface_unread="50.0 % of the surface read"))
    assert judged.reasons == "evidence: 50.0 % of the surface read"


def test_what_a_limit_has_a_remark_on_is_not_said_twice() -> None:
    limits = "surface_unreadable_bytes = { reject = 0 }\n"
    sampled = Figure(0, "2.0 % of the drive was read", in_part="a sample of 100 places")
    drive = replace(
        make_drive(surface_unreadable_bytes=sampled), surface_unread="2.0 % of the surface read"
    )
    judged = judge_one(limits, drive)
    assert judged.verdict == "accept with remarks"
    assert [row.name for row in judged.limits] == ["surface_unreadable_bytes"]


def test_a_figure_that_is_set_aside_is_shown_and_held_against_nothing() -> None:
    limits = 'surface_mean_mb_s = { reject = 100, unmeasured = "reject" }\n'
    aside = Figure(9.0, set_aside="timed in a virtual machine")
    judged = judge_one(limits, make_drive(surface_mean_mb_s=aside))
    row = row_of(judged, "surface_mean_mb_s")
    assert (row.outcome, row.measured, row.detail) == (
        "not measured", "9 MB/s", "timed in a virtual machine",
    )  # fmt: skip
    assert judged.verdict is None, "nothing was held against a limit"
    aside = replace(aside, excuse="surface skipped by a person")
    judged = judge_one(limits, make_drive(surface_mean_mb_s=aside))
    assert row_of(judged, "surface_mean_mb_s").outcome == "remark"


@pytest.mark.parametrize(
    ("value", "outcome"), [(79, "kept"), (75, "kept"), (74, "remark"), (37, "reject")]
)
def test_no_limit_on_speed_is_stricter_than_its_bound(value: float, outcome: str) -> None:
    bound = Bound(75, 37.5, "half of the 150 MB/s that it carries")
    judged = judge_one(
        "surface_mean_mb_s = { remark = 200, reject = 100 }\n",
        make_drive(surface_mean_mb_s=Figure(value, bound=bound)),
    )
    row = row_of(judged, "surface_mean_mb_s")
    assert row.outcome == outcome
    assert row.allowed == "remark below 75 MB/s, reject below 37.5 MB/s"
    assert row.detail == (
        "held against 75 MB/s and 37.5 MB/s instead of 200 MB/s and 100 MB/s: "
        "half of the 150 MB/s that it carries"
    )


def test_a_limit_that_is_no_stricter_than_its_bound_stays_as_it_is() -> None:
    figure = Figure(60, bound=Bound(75, 37.5, "half of what it carries"))
    judged = judge_one(
        "surface_mean_mb_s = { remark = 70, reject = 30 }\n", make_drive(surface_mean_mb_s=figure)
    )
    row = row_of(judged, "surface_mean_mb_s")
    assert (row.outcome, row.allowed, row.detail) == (
        "remark", "remark below 70 MB/s, reject below 30 MB/s", "",
    )  # fmt: skip


def test_figures_read_as_people_write_them() -> None:
    assert show_figure(65536, "B") == "65536 B"
    assert show_figure(99.96, "%") == "99.96 %"
    assert show_figure(12.3456, "ms") == "12.346 ms"
    assert show_figure(3, "") == "3"


def test_sizes_in_a_limit_read_as_people_write_them() -> None:
    assert show_sizes("1290240 B") == "1.23 MiB (1290240 B)"
    assert show_sizes("512 B") == "512 B"
    assert show_sizes("remark above 0 B, reject above 10995116277760 B") == (
        "remark above 0 B, reject above 10 TiB"
    )
    assert show_sizes(show_figure(41200, "h")) == "41200 h"


def test_a_drive_that_hides_a_part_of_itself_is_never_simply_accepted() -> None:
    drive = make_drive(crc_errors=0)
    hiding = replace(drive, hidden_capacity="282 GB of its 2.0 TB are in no namespace")
    limits = "crc_errors = { remark = 0, reject = 10 }\n"
    assert judge_one(limits, drive).verdict == "accept"
    judged = judge_one(limits, hiding)
    assert judged.verdict == "accept with remarks"
    assert judged.reasons == "tested capacity: in part (282 GB of its 2.0 TB are in no namespace)"
