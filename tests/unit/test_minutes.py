# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.minutes import Run, format_minutes, parse_stages, sum_by_place


def _run(*, minutes: float, start_s: float | None, tier: str = "") -> Run:
    return Run(
        tier=tier, stages_s={"types": 60, "tests": minutes * 60 - 60}, tests_s={}, start_s=start_s
    )


@pytest.mark.parametrize(
    ("minutes", "start_s", "over"),
    [(24, None, False), (26, None, True), (26, 10, True), (49, 40, False), (51, 40, True)],
)
def test_the_budget_grows_with_what_a_start_takes(
    minutes: float, start_s: float | None, over: object
) -> None:
    verdict = format_minutes(_run(minutes=minutes, start_s=start_s))[-1]
    assert verdict.startswith(f"{minutes:7.1f}  minutes in all; budget")
    assert verdict.endswith("OVER BUDGET") == over


def test_the_long_tier_has_no_budget() -> None:
    assert format_minutes(_run(minutes=300, start_s=80, tier="--all"))[-1].endswith("in all")


def test_places_are_longest_first_and_the_short_ones_together() -> None:
    tests_s = {f"place-{n}": n * 60.0 for n in range(1, 15)}
    run = Run(tier="", stages_s={"tests": 60}, tests_s=tests_s, start_s=None)
    lines = format_minutes(run)
    assert lines[1].split() == ["14.0", "place-14"]
    assert lines[-2].split() == ["3.0", "2", "more"]


def test_what_ran_beside_the_tests_is_shown_and_not_counted() -> None:
    run = Run(
        tier="--fast", stages_s={"tests": 60}, tests_s={}, start_s=None, beside_s={"types": 120}
    )
    lines = format_minutes(run)
    assert lines[1].split() == ["2.0", "types,", "beside", "it"]
    assert lines[-1].startswith("    1.0  minutes in all")


def test_stages_and_places() -> None:
    assert parse_stages("style of the scripts=3\ntypes=41\n") == {
        "style of the scripts": 3,
        "types": 41,
    }
    reports = [
        pytest.TestReport(node, ("", 0, ""), {}, "passed", None, "call", duration=seconds)
        for node, seconds in (
            ("tests/image/test_demo.py::test_a", 5),
            ("tests/tui/deep/test_b.py::test_c[1]", 1),
            ("tests/tui/test_d.py::test_e", 2),
        )
    ]
    assert sum_by_place(reports) == {"tests/image/test_demo.py": 5, "tests/tui": 3}
