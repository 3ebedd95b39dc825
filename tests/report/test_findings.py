# SPDX-License-Identifier: Apache-2.0
"""The sentences of a report: each follows from its figures and claims no more than they show."""

import pytest

from appliance.report.boots.findings import Finding, find_findings
from appliance.report.boots.views import summarise
from appliance.report.series import Series

PROVEN = ("proven", "the count rose from 1 to 2")
NO_COUNT = ("unproven", "the drive has no power-cycle count")


def _series(
    *boot_s: float,
    label: str = "A",
    role: str = "target",
    first_cycle: int = 1,
    failed: int = 0,
    skipped: int = 0,
    given_up: str = "",
    proof: tuple[str, str] = PROVEN,
    power: str = "cold",
) -> Series:
    return Series(
        label=label,
        role=role,
        cycles=tuple(range(first_cycle, first_cycle + len(boot_s))),
        boot_s=boot_s,
        planned=len(boot_s) + failed + skipped,
        failed=failed,
        skipped=skipped,
        given_up=given_up,
        proofs=(proof,) * len(boot_s),
        powers=(power,) * len(boot_s),
        page_caches=("cold",) * len(boot_s),
    )


CONTROL = _series(106.2, 106.0, 106.1, 106.3, 106.0, 106.2, label="C", role="control")
HYBRID = (46.0, 27.0, 28.0, 27.4, 27.6, 27.5)


@pytest.mark.parametrize(
    ("series", "kind", "text"),
    [
        (_series(), "remark", "no valid timed boot."),
        (
            _series(20.0),
            "remark",
            (
                "1 valid boot (20.0 s) cannot show whether the drive still learns: it takes at"
                " least 5."
            ),
        ),
        (
            _series(46.0, 27.0, 28.0),
            "remark",
            (
                "3 valid boots (27.0 to 46.0 s) cannot show whether the drive still learns: it"
                " takes at least 5. So far each later boot was at least 1.64 times as fast as the"
                " first one (46.0 s)."
            ),
        ),
        (
            _series(*HYBRID),
            "gain",
            (
                "from boot 2 on 1.7 times (1.6 to 1.7) as fast as at its first boot (46.0 s, then"
                " 27.5 s). The control drive stayed within ±0.1 %."
            ),
        ),
        (
            _series(20.0, 30.0, 30.1, 30.0, 29.9, 30.0),
            "remark",
            (
                "from boot 2 on 1.50 times (1.49 to 1.51) as slow as at its first boot (20.0 s,"
                " then 30.0 s). The control drive stayed within ±0.1 %."
            ),
        ),
        (
            _series(106.2, 106.0, 106.1, 106.2, 106.1),
            "flat",
            (
                "no gain from repeating: all 5 boots within ±0.1 % of the median 106.1 s; its first"
                " boot (106.2 s) took 1.00 times as long (1.00 to 1.00) as the later ones."
            ),
        ),
        (
            _series(22.0, 20.4, 20.5, 20.5, 20.4, 20.5),
            "flat",
            (
                "no gain as large as 10 %: its first boot (22.0 s) took 1.07 times as long (1.06 to"
                " 1.08) as the later ones."
            ),
        ),
        (
            _series(21.5, 20.3, 19.7, 20.2, 19.8, 20.1, 19.9),
            "remark",
            (
                "faster later, and whether by 10 % is not decided: its first boot (21.5 s) took"
                " 1.07 times as long (1.04 to 1.11) as the later ones."
            ),
        ),
        (
            _series(21.9, *(19.0, 21.0) * 11),
            "remark",
            (
                "neither a gain nor none is shown: all 23 boots within ±9.5 % of the median 21.0 s;"
                " its first boot (21.9 s) took 1.09 times as long (0.98 to 1.22) as the later ones."
            ),
        ),
        (
            _series(22.2, *(19.0, 21.0) * 11),
            "remark",
            (
                "uneven at first, settled from boot 2 on at 20.0 s: its first boot (22.2 s) took"
                " 1.11 times as long (0.99 to 1.24), which shows neither a gain nor that there is"
                " none."
            ),
        ),
        (
            _series(20.0, 30.0, 20.0, 20.1, 20.0, 19.9, 20.0),
            "flat",
            (
                "uneven at first, settled from boot 3 on at 20.0 s: its first boot (20.0 s) took"
                " 1.00 times as long (0.99 to 1.01), which is no proof of a gain."
            ),
        ),
        (
            _series(46.0, 41.0, 36.0, 32.0, 27.5),
            "remark",
            (
                "still learning: the boots from boot 1 on do not stay within ±10 % of each other"
                " (27.5 to 46.0 s). More boots are needed. So far each later boot was at least 1.12"
                " times as fast as the first one (46.0 s)."
            ),
        ),
        (
            # It has learned all by the third boot.
            _series(29.0, 22.0, 12.1, 12.0, 11.9),
            "remark",
            (
                "not settled yet: only the last 3 boots, from boot 3 on, stay within ±10 % of each"
                " other (11.9 to 12.1 s). It takes 5 to show whether the drive still learns. So far"
                " each later boot was at least 1.31 times as fast as the first one (29.0 s)."
            ),
        ),
        (
            _series(20.0, 40.0, 21.0, 39.0, 20.0),
            "remark",
            (
                "not settled: the boots from boot 1 on do not stay within ±10 % of each other"
                " (20.0 to 40.0 s). More boots are needed."
            ),
        ),
        (
            _series(27.0, 26.4, 25.8, 25.2, 24.6, 24.0),
            "remark",
            (
                "still learning: from boot 1 on the time changes by -0.600 s (-0.600 to -0.600) per"
                " boot (24.0 to 27.0 s). More boots are needed."
            ),
        ),
        (
            _series(24.0, 24.6, 25.2, 25.8, 26.4, 27.0),
            "remark",
            (
                "not settled: from boot 1 on the time changes by +0.600 s (+0.600 to +0.600) per"
                " boot (24.0 to 27.0 s). More boots are needed."
            ),
        ),
        (
            _series(20.0, 21.0, 19.6, 20.9, 19.4),
            "remark",
            (
                "not settled: its boots vary by 3.6 %, so 5 of them do not show whether it still"
                " learns (19.4 to 21.0 s). About 13 more boots would."
            ),
        ),
        (
            _series(20.0, 20.0, 20.1, 20.0, 20.0, first_cycle=2),
            "remark",
            (
                "settled from boot 2 on at 20.0 s; its first boot is missing, so no gain over it"
                " can be stated."
            ),
        ),
    ],
)
def test_what_a_drive_showed(series: Series, kind: str, text: str) -> None:
    assert next(
        each for each in find_findings([series, CONTROL]) if each.subject == "A"
    ) == Finding(kind, "A", text)


@pytest.mark.parametrize("first", [100.0, 66.0])
def test_a_gain_that_the_control_drive_shares_may_be_the_machine(first: float) -> None:
    control = _series(first, 50.0, 50.0, 50.0, 50.0, 50.0, label="C", role="control")
    told = {each.subject: each for each in find_findings([_series(*HYBRID), control])}
    if first == 66.0:  # 1.32 times: less than the hybrid's interval, so that is more than it
        assert told["A"].kind == "gain"
        assert told["A"].text.endswith("The control drive stayed within ±32.0 %.")
    else:
        assert told["A"].kind == "remark"
        assert told["A"].text.endswith(
            "The control drive moved by up to ±100.0 %, so this may be the machine and not the"
            " drive."
        )


def test_a_control_drive_that_gets_faster_is_no_good_news() -> None:
    (finding, *_) = find_findings([_series(*HYBRID, role="control")])
    assert finding.kind == "remark"
    assert finding.text.endswith(
        "It is a control drive, so this may be the machine and not the drive."
    )


def test_a_gain_without_control_says_so() -> None:
    gain = find_findings([_series(*HYBRID)])[0]
    assert gain.kind == "gain"
    assert gain.text.endswith("so a change of the machine itself is not ruled out.")


def test_gains_come_first() -> None:
    assert find_findings([CONTROL, _series(*HYBRID)])[0].subject == "A"


def _find_drifts(*all_series: Series) -> dict[str, str]:
    return {each.subject: each.text for each in find_findings(all_series) if "drifts" in each.text}


def test_a_drift_that_a_control_drive_has_too_may_be_the_machines() -> None:
    rising = tuple(20.0 + 0.1 * number for number in range(10))
    falling = tuple(reversed(rising))
    alone = _find_drifts(_series(*rising))["A"]
    both = _find_drifts(_series(*rising), _series(*rising, label="C", role="control"))
    assert both["A"] == f"{alone} A control drive does too, so this may be the machine."
    assert both["C"] == f"{alone} It is a control drive, so this may be the machine."
    assert _find_drifts(_series(*rising), CONTROL) == {"A": alone}
    other = _series(*falling, label="C", role="control")
    assert _find_drifts(_series(*rising), other)["A"] == alone


def test_a_drift_of_milliseconds_is_not_rounded_away() -> None:
    series = _series(*(0.200 + 0.0008 * number for number in range(10)))
    assert summarise(series, [series]).drift == "+0.00080 (+0.00080 to +0.00080)"
    said = _find_drifts(series)["A"]
    assert said == (
        "still drifts after settling: +0.00080 s (+0.00080 to +0.00080) per boot, +0.006 s in all."
    )


def test_drift_is_told_where_it_is_no_chance_and_adds_up() -> None:
    def tell(*boot_s: float) -> list[str]:
        return [each.text for each in find_findings([_series(*boot_s)]) if "drift" in each.text]

    assert tell(*(20.0 + 0.1 * number for number in range(10))) == [
        "still drifts after settling: +0.100 s (+0.100 to +0.100) per boot, +0.8 s in all."
    ]
    # One step behind the first boot is a small gain, and no drift.
    assert tell(21.0, 20.01, 20.0, 20.02, 19.99, 20.01, 20.0, 20.02) == []
    # Too little to matter.
    assert tell(*(20.0 + 0.01 * number for number in range(10))) == []
    # The demo's disk: 2 % up in all, by chance.
    assert tell(20.0, 20.3, 19.9, 20.1, 20.4, 20.0, 20.4, 20.2) == []


def test_cold_is_called_proven_only_where_it_is() -> None:
    proofs = [
        (finding.subject, finding.text)
        for finding in find_findings(
            [
                _series(1.0, 1.0, label="P"),
                _series(1.0, 1.0, label="U", proof=NO_COUNT),
                _series(1.0, label="V", proof=NO_COUNT),
                _series(1.0, label="W", proof=("warm", ""), power="warm"),
                _series(1.0, label="X", proof=("unproven", "asked for warm, and"), power="warm"),
            ]
        )
        if finding.kind == "proof" or "cold: proven" in finding.text
    ]
    assert proofs == [
        ("P", "cold: proven (2 boots); the drive's power-cycle count rose."),
        ("U, V", "cold: unproven (3 boots), because the drive has no power-cycle count."),
        ("X", "warm: unproven (1 boot): asked for warm, and."),
        (
            "W",
            (
                "warm (1 boot): the machine restarted without a power-off, so the drive's own"
                " memory stayed filled. These are no cold boots."
            ),
        ),
    ]


def test_what_is_missing_is_told() -> None:
    findings = find_findings([_series(1.0, 1.0, failed=2, given_up="it vanished")])
    assert Finding("remark", "A", "2 boots failed and are left out of every figure.") in findings
    assert Finding("remark", "A", "the campaign went on without it: it vanished.") in findings


def test_skipped_boots_are_said_to_be_missing() -> None:
    findings = find_findings([_series(1.0, 1.0, skipped=3)])
    said = "3 boots of 5 skipped by a person: not measured."
    assert Finding("remark", "A", said) in findings


def test_no_more_boots_are_needed_only_once_the_interval_shows_it() -> None:
    """Six even boots: the estimate says six, and their interval reaches 1.5 %."""
    series = _series(19.800, 19.852, 20.199, 19.946, 19.778, 19.935)
    assert series.interval_s is not None
    assert series.interval_s.high > 1.015 * (series.settled_s or 0.0)
    assert series.more_boots == 1
    assert _series(20.0, 20.1, 19.9, 20.0, 20.1, 19.9).more_boots == 0


def test_times_that_read_alike_are_one_figure() -> None:
    learning, *_ = find_findings([_series(33.71, 33.72)])
    assert learning.text.startswith("2 valid boots (33.7 s) cannot show")
