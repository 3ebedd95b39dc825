# SPDX-License-Identifier: Apache-2.0
"""Figures on the pages in the language that holds: `1,234.5` in English, `1.234,5` in German."""

import ast
import re
from collections.abc import Iterator
from string import Formatter

import pytest

from appliance.units import format_size
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.spread_scenes import show_spreads
from tests.tui.steps import press, settle, text_of
from tests.tui.texts import TUI, list_texts
from tui import language
from tui.app import KaltstartApp
from tui.format import (
    localise,
    show_bytes,
    show_count,
    show_number,
    show_rate,
)
from tui.widgets.charts import Box, draw_boxes, draw_columns

_HAS_MARKS = re.compile(r",|\.[1-9]|[eg]$")
"""What a specification has whose figures differ from language to language."""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("en", ["98.4 MB/s", "1,098 MB/s", "12,345", "0.6", "1,023 B", "1,234.5 TiB", "  8.40"]),
        ("de", ["98,4 MB/s", "1.098 MB/s", "12.345", "0,6", "1.023 B", "1.234,5 TiB", "  8,40"]),
    ],
)
def test_a_figure_has_the_marks_of_the_language(code: str, told: list[str]) -> None:
    language.use(code)
    assert [
        *(show_rate(98.4e6), show_rate(1098e6), show_count(12345), show_count(0.6)),
        *(show_bytes(1023), show_bytes(1234.5 * (1 << 40)), show_number(8.4, "6.2f")),
    ] == told


@pytest.mark.parametrize(
    "size_bytes",
    [0, 512, 1023, 1024, 65536, 66000, 999_999, (1 << 20) - 1, 17 << 20, 5e9, 3 << 40, 1234 << 40],
)
def test_the_pages_say_an_amount_of_data_as_reasons_and_reports_do(size_bytes: float) -> None:
    """Only the engine's are without a mark between thousands: its texts may be translated."""
    assert show_bytes(size_bytes).replace(",", "") == format_size(size_bytes, decimals=1)


def test_what_the_engine_wrote_has_them_too() -> None:
    assert localise("8.0 GT/s x4") == "8.0 GT/s x4"
    language.use("de")
    assert localise("8.0 GT/s x4") == "8,0 GT/s x4"
    assert localise("500 GB") == "500 GB"


def label_axis(value: float) -> list[str]:
    """What is at the left of a picture of it."""
    drawn = draw_columns("ms", [value], width=20, height=5, name_ends=lambda _shown: ("", ""))
    return [line.split("┤")[0].strip() for line in drawn.splitlines() if "┤" in line]


def test_the_axes_of_a_picture_have_them() -> None:
    language.use("de")
    assert label_axis(20_000) == ["20.000", "10.000", "0"]
    assert label_axis(0.05) == ["0,05", "0,025", "0"]
    box = draw_boxes("s", [Box("a", 1.0, 1.25, 1.5, 1.75, 1002.0)], width=80)
    assert box.splitlines()[1].split()[-5:] == ["1,00", "1,25", "1,50", "1,75", "1002,00"]
    assert box.splitlines()[2].split() == ["1,00", "1002,00"]


async def test_what_was_drawn_before_is_drawn_again(engine: FakeEngine) -> None:
    engine.show_machine()
    show_spreads(engine)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert f"{HDD.size_bytes:,} bytes (500 GB)" in text_of(pilot, "#details")
        await press(pilot, "4")
        assert "209.72  104.86" in text_of(pilot, "#results")
        engine.show_machine(language="de")
        await settle(pilot)
        assert "209,72  104,86" in text_of(pilot, "#results")
        await press(pilot, "1")
        assert "500.107.862.016 Bytes (500 GB)" in text_of(pilot, "#details")
        await press(pilot, "5")
        assert "RAM             15,5 GiB" in text_of(pilot, "#facts")


def _find_specifications() -> Iterator[tuple[str, str]]:
    for path in TUI.rglob("*.py"):
        if path.name == "format.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
                parts = node.format_spec.values
                yield (
                    f"{path.name}:{node.lineno}",
                    "".join(str(each.value) for each in parts if isinstance(each, ast.Constant)),
                )


def test_no_page_writes_figures_past_it() -> None:
    specifications = list(_find_specifications())
    assert specifications
    assert [each for each in specifications if _HAS_MARKS.search(each[1])] == []
    texts = [each for text in list_texts() for each in ([text] if isinstance(text, str) else text)]
    asked = [(text, part[2] or "") for text in texts for part in Formatter().parse(text)]
    assert [each for each in asked if _HAS_MARKS.search(each[1])] == []
