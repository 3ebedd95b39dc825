# SPDX-License-Identifier: Apache-2.0
"""The reports in a real Chromium, at three widths and on paper: nothing runs over or is blank.

The pages are those of tests/report/golden. After a change that this refuses, look at the pictures:
`Browser.take_picture`.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.lab.browser import HEIGHT, Browser
from tests.lab.campaign import REPO

pytestmark = pytest.mark.long

GOLDEN = REPO / "tests/report/golden"
PAGES = (
    "report.html",
    "workloads/report.html",
    "array/report.html",
    "verdicts/report.html",
    "verdicts/verdicts.html",
)
WIDTHS = (390, 820, 1280)
"""A phone, a tablet, a desk; CSS pixels."""

LEAST_PX = 9.0
_INK = 0.001
"""Of a sheet's pixels: a page number alone is less."""

_OPEN = "document.querySelectorAll('details').forEach(one => one.open = true)"

# A table may scroll in its frame: that is what the frame is for.
_OVERFLOW = """
(() => {
  const width = document.documentElement.clientWidth, found = [];
  if (document.documentElement.scrollWidth > width) found.push('the page scrolls');
  for (const one of document.querySelectorAll('body *')) {
    const box = one.getBoundingClientRect();
    if (box.width && !one.closest('.scroll') && (box.right > width + 1 || box.left < -1))
      found.push(`${one.tagName} ${Math.round(box.left)} to ${Math.round(box.right)}: `
        + one.textContent.trim().slice(0, 40));
  }
  return found.slice(0, 5);
})()
"""

_SCROLLED = """
[...document.querySelectorAll('.scroll')]
  .filter(one => one.scrollWidth > one.clientWidth + 1)
  .map(one => `${one.scrollWidth}: ${one.textContent.trim().slice(0, 40)}`)
"""

# What a picture's scale does to its text counts too.
_SMALLEST = """
(() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let smallest = Infinity;
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !one.getClientRects().length) continue;
    const scale = one.ownerSVGElement ? one.getScreenCTM() : {a: 1, d: 1};
    const size = parseFloat(getComputedStyle(one).fontSize) * Math.min(scale.a, scale.d);
    smallest = Math.min(smallest, size);
  }
  return smallest;
})()
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_nothing_runs_over_or_gets_too_small(browser: Browser, page: str, width: int) -> None:
    browser.open(GOLDEN / page, width=width)
    browser.run(_OPEN)
    assert browser.run(_OVERFLOW) == []
    assert browser.run(_SMALLEST) >= LEAST_PX


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", [page for page in PAGES if page.endswith("report.html")])
def test_the_answer_and_its_chart_are_on_the_first_screen(
    browser: Browser, page: str, width: int
) -> None:
    browser.open(GOLDEN / page, width=width)
    for what in (".sentence", ".answer .plot"):
        box = browser.run(f"document.querySelector('{what}').getBoundingClientRect().bottom")
        assert 0 < box <= HEIGHT


@pytest.mark.parametrize("page", ["report.html", "workloads/report.html"])
def test_a_desk_shows_tables_without_scrolling(browser: Browser, page: str) -> None:
    browser.open(GOLDEN / page, width=WIDTHS[-1])
    browser.run(_OPEN)
    assert browser.run(_SCROLLED) == []


@pytest.mark.parametrize("page", PAGES)
def test_no_printed_page_is_blank(browser: Browser, tmp_path: Path, page: str) -> None:
    browser.open(GOLDEN / page, width=1280)
    browser.print_page(tmp_path / "page.pdf")
    sheets = _draw_sheets(tmp_path)
    assert [sheet.name for sheet in sheets if _find_ink(sheet) < _INK] == []
    # What is folded on a screen is on paper.
    if page != "verdicts/verdicts.html":
        words = subprocess.run(
            ["pdftotext", tmp_path / "page.pdf", "-"], check=True, capture_output=True, text=True
        ).stdout
        assert "campaign-done" in words


def test_what_it_looks_for_is_found(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!DOCTYPE html><body><p style='width: 900px'>wide</p>"
        "<svg viewBox='0 0 1000 10' style='width: 300px'><text font-size='16'>small</text></svg>"
        "<p style='break-before: page'>.</p><p style='break-before: page'>last</p>",
        encoding="utf-8",
    )
    browser.open(page, width=390)
    assert browser.run(_OVERFLOW)[0] == "the page scrolls"
    assert browser.run(_SMALLEST) == pytest.approx(4.8, abs=0.1)
    browser.print_page(tmp_path / "page.pdf")
    assert [_find_ink(sheet) < _INK for sheet in _draw_sheets(tmp_path)][1]


def _draw_sheets(folder: Path) -> list[Path]:
    subprocess.run(
        ["pdftoppm", "-r", "40", "-gray", "-png", folder / "page.pdf", folder / "sheet"],
        check=True,
    )
    return sorted(folder.glob("sheet-*.png"))


def _find_ink(sheet: Path) -> float:
    """The share of pixels that are not paper."""
    with Image.open(sheet) as picture:
        counts = picture.convert("L").histogram()
    return sum(counts[:240]) / sum(counts)
