# SPDX-License-Identifier: Apache-2.0
"""Figures for the verdict from a campaign's rows: what was stored by the store's functions."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.samples.model import CacheState, LbaRange, Result
from appliance.store.tables.campaigns import update_drive_failed
from appliance.store.tables.steps import insert_ranges
from appliance.verdict.evidence import Figure
from appliance.verdict.gather import gather_evidence
from appliance.verdict.judge import judge
from appliance.verdict.policy_file import parse_policy
from tests.databases import seal
from tests.report.judged import (
    BAD,
    BYPASS,
    GOOD,
    SLOW,
    add_health,
    add_surface,
    drive_id,
    figures_of,
    make_rows,
    read_smart,
    with_counts,
)
from tests.report.workloads import add_results, add_step, end_step

UNPROVEN = CacheState("cold", "unproven", "12 pages stayed")
WARM = CacheState("warm", "proven", "all pages resident before")


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(make_rows(tmp_path)) as connection:
        yield connection


def value_of(figures: dict[str, Figure], name: str) -> float | None:
    return figures.get(name, Figure(None)).value


def test_health_and_what_it_rose_by(rows: sqlite3.Connection) -> None:
    health = read_smart("ata-412")
    add_health(
        rows, "LAB-GOOD-1",
        with_counts(health, reallocated_sectors=3), with_counts(health, reallocated_sectors=5),
    )  # fmt: skip
    add_health(rows, "LAB-SLOW-1", replace(health, passed=False))
    good, slow, bad = (figures_of(rows, each) for each in ("LAB-GOOD-1", "LAB-SLOW-1", "LAB-BAD-1"))
    assert good["reallocated_sectors"].value == 5
    assert good["new_reallocated_sectors"] == Figure(2, "3 before, 5 after the campaign")
    assert good["self_assessment"].value == 0
    assert slow["self_assessment"].value == 1
    assert slow["new_reallocated_sectors"].value is None
    assert bad["self_assessment"] == Figure(None, "its health was not read")


def test_a_count_that_fell_is_in_doubt(rows: sqlite3.Connection) -> None:
    health = read_smart("ata-412")
    add_health(
        rows, "LAB-GOOD-1", with_counts(health, crc_errors=9), with_counts(health, crc_errors=2)
    )
    evidence = gather_evidence(rows, 1)[0]
    assert [(each.counter, each.value) for each in evidence.doubts] == [("crc_errors", 2)]


def test_a_drive_with_a_hybrid_log_calls_itself_a_hybrid(rows: sqlite3.Connection) -> None:
    add_health(rows, "LAB-GOOD-1", read_smart("ata-412"))
    add_health(rows, "LAB-SLOW-1", read_smart("ata-412"))
    said = {"smartctl": {}, "ata_log_directory": {"table": [{"address": 0x14, "gp_sectors": 1}]}}
    rows.execute(
        "UPDATE health_reading SET checksum = NULL, raw = ? WHERE drive_id = ?",
        (json.dumps(said), drive_id(rows, "LAB-SLOW-1")),
    )
    assert [each.hybrid for each in gather_evidence(rows, 1)] == [False, True, False]


def test_a_scan_that_was_cut_short_says_nothing_good(rows: sqlite3.Connection) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180)
    add_surface(rows, SLOW, position=1, mean_mb_s=180, slices=50, reason="too hot")
    add_surface(rows, BAD, position=2, mean_mb_s=90, slices=4, unreadable_bytes=512, reason="gone")
    good, slow, bad = (figures_of(rows, each) for each in ("LAB-GOOD-1", "LAB-SLOW-1", "LAB-BAD-1"))
    assert good["surface_unreadable_bytes"].value == 0
    assert good["surface_unreadable_bytes"].detail == "100 % of the drive was read"
    assert good["surface_mean_mb_s"].value == 180
    assert good["surface_slowest_slice_percent"].value == 70
    assert slow["surface_unreadable_bytes"].value is None
    assert "too hot; 50.0 % of the drive was read" in slow["surface_unreadable_bytes"].detail
    assert slow["failed_steps"] == Figure(1, "surface: too hot")
    assert "surface_slowest_slice_percent" not in slow
    # What was found counts.
    assert bad["surface_unreadable_bytes"].value == 512


def test_what_was_found_before_a_scan_was_skipped_rejects_its_drive(
    rows: sqlite3.Connection,
) -> None:
    """In a slice that was not read to its end: it has ranges, and no row of its own."""
    step = add_surface(rows, GOOD, position=0, mean_mb_s=180, slices=2, reason="x")
    bad = LbaRange("unreadable", GOOD.size_bytes // 40, 8192, 3.0, "Input/output error")
    insert_ranges(rows, step, "002", [bad])
    end_step(rows, step, "skipped", "by a person", "none")
    figure = figures_of(rows, "LAB-GOOD-1")["surface_unreadable_bytes"]
    assert figure.value == 8192
    assert figure.detail.startswith("the scan did not finish: skipped by a person; 2.0 %")
    judged = judge(parse_policy("version = 1\n"), gather_evidence(rows, 1))[0]
    assert judged.verdict == "reject"


def test_what_several_slices_have_found_is_added_up(rows: sqlite3.Connection) -> None:
    step = add_surface(rows, GOOD, position=0, mean_mb_s=180, slices=2, reason="x")
    bad = LbaRange("unreadable", GOOD.size_bytes // 40, 8192, 3.0, "Input/output error")
    for name in ("002", "003"):
        insert_ranges(rows, step, name, [bad])
    assert figures_of(rows, "LAB-GOOD-1")["surface_unreadable_bytes"].value == 16384


def test_a_sample_says_how_much_it_is(rows: sqlite3.Connection) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180, share=0.1)
    unreadable = figures_of(rows, "LAB-GOOD-1")["surface_unreadable_bytes"]
    assert (unreadable.value, unreadable.detail) == (0, "10.0 % of the drive was read")
    assert unreadable.in_part.startswith("a sample of ")
    assert "meets a bad one" in unreadable.in_part


def test_a_sample_that_found_something_does_not_say_what_it_may_have_missed(
    rows: sqlite3.Connection,
) -> None:
    step = add_surface(rows, GOOD, position=0, mean_mb_s=180, share=0.1)
    bad = LbaRange("unreadable", GOOD.size_bytes // 40, 8192, 3.0, "Input/output error")
    insert_ranges(rows, step, "002", [bad])
    unreadable = figures_of(rows, "LAB-GOOD-1")["surface_unreadable_bytes"]
    assert unreadable.value == 8192
    assert re.fullmatch(r"a sample of \d+ places", unreadable.in_part)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_drive_of_which_only_its_own_word_is_known_is_not_simply_accepted(
    rows: sqlite3.Connection, share: float
) -> None:
    rows.execute("UPDATE cycle SET state = 'done'")
    health = read_smart("ata-412")
    add_health(rows, "LAB-GOOD-1", health, health)
    policy = parse_policy("version = 1\n[all]\nsurface_unreadable_bytes = { reject = 0 }\n")
    (judged, *_) = judge(policy, gather_evidence(rows, 1))
    assert judged.verdict == "accept with remarks"
    assert judged.reasons == "evidence: surface not read"
    end_step(rows, add_step(rows, "fio", "LAB-GOOD-1", position=0), "done")
    (judged, *_) = judge(policy, gather_evidence(rows, 1))
    assert judged.reasons == "evidence: surface not read"
    slices = round(100 * share)
    add_surface(rows, GOOD, position=1, mean_mb_s=180, slices=slices)
    (judged, *_) = judge(policy, gather_evidence(rows, 1))
    assert judged.reasons == ("" if share == 1.0 else "evidence: 50.0 % of the surface read")


def test_a_drive_whose_health_no_one_read_is_not_simply_accepted(rows: sqlite3.Connection) -> None:
    rows.execute("UPDATE cycle SET state = 'done'")
    add_surface(rows, GOOD, position=1, mean_mb_s=180)
    policy = parse_policy("version = 1\n[all]\nself_assessment = {}\n")
    (judged, *_) = judge(policy, gather_evidence(rows, 1))
    assert (judged.verdict, judged.reasons) == (
        "accept with remarks",
        "evidence: health not read",
    )


def test_a_sample_is_a_remark_until_the_whole_drive_was_read(rows: sqlite3.Connection) -> None:
    policy = parse_policy("version = 1\n")
    add_surface(rows, GOOD, position=0, mean_mb_s=180, share=0.02)
    add_health(rows, "LAB-GOOD-1", read_smart("ata-412"), read_smart("ata-412"))
    (sampled, *_) = judge(policy, gather_evidence(rows, 1))
    assert sampled.evidence.surface_unread == "2.0 % of the surface read"
    limits = {row.name: row for row in sampled.limits}
    assert limits["surface_unreadable_bytes"].outcome == "remark"
    assert "with 95 % probability" in limits["surface_unreadable_bytes"].detail
    assert sampled.verdict == "accept with remarks"
    assert "evidence" not in limits, "its remark is there already"
    add_surface(rows, GOOD, position=9, mean_mb_s=180)
    (whole, *_) = judge(policy, gather_evidence(rows, 1))
    limits = {row.name: row for row in whole.limits}
    assert limits["surface_unreadable_bytes"].outcome == "kept"
    assert whole.evidence.surface_unread == ""


def test_the_rates_of_a_sample_are_compared_and_held_against_no_limit(
    rows: sqlite3.Connection,
) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=50, share=0.1)
    add_surface(rows, SLOW, position=1, mean_mb_s=25, share=0.1)
    evidence = gather_evidence(rows, 1)
    for name in ("surface_mean_mb_s", "surface_lat_p99_ms", "surface_slowest_slice_percent"):
        figure = evidence[0].figures[name]
        assert figure.set_aside == "a sample's rates include the seeks between its places"
    assert evidence[0].figures["surface_mean_mb_s"].value == 50
    (_, slow, _) = judge(parse_policy("version = 1\n"), evidence)
    limits = {row.name: row for row in slow.limits}
    assert limits["surface_mean_mb_s"].outcome == "not measured"  # beyond, were it a whole scan
    assert (
        limits["worse_than_model_percent"].outcome,
        limits["worse_than_model_percent"].measured,
    ) == ("remark", "50 %")


@pytest.mark.parametrize("besides", [(11, 11), (11, 10)])
def test_rates_beside_other_drives_are_compared_with_neighbours_alone(
    rows: sqlite3.Connection, besides: tuple[int, int]
) -> None:
    steps = [
        add_surface(rows, GOOD, position=0, mean_mb_s=50, unreadable_bytes=4096),
        add_surface(rows, SLOW, position=1, mean_mb_s=25),
    ]
    for step, beside in zip(steps, besides, strict=True):
        rows.execute(
            "UPDATE result SET beside = ?, checksum = NULL WHERE step_id = ?", (beside, step)
        )
    seal(rows, "result")
    good, slow, _ = gather_evidence(rows, 1)
    for name in ("surface_mean_mb_s", "surface_lat_p99_ms", "surface_slowest_slice_percent"):
        assert good.figures[name].set_aside == "11 other drives were being tested meanwhile"
    assert good.figures["surface_unreadable_bytes"].is_held
    (_, judged, _) = judge(parse_policy("version = 1\n"), (good, slow, _))
    limits = {row.name: row for row in judged.limits}
    assert limits["surface_mean_mb_s"].outcome == "not measured"
    compared = limits["worse_than_model_percent"].outcome
    assert compared == ("remark" if besides[0] == besides[1] else "not measured")


@pytest.mark.parametrize(("accompanied", "outcome"), [(5, "not measured"), (95, "remark")])
def test_a_drive_that_was_alone_for_most_of_its_scan_is_no_measure_for_one_that_was_not(
    rows: sqlite3.Connection, accompanied: int, outcome: str
) -> None:
    """The sum of both has the highest number of its slices."""
    for disk, position, mean_mb_s, beside_to in ((GOOD, 0, 50, accompanied), (SLOW, 1, 25, 100)):
        step = add_surface(rows, disk, position=position, mean_mb_s=mean_mb_s)
        for number in range(100):
            add_results(rows, step, [Result(f"{number:03}", "app_read_bytes", 1e9, BYPASS)])
        rows.execute(
            "UPDATE result SET beside = variant = 'whole' OR variant < ?, checksum = NULL"
            " WHERE step_id = ?",
            (f"{beside_to:03}", step),
        )
    seal(rows, "result")
    _, judged, _ = judge(parse_policy("version = 1\n"), gather_evidence(rows, 1))
    limits = {row.name: row.outcome for row in judged.limits}
    assert limits["worse_than_model_percent"] == outcome


def test_a_scan_that_ended_early_is_not_a_whole_one(rows: sqlite3.Connection) -> None:
    """It is done, with what it read added up: the rest was never looked at."""
    add_surface(rows, GOOD, position=0, mean_mb_s=180, slices=7)
    unreadable = figures_of(rows, "LAB-GOOD-1")["surface_unreadable_bytes"]
    assert unreadable.value is None
    assert "it was abandoned; 7.0 % of the drive was read" in unreadable.detail


def test_a_figure_of_the_ram_is_none_of_the_drive(rows: sqlite3.Connection) -> None:
    for position, cache in enumerate((WARM, UNPROVEN)):
        step = add_step(rows, "fio", "LAB-GOOD-1", position=position, index=position)
        add_results(rows, step, [Result("seq-read", "bw_bytes_s", 4e9, cache)])
        end_step(rows, step, "done")
    figures = figures_of(rows, "LAB-GOOD-1")
    assert figures["fio_seq_read_mb_s"].value is None
    assert "warm page cache only" in figures["fio_seq_read_mb_s"].detail
    step = add_step(rows, "fio", "LAB-GOOD-1", position=2, index=2)
    add_results(
        rows, step,
        [
            Result("seq-read", "bw_bytes_s", 1.5e8, BYPASS),
            Result("rand-read", "lat_p99_ns", 2e7, BYPASS),
            Result("rand-write", "iops", 70, BYPASS, valid=False),
        ],
    )  # fmt: skip
    end_step(rows, step, "done")
    figures = figures_of(rows, "LAB-GOOD-1")
    assert figures["fio_seq_read_mb_s"].value == 150
    assert figures["fio_rand_read_lat_p99_ms"].value == 20
    assert figures["fio_rand_write_iops"].value is None


def test_the_latency_of_a_buffered_write_is_none_of_the_drive(rows: sqlite3.Connection) -> None:
    cold = replace(BYPASS, page_cache="cold")
    step = add_step(rows, "fio", "LAB-GOOD-1", position=0)
    found = [
        Result("rand-write", "iops", 70, cold),
        Result("rand-read", "lat_p99_ns", 2e7, cold),
    ]
    add_results(rows, step, found)
    end_step(rows, step, "done")
    figures = figures_of(rows, "LAB-GOOD-1")
    assert figures["fio_rand_write_lat_p99_ms"].value is None
    assert "RAM took the writes" in figures["fio_rand_write_lat_p99_ms"].detail
    assert figures["fio_rand_write_iops"].value == 70
    assert figures["fio_rand_read_lat_p99_ms"].value == 20


def test_a_drive_without_a_self_test_did_not_fail_one(rows: sqlite3.Connection) -> None:
    step = add_step(rows, "selftest", "LAB-GOOD-1", position=0)
    end_step(rows, step, "failed", "the drive has no self-test", "none")
    step = add_step(rows, "selftest", "LAB-BAD-1", position=1)
    add_results(rows, step, [Result("short", "selftest_passed", 0, BYPASS)])
    end_step(rows, step, "done")
    good, bad = figures_of(rows, "LAB-GOOD-1"), figures_of(rows, "LAB-BAD-1")
    assert good["self_test"].value is None
    assert good["self_test"].detail == "the drive has no self-test"
    assert value_of(good, "failed_steps") is None
    assert bad["self_test"].value == 1


def test_a_drive_that_vanishes_in_its_self_test_failed_a_step(rows: sqlite3.Connection) -> None:
    step = add_step(rows, "selftest", "LAB-GOOD-1", position=0)
    end_step(rows, step, "failed", "no answer within 60 s")
    failed = figures_of(rows, "LAB-GOOD-1")["failed_steps"]
    assert failed == Figure(1, "selftest: no answer within 60 s")


def test_a_step_that_failed_without_the_drives_fault_is_a_remark(rows: sqlite3.Connection) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180)
    step = add_step(rows, "lottery", "LAB-GOOD-1", position=1)
    end_step(rows, step, "failed", "the ballast stopped", "other")
    failed = figures_of(rows, "LAB-GOOD-1")["failed_steps"]
    assert failed == Figure(0, excuse="lottery: the ballast stopped")
    rows.execute("UPDATE cycle SET blame = 'other', reason = 'not taken' WHERE state = 'failed'")
    assert figures_of(rows, "LAB-GOOD-1")["failed_boots"] == Figure(
        0, "of 6", excuse="1 more, not taken"
    )
    # With one of its own beside it.
    step = add_step(rows, "fio", "LAB-GOOD-1", position=2)
    end_step(rows, step, "failed", "it disappeared")
    failed = figures_of(rows, "LAB-GOOD-1")["failed_steps"]
    assert failed == Figure(1, "fio: it disappeared", excuse="lottery: the ballast stopped")


_SKIPPED_PLAN = """\
version = 1
[[drive]]
serial = "LAB-GOOD-1"
[[workload]]
kind = "fio"
tests = ["seq-read", "rand-read"]
[[workload]]
kind = "surface"
"""
_STRICT = """\
version = 1
[all]
failed_steps = { reject = 0 }
surface_mean_mb_s = { reject = 100, unmeasured = "remark" }
fio_seq_read_mb_s = { reject = 100, unmeasured = "reject" }
fio_rand_read_iops = { reject = 100 }
"""


def test_what_a_person_skipped_is_not_measured_and_a_remark(rows: sqlite3.Connection) -> None:
    rows.execute("UPDATE campaign SET plan_toml = ?", (_SKIPPED_PLAN,))
    step = add_step(rows, "fio", "LAB-GOOD-1", position=0)
    add_results(rows, step, [Result("seq-read", "bw_bytes_s", 200e6, BYPASS)])
    end_step(rows, step, "skipped", "by a person", "none")
    step = add_step(rows, "surface", "LAB-GOOD-1", position=1, index=1)
    end_step(rows, step, "skipped", "by a person", "none")
    good = figures_of(rows, "LAB-GOOD-1")
    assert good["fio_seq_read_mb_s"].value == 200
    assert good["fio_seq_read_mb_s"].excuse == ""
    assert good["fio_rand_read_iops"].excuse == "fio skipped by a person"
    assert "fio_rand_write_iops" not in good, "it was not planned"
    assert good["failed_steps"] == Figure(
        0, excuse="fio skipped by a person; surface skipped by a person"
    )
    policy = parse_policy(_STRICT)
    judged = judge(policy, gather_evidence(rows, 1))[0]
    outcomes = {each.name: (each.outcome, each.measured) for each in judged.limits}
    assert judged.verdict == "accept with remarks"
    assert outcomes["fio_seq_read_mb_s"][0] == "kept"
    for name in ("fio_rand_read_iops", "surface_mean_mb_s"):
        assert outcomes[name] == ("remark", "")
    assert "not measured (not shown to be its fault: fio skipped by a person)" in judged.reasons
    owed = _STRICT.replace('"remark"', '"reject"')
    judged = judge(parse_policy(owed), gather_evidence(rows, 1))[0]
    assert judged.verdict == "reject", "asked for by the policy, no matter who skipped it"


def test_what_one_of_two_steps_measured_does_not_hide_that_the_other_was_skipped(
    rows: sqlite3.Connection,
) -> None:
    rows.execute("UPDATE campaign SET plan_toml = ?", (_SKIPPED_PLAN,))
    step = add_step(rows, "fio", "LAB-GOOD-1", position=0)
    add_results(rows, step, [Result("seq-read", "bw_bytes_s", 200e6, BYPASS)])
    end_step(rows, step, "done")
    end_step(
        rows, add_step(rows, "fio", "LAB-GOOD-1", position=1), "skipped", "by a person", "none"
    )
    figure = figures_of(rows, "LAB-GOOD-1")["fio_seq_read_mb_s"]
    assert (figure.value, figure.excuse) == (200, "fio skipped by a person")
    policy = parse_policy("version = 1\n[all]\nfailed_steps = {}\n"
                          "fio_seq_read_mb_s = { reject = 100 }\n")  # fmt: skip
    judged = judge(policy, gather_evidence(rows, 1))[0]
    assert judged.verdict == "accept with remarks"


def test_what_a_skipped_scan_had_found_stands(rows: sqlite3.Connection) -> None:
    add_surface(rows, BAD, position=0, mean_mb_s=90, slices=4, unreadable_bytes=512)
    rows.execute("UPDATE step SET state = 'skipped', reason = 'by a person', blame = 'none'")
    bad = figures_of(rows, "LAB-BAD-1")
    assert bad["surface_unreadable_bytes"].value == 512
    assert bad["surface_slow_ranges"].value is None
    assert bad["surface_slow_ranges"].excuse == "surface skipped by a person"


def test_a_drive_abandoned_without_its_fault_is_not_rejected(rows: sqlite3.Connection) -> None:
    number = drive_id(rows, "LAB-GOOD-1")
    update_drive_failed(rows, 1, number, reason="the loader did not", blame="other")
    assert figures_of(rows, "LAB-GOOD-1")["given_up"] == Figure(None, excuse="the loader did not")
    update_drive_failed(rows, 1, number, reason="it is gone")
    assert figures_of(rows, "LAB-GOOD-1")["given_up"] == Figure(1, "it is gone")


def test_falling_silent_takes_back_no_failed_assessment(rows: sqlite3.Connection) -> None:
    health = read_smart("ata-412")
    add_health(
        rows, "LAB-GOOD-1", replace(health, passed=False),
        replace(health, passed=None, counters=(), reason="no answer"),
    )  # fmt: skip
    assert figures_of(rows, "LAB-GOOD-1")["self_assessment"] == Figure(
        1, "before the campaign; not read after it: no answer"
    )


def test_a_drive_is_judged_as_the_campaign_met_it(rows: sqlite3.Connection) -> None:
    """A later one meets it in a dock that says less of it."""
    add_surface(rows, GOOD, position=0, mean_mb_s=180)
    before = gather_evidence(rows, 1)
    rows.execute(
        "UPDATE drive SET transport = 'usb', rotational = 0, model = 'dock',"
        " size_bytes = 2 * size_bytes"
    )
    assert gather_evidence(rows, 1) == before
    assert before[0].transport == "sata"
    assert before[0].figures["surface_unreadable_bytes"].value == 0


def test_boots_count_where_they_are_valid_and_settled(rows: sqlite3.Connection) -> None:
    figures = figures_of(rows, "LAB-GOOD-1")
    assert figures["boot_median_s"] == Figure(
        32.0, "the 5 settled ones of 5 valid boots", frozenset({"cold"})
    )
    assert figures["failed_boots"] == Figure(1, "of 6")
    assert "boot_median_s" not in figures_of(rows, "LAB-SLOW-1")


def test_cold_boots_of_a_drive_are_not_compared_with_warm_ones_of_another(
    rows: sqlite3.Connection,
) -> None:
    """As where the boots left became warm ones after the first drive's."""
    cold = figures_of(rows, "LAB-GOOD-1")["boot_median_s"].origin
    rows.execute("UPDATE cycle SET power = 'warm'")
    assert figures_of(rows, "LAB-GOOD-1")["boot_median_s"].origin != cold
