# SPDX-License-Identifier: Apache-2.0
"""Rendering views as HTML from templates.

Here, and in `charts`, text from a drive or a plan is made printable and, but for our SVG, escaped.
"""

import re
from collections.abc import Iterable
from functools import cache
from itertools import cycle
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from appliance import VERSION
from appliance.report.blocks import ChartView
from appliance.report.boots.views import PARTS
from appliance.report.ratios import RATIO_RULES
from appliance.report.serial_code import draw_serial_code
from appliance.report.verdicts import VerdictsView
from appliance.report.views import ReportView
from appliance.units import printable


def render_page(view: ReportView) -> str:
    """One self-contained HTML document."""
    return (
        _environment()
        .get_template("report.html.j2")
        .render(view=view, parts=PARTS, draw=_mark_drawn)
    )


def render_comparison(campaigns: Iterable[str], lines: Iterable[str]) -> str:
    """One self-contained HTML document of the lines of `ratios.compare_campaigns`.

    `campaigns`: a line about each.
    """
    pairs: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(" "):
            pairs[-1][1].append(line.strip())
        else:
            pairs.append((line.removesuffix(":"), []))
    return (
        _environment()
        .get_template("comparison.html.j2")
        .render(version=VERSION, campaigns=campaigns, pairs=pairs, rules=RATIO_RULES)
    )


def render_verdicts(view: VerdictsView) -> str:
    """One self-contained HTML document with a sheet of A4 per drive."""
    return _environment().get_template("verdicts.html.j2").render(view=view, draw_code=_mark_code)


def _mark_drawn(chart: ChartView) -> Markup:
    """A chart: drawn by `charts`, whose text all passes ElementTree."""
    return Markup(chart.svg)  # noqa: S704  # our own drawing


def _mark_code(serial: str) -> Markup:
    """A QR code: drawn by segno, and no text of the serial number is in it."""
    return Markup(draw_serial_code(serial))  # noqa: S704  # our own drawing


def _make_printable(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


def _keep_whole(text: str, names: Iterable[str]) -> Markup:
    """The text with each of `names` in one piece: a line ends before it, at none of its hyphens."""
    words = sorted({printable(name) for name in names if name}, key=len, reverse=True)
    if not words:
        return Markup.escape(printable(text))
    parts = re.split(f"({'|'.join(map(re.escape, words))})", printable(text))
    pieces = (
        Markup('<span class="whole">{}</span>').format(part) if is_name else Markup.escape(part)
        for part, is_name in zip(parts, cycle((False, True)), strict=False)
    )
    return Markup().join(pieces)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_make_printable,
    )
    environment.filters["keep_whole"] = _keep_whole
    return environment
