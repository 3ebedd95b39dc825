# SPDX-License-Identifier: Apache-2.0
"""What the lab reads out of a page's sentences is what they say."""

from pathlib import Path

import pytest

from tests.lab.claims import Claim, Truth, judge, read_claims
from tests.lab.report_page import Finding, Page, parse_page
from tests.report.simulated_series import Drive, make_page

GOLDEN = Path(__file__).parent / "golden"
HYBRID = (46.0, 27.0, 28.0, 27.4, 27.6, 27.5)
DISK = (106.2, 106.0, 106.1, 106.3, 106.0, 106.2)


def _page(*drives: Drive) -> Page:
    return make_page(drives, boots=len(drives[0].true_s), noise=0.0, seed=0)


def _claim(*drives: Drive) -> Claim:
    (claim,) = read_claims(_page(*drives), drives[0].label, "boots")
    assert not claim.objection
    return claim


def test_a_page_is_read_as_it_is_shown() -> None:
    page = parse_page((GOLDEN / "report.html").read_text(encoding="utf-8"))
    assert page.sentence.startswith("LAB-SSHD-1 starts in 27.5 s from boot 2 on, 1.7 times")
    assert page.findings[0].kind == "gain"
    assert page.findings[0].subject == "LAB-SSHD-1"
    assert page.findings[0].text.startswith("from boot 2 on 1.7 times (1.6 to 1.7) as fast as")
    assert {finding.kind for finding in page.findings} >= {"gain", "flat", "proof"}
    claims = {
        drive: [claim.answer for claim in read_claims(page, drive, "boots")]
        for drive in ("LAB-HDD-1", "LAB-SSHD-1", "LAB-SSD-1", "LAB-NONE-1")
    }
    assert claims == {
        "LAB-HDD-1": ["no gain"],
        "LAB-SSHD-1": ["gain"],
        "LAB-SSD-1": ["no gain"],
        "LAB-NONE-1": [],
    }


@pytest.mark.parametrize(
    ("times", "answer"),
    [
        (HYBRID, "gain"),
        (DISK, "no gain"),
        ((22.0, 20.4, 20.5, 20.5, 20.4, 20.5), "no gain"),
        ((20.0, 30.0, 20.0, 20.1, 20.0, 19.9, 20.0), "no gain"),
        ((21.5, 20.3, 19.7, 20.2, 19.8, 20.1, 19.9), "open"),
        ((22.2, *(19.0, 21.0) * 11), "open"),
        ((21.9, *(19.0, 21.0) * 11), "open"),
        ((20.0, 30.0, 30.1, 30.0, 29.9, 30.0), "loss"),
        ((46.0, 41.0, 36.0, 32.0, 27.5), "still learning"),
        ((27.0, 26.4, 25.8, 25.2, 24.6, 24.0), "still learning"),
        ((29.0, 22.0, 12.1, 12.0, 11.9), "open"),
        ((20.0, 40.0, 21.0, 39.0, 20.0), "open"),
        ((20.0, 21.0, 19.6, 20.9, 19.4), "open"),
        ((20.0, 19.0), "open"),
        ((), "open"),
        (tuple(20.0 + 0.1 * number for number in range(10)), "drift"),
    ],
)
def test_every_sentence_about_boots_is_a_claim(times: tuple[float, ...], answer: str) -> None:
    assert _claim(Drive("A", times)).answer == answer
    assert _claim(Drive("A", times), Drive("B", DISK, "control")).answer == answer
    assert _claim(Drive("A", times), Drive("B", HYBRID)).answer == answer


@pytest.mark.parametrize("beside", [(), (Drive("B", HYBRID),), (Drive("B", DISK),)])
def test_that_a_gain_is_not_shown_is_a_claim(
    beside: tuple[Drive, ...],
) -> None:
    """Of a drive that may have learned before its first timed boot nothing is decided."""
    claim = _claim(Drive("A", DISK, learned_before="its first boot was tried 2 times"), *beside)
    assert claim.answer == "open"


def test_a_gain_that_may_be_the_machines_is_another_claim() -> None:
    drives = (Drive("A", HYBRID), Drive("B", (100.0, 50.0, 50.0, 50.0, 50.0, 50.0), "control"))
    assert _claim(*drives).answer == "gain, perhaps the machine's"


def test_the_numbers_of_a_gain_are_read() -> None:
    assert _claim(Drive("A", HYBRID)).numbers == (2.0, 1.7, 1.6, 1.7)


def test_what_is_not_true_is_found() -> None:
    page = _page(Drive("A", HYBRID))
    assert judge(page, Truth("A", "gain", ranges=((2, 2), (1.6, 1.8))))[1] == ""
    assert judge(page, Truth("A", "gain", ranges=((3, 3),)))[1] == "told: 2; true: 3 to 3"
    assert judge(page, Truth("A", "no gain"))[1] == "told: gain; true: no gain"
    assert judge(page, Truth("B", "gain"))[1] == "0 sentences speak of it"


def test_a_page_that_contradicts_itself_is_not_true() -> None:
    page = _page(Drive("A", HYBRID))
    other = Page("No gain from repeating: A (27.5 s).", page.findings)
    assert "the first sentence says no gain where the finding says gain" in judge(
        other, Truth("A", "gain")
    )


def test_a_lottery_is_read_by_its_pass() -> None:
    page = parse_page((GOLDEN / "workloads/report.html").read_text(encoding="utf-8"))
    answers = {
        (drive, name): [claim.answer for claim in read_claims(page, drive, f"lottery, {name}")]
        for drive in ("LAB-HDD-1", "LAB-SSHD-1")
        for name in ("direct", "cold", "warm")
    }
    assert answers == {
        ("LAB-HDD-1", "direct"): ["no gain"],
        ("LAB-HDD-1", "cold"): ["not of the drive"],
        ("LAB-HDD-1", "warm"): [],
        ("LAB-SSHD-1", "direct"): ["gain"],
        ("LAB-SSHD-1", "cold"): ["not of the drive"],
        ("LAB-SSHD-1", "warm"): [],
    }


def test_chance_is_no_gain_of_a_lottery() -> None:
    text = (
        "in the lottery's direct pass repeats were 1.3 times as slow as first touches (…): this is"
        " the drive's, and no gain."
    )
    (claim,) = read_claims(Page("", (Finding("flat", "A", text),)), "A", "lottery, direct")
    assert (claim.answer, claim.numbers) == ("no gain", (1 / 1.3,))


@pytest.mark.parametrize(("may_be_open", "wrong"), [(True, ""), (False, "told: open; true: gain")])
def test_so_few_reads_may_leave_a_gain_open(*, may_be_open: bool, wrong: str) -> None:
    text = (
        "in the lottery's direct pass repeats were 9.3 times as fast as first touches (…): this is"
        " the drive's, and not decided: most first touches come early, and whatever is slow for a"
        " while then does as much in 0.5 % of all draws of these tickets. Another seed, or more"
        " files or tickets, would tell."
    )
    page = Page("", (Finding("flat", "A", text),))
    truth = Truth("A", "gain", "lottery, direct", may_be_open=may_be_open)
    assert judge(page, truth)[1] == wrong


@pytest.mark.parametrize(
    ("about", "text", "claim"),
    [
        (
            "fio, seq-read",
            "A B: 12.0 MB/s (last 5 of 7 rounds; the first was 4.0 times as fast), B: 3 MB/s; …",
            ("falls", (12.0,)),
        ),
        ("fio, rand-read", "B: 3 IOPS (last 5 of 5 rounds), A B: 7 IOPS; …", ("one run", (7.0,))),
        ("fio, rand-read", "A B: 3 IOPS (last 5 of 5 rounds); …", ("steady", (3.0,))),
        (
            "sweep, rand-read, norandommap",
            "B: 60 IOPS on 8M, 60 on 32M (n = 2), A B: 600 IOPS on 8M, 60 on 32M (n = 2); …",
            ("falls", (600.0, 60.0)),
        ),
        (
            "surface",
            "B: 1 MB/s (slices from 1 to 1), A B: 13.1 MB/s (slices from 9.00 to 18.0); …",
            ("uneven", (13.1, 9.0, 18.0)),
        ),
        (
            "matrix, read of 24M, median over record sizes",
            "B: 9 MB/s (8 to 10, n = 2), A B: 14.0 MB/s (13.0 to 15.0, n = 2); …",
            ("level", (14.0, 13.0, 15.0)),
        ),
    ],
)
def test_a_drive_is_found_among_those_it_is_compared_with(
    about: str, text: str, claim: tuple[str, tuple[float, ...]]
) -> None:
    (found,) = read_claims(Page("", (Finding("flat", about, text),)), "A B", about)
    assert (found.answer, found.numbers) == claim


def test_a_database_is_told_against_another_drives() -> None:
    text = "C: 99.0 s (1 min 39 s), B: 61.5 s (1 min 1 s), A, 2 s B: 70.0 s (1 min 10 s); …"
    page = Page("", (Finding("flat", "SQL, all phases", text),))
    (slow,) = read_claims(page, "A, 2 s B", "sql, against B")
    assert (slow.answer, slow.numbers) == ("not faster", (70.0, 61.5))
    (fast,) = read_claims(page, "B", "sql, against C")
    assert (fast.answer, fast.numbers) == ("faster", (61.5, 99.0))


def test_a_buffer_is_told_of_its_drive() -> None:
    told = (
        "A: random writes were 9.2 times as fast as random reads of the same stretch (900 against"
        " 98.0 IOPS): the drive takes writes into a buffer first: RAM, flash or a part of its"
        " platters; page cache bypass, proven."
    )
    page = Page("", (Finding("flat", "fio, a buffer for writes", told),))
    (claim,) = read_claims(page, "A", "buffer")
    assert (claim.answer, claim.numbers) == ("buffers", (9.2,))
    assert list(read_claims(page, "B", "buffer")) == []


def test_what_falls_is_told_of_its_drive() -> None:
    text = (
        "writing fell from 40.0 to 5.00 MB/s once 1.5 GiB were written, and stayed there (verify;"
        " medians)."
    )
    page = Page("", (Finding("flat", "A", text),))
    assert judge(page, Truth("A", "falls", "writing", ((39, 41), (4, 6), (1536, 1536))))[1] == ""
    assert judge(page, Truth("B", "nothing", "writing"))[1] == ""
    assert judge(page, Truth("A", "nothing", "writing"))[1] == "told: falls; true: nothing"
