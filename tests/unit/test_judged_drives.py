"""Verdicts from figures: what is kept, remarked and rejected, and what is never called good."""

from dataclasses import replace

import pytest

from appliance.policy import Policy, parse_policy
from appliance.policy_limits import LIMITS, show_figure
from appliance.store.verdicts import LimitRow
from appliance.verdict import Doubt, Evidence, Figure, Judged, judge

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
        identity=f"S{number}",
        model=model,
        transport="sata",
        rotational=True,
        figures={
            name: value if isinstance(value, Figure) else Figure(value)
            for name, value in figures.items()
        },
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
    doubtful = Evidence(
        drive.drive_id, drive.identity, drive.model, "sata", True, drive.figures, doubts=(doubt,)
    )
    judged = judge_one(limits, doubtful)
    assert judged.verdict == "accept with remarks"
    assert [row.name for row in judged.limits] == ["self_test", "crc_errors"]
    row = row_of(judged, "crc_errors")
    assert (row.outcome, row.measured) == ("remark", "255")
    assert row.detail == "an emulated drive's fixed table"
    # Nobody asked for it: no remark.
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
        "surface: unreadable: 4096 B (100 % was read); CRC errors of the cable: 2"
    )


def test_a_drive_of_no_class_is_said_so_and_held_against_what_all_share() -> None:
    drive = Evidence(
        1, "S1", "card", "other", False, {"crc_errors": Figure(0), "surface_mean_mb_s": Figure(1)}
    )
    (judged,) = judge(parse_policy("version = 1\n[all]\ncrc_errors = { reject = 0 }\n"), [drive])
    assert judged.drive_class is None
    assert judged.verdict == "accept with remarks"
    assert row_of(judged, "class").outcome == "remark"
    assert row_of(judged, "crc_errors").outcome == "kept"
    # Only classes have a limit on it.
    assert "surface_mean_mb_s" not in {row.name for row in judged.limits}


def test_flash_memory_behind_sas_is_held_against_the_nearest_class_and_says_so() -> None:
    figures = {"surface_mean_mb_s": Figure(1), "crc_errors": Figure(0)}
    (judged,) = judge(
        make_policy("surface_mean_mb_s = { reject = 100 }\n"),
        [Evidence(1, "S1", "PX05SMB040", "sas", False, figures)],
    )
    assert (judged.drive_class, judged.verdict) == ("sata-ssd", "reject")
    row = row_of(judged, "class")
    assert (row.outcome, row.measured) == ("kept", "sata-ssd")
    assert "behind sas has no class of its own" in row.detail
    assert "class" not in judged.reasons  # it is no remark


COMPARED = "worse_than_model_percent = { remark = 15 }\nsurface_mean_mb_s = { reject = 1 }\n"


def compare(*drives: Evidence) -> list[LimitRow]:
    judged = judge(make_policy(COMPARED), drives)
    return [row_of(each, "worse_than_model_percent") for each in judged]


def test_of_two_drives_of_a_model_the_slower_one_is_named() -> None:
    fast, slow = compare(
        make_drive(1, surface_mean_mb_s=200.0), make_drive(2, surface_mean_mb_s=150.0)
    )
    assert (fast.outcome, fast.measured) == ("kept", "0 %")
    assert "no slower than S2" in fast.detail
    assert (slow.outcome, slow.measured) == ("remark", "25 %")
    assert slow.detail == (
        "surface: mean speed: 150 MB/s, slower than S1 of its model with 200 MB/s"
    )


def test_of_three_the_median_is_the_measure() -> None:
    rows = compare(
        *(make_drive(n, surface_mean_mb_s=v) for n, v in ((1, 200.0), (2, 190.0), (3, 90.0)))
    )
    assert [row.outcome for row in rows] == ["kept", "kept", "remark"]
    assert "the median of 3 of its model is 190 MB/s" in rows[2].detail
    assert rows[2].measured == "52.6 %"


def test_a_boot_is_worse_where_it_takes_longer() -> None:
    _, slow = compare(make_drive(1, boot_median_s=20.0), make_drive(2, boot_median_s=25.0))
    assert (slow.outcome, slow.measured) == ("remark", "25 %")


def test_only_what_the_same_steps_measured_is_compared() -> None:
    mine = Figure(200.0, origin=frozenset({0}))
    other = Figure(20.0, origin=frozenset({1}))
    for row in compare(
        make_drive(1, surface_mean_mb_s=mine), make_drive(2, surface_mean_mb_s=other)
    ):
        assert row.outcome == "not measured"


@pytest.mark.parametrize("models", [("A", "B"), ("", "")])
def test_drives_of_other_models_or_of_none_are_not_compared(models: tuple[str, str]) -> None:
    rows = compare(
        *(make_drive(n, model=each, surface_mean_mb_s=9.0 * n) for n, each in enumerate(models, 1))
    )
    assert [row.outcome for row in rows] == ["not measured"] * 2


def test_figures_read_as_people_write_them() -> None:
    assert show_figure(65536, "B") == "65536 B"
    assert show_figure(99.96, "%") == "99.96 %"
    assert show_figure(12.3456, "ms") == "12.346 ms"
    assert show_figure(3, "") == "3"


def test_a_drive_that_hides_a_part_of_itself_is_never_simply_accepted() -> None:
    drive = make_drive(crc_errors=0)
    hiding = replace(drive, hidden_capacity="282 GB of its 2.0 TB are in no namespace")
    limits = "crc_errors = { remark = 0, reject = 10 }\n"
    assert judge_one(limits, drive).verdict == "accept"
    judged = judge_one(limits, hiding)
    assert judged.verdict == "accept with remarks"
    assert judged.reasons == "tested capacity: in part (282 GB of its 2.0 TB are in no namespace)"
