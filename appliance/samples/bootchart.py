# SPDX-License-Identifier: Apache-2.0
"""The recorded numbers from systemd-bootchart's SVG. Pure.

Only figures leave this module: nothing of the file itself gets into a page. The graphs are those
of systemd-bootchart's src/svg.c: bars over a box whose width is the recording; a graph of I/O is
scaled to its own highest bar, whose rate is written beside it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

MAX_BYTES = 8 << 20
"""A longer file is no chart of a boot."""

_READ = "IO utilization - read"
_CPU = "CPU[overall] utilization"
_HEIGHT = 5.0
"""Of a graph, in units of the chart's y scale (svg_graph_box(of, head, 5, graph_start))."""

_SCALE = re.compile(r'<!-- x="([\d.]+)" y="([\d.]+)" -->')
_RATE = re.compile(r"([\d.]+)mb/sec")


class BootchartError(ValueError):
    """The text is no chart of systemd-bootchart: one clause saying why."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One sample of a graph."""

    start_s: float
    seconds: float
    value: float
    """Bytes per second, or the share of all processors that was busy, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Bootchart:
    """What was sampled while a machine booted; samples next to zero are left out by the tool."""

    seconds: float
    """How long was sampled."""
    read: tuple[Bar, ...]
    """Bytes per second that came from block devices."""
    busy: tuple[Bar, ...]
    """Share of all processors."""


def parse_bootchart(text: str) -> Bootchart:
    """Raises BootchartError where it is none, or its graphs are not where they should be."""
    if len(text) > MAX_BYTES:
        raise BootchartError(f"it is longer than {MAX_BYTES} characters")
    if "<!ENTITY" in text:
        raise BootchartError("it defines entities")
    try:
        root = ET.fromstring(text)  # noqa: S314 - without entities
    except ET.ParseError as error:
        raise BootchartError(f"it is no XML: {error}") from error
    per_second, unit = _find_scale(text)
    graphs = {_title(group): group for group in root.iter() if _tag(group) == "g"}
    if _READ not in graphs or _CPU not in graphs:
        raise BootchartError("its graphs of I/O and processors are missing")
    try:
        box = next(one for one in _rects(graphs[_READ]) if one.get("class") == "box")
        highest = _RATE.search(" ".join(graphs[_READ].itertext()))
        # "mb" are 1024 of the kernel's KiB (pgpgin).
        peak_bytes_s = float(highest.group(1)) * (1 << 20) if highest else 0.0
        return Bootchart(
            seconds=float(box.get("width", "")) / per_second,
            read=_read_bars(graphs[_READ], "bi", per_second, peak_bytes_s / (unit * _HEIGHT)),
            busy=_read_bars(graphs[_CPU], "cpu", per_second, 1.0 / (unit * _HEIGHT)),
        )
    except (ValueError, StopIteration) as error:
        raise BootchartError("its graphs are not as systemd-bootchart draws them") from error


def _find_scale(text: str) -> tuple[float, float]:
    """Pixels per second, and of one unit of height: both are in a comment."""
    match = _SCALE.search(text)
    if match is None or not all(float(number) > 0 for number in match.groups()):
        raise BootchartError("its scale is missing")
    return float(match.group(1)), float(match.group(2))


def _read_bars(
    group: ET.Element, wanted: str, per_second: float, per_pixel: float
) -> tuple[Bar, ...]:
    return tuple(
        Bar(
            start_s=float(rect.get("x", "")) / per_second,
            seconds=float(rect.get("width", "")) / per_second,
            value=float(rect.get("height", "")) * per_pixel,
        )
        for rect in _rects(group)
        if rect.get("class") == wanted
    )


def _rects(group: ET.Element) -> Iterator[ET.Element]:
    return (child for child in group if _tag(child) == "rect")


def _title(group: ET.Element) -> str:
    first = next((child for child in group if _tag(child) == "text"), None)
    return (first.text or "") if first is not None else ""


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
