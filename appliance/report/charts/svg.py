# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG elements inside a page; they load nothing and fit any width. Pure.

Places along x are percentages, places along y are pixels: a chart gets as wide as its figure is,
and its text keeps its size. The margins are the padding of the `svg` element, into which labels
reach. Curves lie in an inner `svg` that is stretched, with strokes that are not. Colours, strokes
and what a narrow figure leaves out are in `templates/report.css`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.etree import ElementTree as ET

from appliance.units import printable

LINE_PX = 15
"""Between two lines of text that must not run into each other."""

_NARROW = frozenset(" .,:;-'|()[]/!ijltfrI1")
_WIDTHS_PX = (5.5, 8.5, 9.5)
"""Of narrow characters, of all others, of capitals: bold, 12 pixels high, in a wide font."""
_LONGEST_LABEL = 22
_LOGARITHMIC = 10.0
"""From this factor between lowest and highest value on, an axis is logarithmic."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where values stand on an axis, and what is written there."""

    ticks: tuple[float, ...]
    logarithmic: bool

    def place(self, value: float) -> float:
        """Where `value` is: 0 at the first tick, 1 at the last one."""
        first, last = self.ticks[0], self.ticks[-1]
        if self.logarithmic:
            return log10(value / first) / log10(last / first)
        return (value - first) / (last - first)

    def name(self, title: str) -> str:
        """The axis' title says what it is."""
        return f"{title} (logarithmic)" if self.logarithmic else title


def find_scale(lowest: float, highest: float) -> Scale:
    """From 0, or in powers of ten where values differ much (1, 2, 5, 10 … where they fit)."""
    if lowest <= 0 or highest / lowest < _LOGARITHMIC:
        return Scale(tuple(find_ticks(highest)), logarithmic=False)
    first, last = floor(log10(lowest)), ceil(log10(highest))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = [factor * 10.0**power for power in range(first, last + 1) for factor in steps]
    start = max(number for number, tick in enumerate(ticks) if tick <= lowest)
    end = min(number for number, tick in enumerate(ticks) if tick >= highest)
    return Scale(tuple(ticks[start : end + 1]), logarithmic=True)


def find_ticks(highest: float) -> list[float]:
    """From 0 in round steps to at least `highest`; six steps at most, and at least one."""
    highest = max(highest, 0.001)
    rough = highest / 6
    magnitude = 10.0 ** floor(log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= rough)
    return [step * number for number in range(ceil(highest / step) + 1)]


def format_tick(value: float) -> str:
    """`0.5`, `200`, `20k`, `1M`: the label of a tick."""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 10 * factor or value >= factor > 1e3:
            return f"{value / factor:.12g}{unit}"
    return f"{value:.6g}"


class Drawing:
    """One chart: an `svg` of a fixed height, as wide as its figure."""

    def __init__(
        self,
        name: str,
        *,
        title: str,
        description: str,
        height: float,
        left: float,
        right: float,
        classes: str = "",
    ) -> None:
        """`name` is unique in a page; `title` and `description` stand in for the picture.

        `height`, `left` and `right` are pixels: of the plot, and beside it.
        """
        self.root = ET.Element(
            "svg",
            {
                "id": f"chart-{name}",
                "class": f"plot {classes}".strip(),
                "role": "img",
                "aria-labelledby": f"chart-{name}-t chart-{name}-d",
                "style": f"--height: {height:g}px; --left: {left:g}px; --right: {right:g}px",
            },
        )
        for tag, text in (("title", title), ("desc", description)):
            ET.SubElement(self.root, tag, {"id": f"chart-{name}-{tag[0]}"}).text = printable(text)

    def add_group(self, classes: str) -> ET.Element:
        """A group of elements, such as a series with its colour."""
        return ET.SubElement(self.root, "g", {"class": classes})

    def render(self) -> str:
        """The element as text."""
        return ET.tostring(self.root, encoding="unicode")


def add_text(
    parent: ET.Element,
    text: str,
    *,
    x: float,
    y: float,
    dx: float = 0.0,
    anchor: str = "start",
    classes: str = "",
) -> None:
    """A text at `x` percent and `y` pixels (its middle), `dx` pixels to the right of that."""
    attributes = {"x": percent(x), "y": f"{y:g}", "dy": ".35em"}
    if dx:
        attributes["dx"] = f"{dx:g}"
    if anchor != "start":
        attributes["text-anchor"] = anchor
    if classes:
        attributes["class"] = classes
    ET.SubElement(parent, "text", attributes).text = printable(text)


def add_line(
    parent: ET.Element, *, x: tuple[float, float], y: tuple[float, float], classes: str
) -> None:
    """A straight line; x in percent, y in pixels."""
    ET.SubElement(
        parent,
        "line",
        {
            "x1": percent(x[0]),
            "x2": percent(x[1]),
            "y1": f"{y[0]:.1f}",
            "y2": f"{y[1]:.1f}",
            "class": classes,
        },
    )


def add_box(
    parent: ET.Element,
    *,
    x: float,
    width: float,
    y: float,
    height: float,
    classes: str = "",
    says: str = "",
) -> None:
    """A rectangle; x and width in percent, y and height in pixels. `says` is for a pointer."""
    box = ET.SubElement(
        parent,
        "rect",
        {"x": percent(x), "width": percent(width), "y": f"{y:g}", "height": f"{height:g}"},
    )
    if classes:
        box.set("class", classes)
    if says:
        ET.SubElement(box, "title").text = printable(says)


def add_dot(
    parent: ET.Element, *, x: float, y: float, radius: float, classes: str, says: str
) -> None:
    """A dot at `x` percent and `y` pixels. `says` is for a pointer."""
    dot = ET.SubElement(
        parent,
        "circle",
        {"cx": percent(x), "cy": f"{y:.1f}", "r": f"{radius:g}", "class": classes},
    )
    if says:
        ET.SubElement(dot, "title").text = printable(says)


def add_curves(
    parent: ET.Element, runs: Iterable[Sequence[tuple[float, float]]], *, height: float
) -> None:
    """Curves through (percent, pixel); one point alone is none."""
    paths = [
        "M" + "L".join(f"{10 * x:.1f} {y:.1f}" for x, y in run) for run in runs if len(run) > 1
    ]
    if not paths:
        return
    inner = ET.SubElement(
        parent,
        "svg",
        {
            "viewBox": f"0 0 1000 {height:g}",
            "preserveAspectRatio": "none",
            "width": "100%",
            "height": f"{height:g}",
            "overflow": "visible",
        },
    )
    ET.SubElement(inner, "path", {"d": "".join(paths)})


def percent(value: float) -> str:
    """A place along x."""
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def measure(texts: Iterable[str]) -> float:
    """About how many pixels the widest text takes, rather too many than too few."""
    narrow, usual, capital = _WIDTHS_PX
    return max(
        (
            sum(narrow if c in _NARROW else capital if c.isupper() else usual for c in text)
            for text in texts
        ),
        default=0.0,
    )


def shorten(text: str) -> str:
    """What fits beside a chart; the whole text is in the legend and in the table."""
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def spread(places: Sequence[float], *, lowest: float) -> list[float]:
    """Places near the wanted ones, at least LINE_PX apart, none above `lowest` (y grows down).

    What is crowded moves down from the top, then up from the bottom: with less room than labels
    they would run over the end, so who calls leaves labels out then.
    """
    order = sorted(range(len(places)), key=lambda number: places[number])
    ys = list(places)
    before: float = -LINE_PX
    for number in order:
        ys[number] = before = max(ys[number], before + LINE_PX)
    after = lowest + LINE_PX
    for number in reversed(order):
        ys[number] = after = min(ys[number], after - LINE_PX)
    return ys
