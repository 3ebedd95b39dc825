# SPDX-License-Identifier: Apache-2.0
"""Exact pictures, those of series that hardly are any included."""

import textwrap
from collections.abc import Sequence

import pytest

from tui.widgets.charts import (
    Bar,
    Box,
    draw_bars,
    draw_boxes,
    draw_columns,
    find_top,
    set_beside,
)

RISING = (None, 0.0, 1.0, 20.0, 50.0, 99.0, 120.0, 130.0, None, 0.2)


def picture(text: str) -> str:
    """What a test shows."""
    return textwrap.dedent(text).strip("\n")


def columns(
    values: Sequence[float | None], *, width: int = 40, height: int = 3, cell: int = 1
) -> str:
    """The values from some number on to the last one."""
    return draw_columns(
        "ms",
        values,
        width=width,
        height=height,
        name_ends=lambda shown: (f"#{len(values) - shown + 1}", f"#{len(values)}"),
        cell=cell,
    )


def test_columns_end_in_eighths_and_tell_zero_from_unknown() -> None:
    assert columns(RISING, height=4) == picture("""
        ms
        150┤      ▂▄
           │     ▅██
           │    ▃███
          0┤· ▁▄████·▁
            #1     #10
        """)


@pytest.mark.parametrize(("width", "first"), [(80, 125), (120, 85), (5, 200)])
def test_of_too_many_columns_the_last_ones_are_shown(width: int, first: int) -> None:
    lines = columns([float(n) for n in range(200)], width=width, height=5).splitlines()
    assert [line[:4] for line in lines[1:6]] == ["200┤", "   │", "100┤", "   │", "  0┤"]
    assert {len(line) for line in lines[1:6]} == {width}
    assert lines[1][-1] == "█"
    assert lines[-1].startswith(f"    #{first}"[:width])


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ((), ["1┤", " │", "0┤"]),
        ((None, None), ["1┤", " │", "0┤··"]),
        ((0.0, 0.0), ["1┤", " │", "0┤"]),
        ((7.0,), ["8┤▅", " │█", "0┤█"]),
        ((7.0, 7.0, 7.0), ["8┤▅▅▅", " │███", "0┤███"]),
        ((3e12, 1.0), ["3e+12┤█", "     │█", "    0┤█▁"]),
        ((0.08,), ["0.08┤█", "    │█", "   0┤█"]),
    ],
)
def test_degenerate_series_are_drawn(values: Sequence[float | None], drawn: list[str]) -> None:
    assert columns(values).splitlines()[1:4] == drawn


def test_columns_can_be_wider_than_a_character() -> None:
    assert columns((46.1, 28.2), cell=3) == picture("""
        ms
        50┤▆▆▆
          │███▆▆▆
         0┤██████
           #1  #2
        """)


@pytest.mark.parametrize(
    ("highest", "top"),
    [
        (0, 1),
        (-1, 1),
        (130, 150),
        (106, 120),
        (200, 200),
        (201, 300),
        (0.1 + 0.2, 0.3),
        (7e-5, 8e-5),
    ],
)
def test_an_axis_ends_at_a_round_number(highest: float, top: float) -> None:
    assert find_top(highest) == pytest.approx(top)


def test_bars_have_their_figures_beside_them() -> None:
    bars = [
        Bar("WD-1", 98.4, "98.4 MB/s  cold"),
        Bar("SERIAL-OF-30-CHARACTERS-000001", 0.01, "0.0 MB/s  cold"),
        Bar("gone", 0.0, "0.0 MB/s  bypass"),
    ]
    assert draw_bars(bars, width=60) == picture("""
        |  WD-1                 ███████████████████   98.4 MB/s  cold
        |  SERIAL-OF-30~000001  ▏                      0.0 MB/s  cold
        |  gone                                      0.0 MB/s  bypass
        """).replace("|", "")


def test_bars_without_room_leave_the_figures() -> None:
    assert draw_bars([Bar("a", 5.0, "5" * 30)], width=30, indent=0) == "a  " + "5" * 30
    assert draw_bars([Bar("a", 0.0, "0 s"), Bar("b", 0.0, "0 s")], width=20) == picture("""
        |  a              0 s
        |  b              0 s
        """).replace("|", "")
    assert draw_bars([], width=80) == ""


BOXES = (
    Box("WD-1", 28.0, 30.1, 37.0, 46.0, 60.0),
    Box("WD-2", 105.0, 105.5, 106.0, 106.0, 107.0),
    Box("one", 50.0, 50.0, 50.0, 50.0, 50.0),
)


def test_boxes_share_an_axis_and_have_five_figures() -> None:
    assert draw_boxes("Seconds", BOXES, width=80) == picture("""
        Seconds
        WD-1  ├███│███─────┤                           28.00  30.10  37.00  46.00  60.00
        WD-2                                  ├│  105.00  105.50  106.00  106.00  107.00
        one            │                               50.00  50.00  50.00  50.00  50.00
              28.00                       107.00
        """)


def test_boxes_without_room_leave_the_median() -> None:
    assert draw_boxes("Seconds", BOXES[:1], width=50) == picture("""
        Seconds
        WD-1  ├─▐███████│██████████───────────────┤  37.00
              28.00                           60.00
        """)
    assert draw_boxes("Seconds", [], width=50) == ""


def test_pictures_stand_side_by_side() -> None:
    assert set_beside("a\nbcd", "x\ny\nz") == "a    x\nbcd  y\n     z"
