"""Charts as SVG elements that live inside a page and load nothing; boot time over cycle.

pygal lays a chart out; scripts, comments, styles and namespaces are taken off, because a page
needs none of them: its own style sheet (`templates/report.css`) paints the chart, light and dark.
"""

from collections.abc import Sequence
from functools import partial
from math import ceil, floor, log10
from xml.etree import ElementTree as ET

import pygal
from pygal.style import Style

from appliance.report.series import Series

_OVERLAYS = {"text-overlay", "tooltip-overlay"}
_MAX_LABELS = 20

_FONT = "system-ui, sans-serif"
STYLE = Style(
    font_family=_FONT,
    label_font_size=13,
    major_label_font_size=13,
    title_font_size=13,
)
"""Only what pygal computes the layout from; colours are in report.css."""


def draw_boot_times(
    all_series: Sequence[Series], *, cycles: int, colors: Sequence[int] = ()
) -> str:
    """One line per drive, a dot per boot, y from 0; a boot that failed leaves a gap.

    `colors` has one per series; without it each has that of its place. Empty where there is no
    boot to draw.
    """
    slowest_s = max((boot_s for series in all_series for boot_s in series.boot_s), default=None)
    if slowest_s is None:
        return ""
    ticks = find_ticks(slowest_s)
    chart = pygal.Line(
        js=(),
        style=STYLE,
        width=920,
        height=400,
        margin=12,
        dots_size=4.5,
        allow_interruptions=True,
        range=(0, ticks[-1]),
        x_title="cycle",
        y_title="boot time in seconds",
        x_labels_major_every=ceil(cycles / _MAX_LABELS),
        show_minor_x_labels=cycles <= _MAX_LABELS,
        # The page has its own: pygal's leaves out what does not fit.
        show_legend=False,
    )
    # The default is a random one; the same rows must give the same page.
    chart.uuid = "boot-times"
    chart.x_labels = [str(cycle) for cycle in range(1, cycles + 1)]
    chart.y_labels = [{"value": tick, "label": f"{tick:g}"} for tick in ticks]
    for series in all_series:
        times = dict(zip(series.cycles, series.boot_s, strict=True))
        chart.add(
            series.label,
            [times.get(cycle) for cycle in range(1, cycles + 1)],
            formatter=partial(_describe, series.label),
        )
    return finish_chart(
        chart,
        title="Boot time in seconds over cycle, one line per drive",
        classes=[f"serie-{number} color-{color}" for number, color in enumerate(colors)],
    )


def finish_chart(chart: pygal.Graph, *, title: str, classes: Sequence[str] = ()) -> str:
    """The chart as it stands in a page. `title` is what a screen reader says.

    `classes` has the classes of each series, in their order: a colour, a kind of line. A series
    with an empty one keeps its place and is not drawn.
    """
    root = chart.render_tree()
    root.attrib.pop("xmlns", None)
    root.set("role", "img")
    _strip(root)
    for heading in root.findall("title"):
        heading.text = title
    for group in root.iter("g"):
        words = (group.get("class") or "").split()
        if classes and "series" in words:
            wanted = classes[int(words[1].removeprefix("serie-"))]
            group.set("class", f"series {wanted}")
            if not wanted:
                group[:] = []
    return ET.tostring(root, encoding="unicode")


def _describe(label: str, seconds: float) -> str:
    return f"{label}: {seconds:.3f} s"


def find_ticks(highest: float) -> list[float]:
    """From 0 in round steps to at least `highest`; six steps at most, and at least one."""
    highest = max(highest, 0.001)
    rough = highest / 6
    magnitude = 10.0 ** floor(log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= rough)
    return [step * number for number in range(ceil(highest / step) + 1)]


def _strip(element: ET.Element) -> None:
    """Take off what needs a script or another file; what a dot says becomes its tooltip."""
    for child in list(element):
        # The tag of a comment is a function.
        is_element = isinstance(child.tag, str)
        if not is_element or child.tag == "defs" or _OVERLAYS & set(child.get("class", "").split()):
            element.remove(child)
        elif child.tag == "desc":
            element.remove(child)
            if child.get("class") == "value":
                ET.SubElement(element, "title").text = child.text
        else:
            _strip(child)
