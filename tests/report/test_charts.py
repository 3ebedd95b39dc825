# SPDX-License-Identifier: Apache-2.0
"""Charts: places in percent, text that keeps its size, names that do not run into each other."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from appliance.report.blocks import LegendView
from appliance.report.charts.draw import Bars, Box, draw_bars, draw_boxes, draw_stacks
from appliance.report.charts.plots import Line, draw_lines
from appliance.report.charts.svg import find_scale, format_tick, spread


def _draw(*lines: Line) -> ET.Element:
    svg = draw_lines(lines, name="a", title="A title", x_title="boot", y_title="seconds")
    return ET.fromstring(svg)  # noqa: S314 - our own


def _line(label: str, *ys: float, **options: object) -> Line:
    points = tuple((float(x), y, f"{label} {y}") for x, y in enumerate(ys, start=1))
    return Line(LegendView(label, 0), points, **options)  # type: ignore[arg-type]  # Line's own


def _names(root: ET.Element) -> dict[str, float]:
    return {
        one.text or "": float(one.get("y", ""))
        for one in root.iter("text")
        if one.get("class") == "end"
    }


def test_nothing_in_a_chart_has_a_place_that_a_narrow_page_would_cut_off() -> None:
    root = _draw(_line("A", 1.0, 2.0), _line("B", 2.0, 1.0))
    for element in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            assert re.fullmatch(r"[\d.]+%", element.get(name, "0%"))
    assert root.get("viewBox") is None


def test_names_at_the_ends_are_apart_and_inside() -> None:
    root = _draw(*(_line(f"DRIVE-{number}", 20.0, 20.0 + number / 10) for number in range(8)))
    places = sorted(_names(root).values())
    assert len(places) == 8
    assert all(after - before >= 15 for before, after in pairwise(places))
    assert places[-1] <= 230


def test_more_names_than_fit_are_left_to_the_legend() -> None:
    assert not _names(_draw(*(_line(f"D{number}", 1.0, 2.0) for number in range(20))))


def test_a_failed_boot_leaves_a_gap() -> None:
    points = ((1.0, 5.0, ""), (2.0, 5.0, ""), (4.0, 5.0, ""), (5.0, 5.0, ""))
    root = _draw(Line(LegendView("A", 0), points, gap=1.5))
    (path,) = root.iter("path")
    assert path.get("d", "").count("M") == 2


def test_a_ring_stands_for_what_is_not_proven() -> None:
    root = _draw(_line("A", 5.0, 6.0, hollow=frozenset({2.0})))
    assert [dot.get("class") for dot in root.iter("circle")] == ["dot", "dot hollow"]


def test_what_is_not_seen_is_said() -> None:
    root = _draw(_line("A", 46.0, 27.0))
    assert root.findtext("title") == "A title"
    assert root.findtext("desc") == "seconds over boot. A: 46 at 1, 27 at 2; from 27 to 46."


def test_bars_have_their_values_and_a_scale_on_which_all_are_seen() -> None:
    bars = [
        Bars(LegendView("HDD", 0), ((180.0, ""), None)),
        Bars(LegendView("SSD", 1), ((60_000.0, ""), (70_000.0, ""))),
    ]
    svg = draw_bars(bars, ["rand-read", "rand-write"], name="b", title="t", x_title="IOPS")
    root = ET.fromstring(svg)  # noqa: S314 - our own
    texts = [one.text for one in root.iter("text")]
    assert {"180", "60000", "70000", "IOPS (logarithmic)"} <= set(texts)
    widths = [float(one.get("width", "").rstrip("%")) for one in root.iter("rect")]
    assert len(widths) == 3
    assert min(widths) > 5
    assert max(widths) <= 100


def test_a_box_takes_five_values_and_fewer_are_dots() -> None:
    def draw(*values: float) -> tuple[int, int]:
        box = Box(LegendView("A", 0, "area"), values, "A")
        svg = draw_boxes([("read", [box])], name="n", title="t", x_title="MB/s")
        return svg.count("<rect"), svg.count("<circle")

    assert draw(1.0, 2.0, 3.0) == (0, 3)
    assert draw(1.0, 2.0, 3.0, 4.0, 5.0) == (1, 0)


def test_stacks_of_the_same_kind_can_share_a_scale() -> None:
    bars = [Bars(LegendView("recovery", 0), ((50.0, ""),))]
    svg = draw_stacks(bars, ["A"], name="c", title="t", x_title="seconds", highest=200.0)
    (piece,) = ET.fromstring(svg).iter("rect")  # noqa: S314 - our own
    assert piece.get("width") == "25%"


@pytest.mark.parametrize(
    ("lowest", "highest", "logarithmic", "ticks"),
    [
        (0.0, 90.0, False, (0.0, 100.0)),
        (50.0, 90.0, False, (0.0, 100.0)),
        (90.0, 900.0, True, (50.0, 1000.0)),
        (90.0, 4000.0, True, (50.0, 5000.0)),
        (0.7, 60000.0, True, (0.1, 100000.0)),
    ],
)
def test_an_axis_holds_all_values(
    lowest: float, highest: float, *, logarithmic: bool, ticks: tuple[float, float]
) -> None:
    scale = find_scale(lowest, highest)
    assert scale.logarithmic == logarithmic
    assert (scale.ticks[0], scale.ticks[-1]) == pytest.approx(ticks)


def test_ticks_stay_short() -> None:
    values = (0.0, 0.5, 200.0, 5000.0, 20_000.0, 1e6, 2e9)
    assert [format_tick(value) for value in values] == [
        "0",
        "0.5",
        "200",
        "5000",
        "20k",
        "1M",
        "2G",
    ]


def test_spreading_moves_only_what_is_crowded() -> None:
    assert spread([10.0, 100.0], lowest=200) == [10.0, 100.0]
    assert spread([198.0, 199.0], lowest=200) == [185.0, 200.0]


def test_a_stair_goes_down_where_it_should() -> None:
    points = tuple((x, y, "") for x, y in ((0.0, 9.0), (1.0, 9.0), (1.0, 3.0), (2.0, 3.0)))
    (path,) = _draw(Line(LegendView("A", 0), points)).iter("path")
    ys = [float(place.split()[1]) for place in path.get("d", "").lstrip("M").split("L")]
    assert ys == sorted(ys)
