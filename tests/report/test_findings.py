"""The sentences of a report: each follows from its figures and claims no more than they show."""

import pytest

from appliance.report.findings import Finding, find_findings
from appliance.report.series import Series

PROVEN = ("proven", "the count rose from 1 to 2")
NO_COUNT = ("unproven", "the drive offers no power-cycle count")


def _series(
    *boot_s: float,
    label: str = "A",
    role: str = "target",
    first_cycle: int = 1,
    failed: int = 0,
    skipped: int = 0,
    given_up: str = "",
    proof: tuple[str, str] = PROVEN,
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
        page_caches=("cold",) * len(boot_s),
    )


CONTROL = _series(106.2, 106.0, 106.1, label="C", role="control")


@pytest.mark.parametrize(
    ("series", "kind", "text"),
    [
        (_series(), "remark", "no valid timed boot."),
        (_series(20.0), "remark", "one valid boot (20.0 s) shows nothing about learning."),
        (
            _series(46.0, 27.0, 28.0),
            "gain",
            (
                "from cycle 2 on 1.7 times as fast as at its first boot (46.0 s, then 27.5 s)."
                " The control drive stayed within ±0.1 %."
            ),
        ),
        (
            _series(20.0, 30.0, 30.0),
            "remark",
            (
                "from cycle 2 on 1.5 times as slow as at its first boot (20.0 s, then 30.0 s)."
                " The control drive stayed within ±0.1 %."
            ),
        ),
        (
            _series(106.2, 106.0, 106.1),
            "flat",
            "no gain from repeating: all 3 boots within ±0.1 % of the median 106.1 s.",
        ),
        (
            _series(20.0, 30.0, 20.0, 20.0, 20.0),
            "flat",
            (
                "uneven at first, settled from cycle 3 on at 20.0 s:"
                " about as fast as its first boot (20.0 s)."
            ),
        ),
        (
            _series(20.0, 40.0),
            "remark",
            (
                "not settled: the last boots do not stay within ±10 % of each other"
                " (20.0 to 40.0 s). More cycles are needed."
            ),
        ),
        (
            _series(20.0, 20.0, first_cycle=2),
            "remark",
            "its first boot is missing, so no gain over it can be stated.",
        ),
    ],
)
def test_what_a_drive_showed(series: Series, kind: str, text: str) -> None:
    assert Finding(kind, "A", text) in find_findings([series, CONTROL])


def test_a_gain_that_the_control_drive_shares_may_be_the_machine() -> None:
    control = _series(100.0, 50.0, 50.0, label="C", role="control")
    gain = find_findings([_series(46.0, 27.0, 27.0), control])[0]
    assert "The control drive moved by up to ±100.0 % as well" in gain.text


def test_a_gain_without_control_says_so() -> None:
    gain = find_findings([_series(46.0, 27.0, 27.0)])[0]
    assert gain.text.endswith("so a change of the machine itself is not ruled out.")


def test_gains_come_first() -> None:
    assert find_findings([CONTROL, _series(46.0, 27.0, 27.0)])[0].subject == "A"


def test_drift_is_told_where_it_adds_up() -> None:
    rising = _series(*(20.0 + 0.2 * number for number in range(10)))
    texts = [finding.text for finding in find_findings([rising])]
    assert "still drifts after settling: +0.200 s per cycle, +1.8 s in all." in texts
    steady = _series(*(20.0 + 0.01 * number for number in range(10)))
    assert not any("drift" in finding.text for finding in find_findings([steady]))


def test_cold_is_called_proven_only_where_it_is() -> None:
    proofs = [
        (finding.subject, finding.text)
        for finding in find_findings(
            [
                _series(1.0, 1.0, label="P"),
                _series(1.0, 1.0, label="U", proof=NO_COUNT),
                _series(1.0, label="V", proof=NO_COUNT),
                _series(1.0, label="W", proof=("warm", "")),
            ]
        )
        if finding.kind == "proof"
    ]
    assert proofs == [
        ("P", "cold: proven (2 boots); the drive's power-cycle count rose."),
        ("U, V", "cold: unproven (3 boots), because the drive offers no power-cycle count."),
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
    assert Finding("remark", "A", "2 boots failed and left out of every figure.") in findings
    assert Finding("remark", "A", "the campaign went on without it: it vanished.") in findings


def test_skipped_boots_are_said_to_be_missing() -> None:
    findings = find_findings([_series(1.0, 1.0, skipped=3)])
    said = "3 boots of 5 skipped by a person: not measured."
    assert Finding("remark", "A", said) in findings
