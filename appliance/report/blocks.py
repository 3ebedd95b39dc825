# SPDX-License-Identifier: Apache-2.0
"""The content of a workload's section: charts, tables and heat maps as text, and number formats.

Pure. Every kind of workload builds its section from these few shapes; the templates know no kind.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appliance.report.figures import Figure
from appliance.units import format_size

DASH = "–"
_LONG = 12


@dataclass(frozen=True, slots=True)
class CacheView:
    """The state of every cache under one figure, or under all figures of one line."""

    page_cache: str
    """What the accesses met; before it that they began cold, where they met something else then."""
    proof: str
    """proven | unproven | partly"""
    reason: str
    ram_share: str
    """Of what the application read, how much the RAM answered."""
    ballast: str
    drive_state: str
    array: str
    """The array's cache mode and whether it was clean; empty without an array."""
    dirty: bool
    """Whether something was only in the array's cache: writing it back went on beside it."""


@dataclass(frozen=True, slots=True)
class LineView:
    """One line of a table."""

    heads: tuple[str, ...]
    values: tuple[str, ...]
    cache: CacheView
    invalid: str = ""
    """Why figures behind this line do not count; empty where all do."""
    struck: bool = False
    """Whether the values shown are those that do not count; else they are what is left."""


@dataclass(frozen=True, slots=True)
class TableView:
    """One table; each line has its cache state at its end."""

    heads: tuple[str, ...]
    """Headings of the columns that name a line."""
    columns: tuple[str, ...]
    """Headings of the columns with figures."""
    lines: tuple[LineView, ...]
    title: str = ""
    note: str = ""
    with_caches: bool = True
    """Whether each line ends with the caches between program and platter."""


@dataclass(frozen=True, slots=True)
class CompareCell:
    """One figure of one place with its condition under it."""

    value: str
    state: str
    doubt: str = ""
    """dirty | unproven | invalid, the worst of them; empty where nothing is wrong."""


@dataclass(frozen=True, slots=True)
class CompareView:
    """The cache drive alone, the backing drive alone and the array side by side."""

    heads: tuple[str, ...]
    lines: tuple[tuple[str, tuple[CompareCell, ...], str, str], ...]
    """What was measured, the places' figures, the array against the backing drive, its share."""

    @property
    def is_long(self) -> bool:
        """Whether it opens on demand: charts show the same at a glance."""
        return len(self.lines) > _LONG


@dataclass(frozen=True, slots=True)
class LegendView:
    """One entry beside a chart."""

    label: str
    color: int
    style: str = "line-0"
    """line-0 solid | line-1 dashed | line-2 dotted | line-3 mixed | reference | area"""


@dataclass(frozen=True, slots=True)
class ChartView:
    """One chart; `svg` is empty where there is nothing to draw."""

    title: str
    svg: str
    legend: tuple[LegendView, ...]
    note: str = ""
    wide: bool = False
    """Whether it takes a whole line of the page; others are set in pairs."""

    @property
    def is_named(self) -> bool:
        """Whether the names stand at the lines' ends: then only a narrow figure needs a legend."""
        return ' named"' in self.svg[:200]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One figure of a plane: its level, 0 to 8, is its colour."""

    text: str
    share: str
    level: int
    kind: str
    """drive | ram | mixed | unknown | invalid | none"""


@dataclass(frozen=True, slots=True)
class HeatView:
    """A plane of figures, file sizes down, record sizes across."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[HeatCell, ...]], ...]


@dataclass(frozen=True, slots=True)
class FoldView:
    """What opens on demand, and is printed in any case."""

    summary: str
    charts: tuple[ChartView, ...] = ()
    heats: tuple[HeatView, ...] = ()
    tables: tuple[TableView, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockView:
    """One [[workload]] of the plan."""

    planned: str
    tables: tuple[TableView, ...]
    charts: tuple[ChartView, ...] = ()
    folds: tuple[FoldView, ...] = ()
    title: str = ""
    comparison: CompareView | None = None
    marks: tuple[str, ...] = ()
    """What must not be overlooked in the charts."""
    panels: tuple[ChartView, ...] = ()
    """Charts of one time axis, under each other."""
    index: int | None = None
    """Its place in the plan, from 0."""


@dataclass(frozen=True, slots=True)
class SectionView:
    """All workloads of a kind."""

    title: str
    note: str
    blocks: tuple[BlockView, ...]


@dataclass(frozen=True, slots=True)
class StepView:
    """What ran, on what, and how it ended."""

    number: int
    kind: str
    label: str
    state: str
    reason: str
    parts: str
    served: str
    """Bytes that the device read and wrote in this step, all parts and preparation together."""
    attempts: str
    started: str
    finished: str
    raw: str
    """Where its tools' output lies on the stick; empty where there is none."""


def view_caches(figures: Sequence[Figure]) -> CacheView:
    """The states under all `figures`, each said once."""
    caches = [cache for figure in figures for cache in figure.caches]
    proofs = {cache.proof for cache in caches}
    # The reason of what is missing matters more than the reasons of what is there.
    doubts = [cache.reason for cache in caches if cache.proof != "proven" and cache.reason]
    reasons = doubts or [cache.reason for cache in caches if cache.reason]
    drive_state = _list_some([cache.drive_state for cache in caches if cache.drive_state], limit=1)
    began_cold = figures and all(figure.began_cold for figure in figures)
    start = "began cold (proven), then " if began_cold and proofs != {"proven"} else ""
    return CacheView(
        page_cache=start + _list(cache.page_cache for cache in caches),
        proof=proofs.pop() if len(proofs) == 1 else "partly" if proofs else "unproven",
        reason=_list_some(reasons, limit=1),
        ram_share=format_ram_share(figures),
        ballast=_list(
            format_bytes(cache.ballast_bytes) if cache.ballast_bytes else "none" for cache in caches
        ),
        drive_state="; ".join(filter(None, (drive_state, describe_beside(figures)))),
        array=describe_array(figures),
        dirty=any(figure.dirty_bytes for figure in figures),
    )


def describe_beside(figures: Sequence[Figure]) -> str:
    """`tested beside 11 other drives`; empty where the machine tested nothing else meanwhile."""
    beside = max((figure.beside for figure in figures), default=0)
    return f"tested beside {count(beside, 'other drive')}" if beside else ""


def describe_array(figures: Sequence[Figure]) -> str:
    """`writeback, clean`; empty where no array was measured."""
    modes = dict.fromkeys(c.array_mode for f in figures for c in f.caches if c.array_mode)
    if not modes:
        return ""
    dirty_bytes = max(figure.dirty_bytes for figure in figures)
    return f"{', '.join(modes)}, {f'{format_bytes(dirty_bytes)} dirty' if dirty_bytes else 'clean'}"


def explain_invalid(figures: Sequence[Figure]) -> str:
    """Why figures do not count; empty where all do."""
    reasons = [
        cache.reason or "no reason recorded"
        for figure in figures
        if not figure.valid
        for cache in figure.caches
    ]
    return _list_some(reasons)


def find_ram_share(figures: Sequence[Figure]) -> float | None:
    """The share of all bytes read that RAM answered, 0 to 1; None where it is not known.

    Weighed by the bytes that each read, so of several all must say how many those were.
    """
    if len(figures) == 1:
        return figures[0].ram_share
    # A figure that reads nothing, or only sums others up, has neither.
    reading = [f for f in figures if f.values.get("app_read_bytes") or "hit_ratio" in f.values]
    app_bytes = [figure.values.get("app_read_bytes", 0.0) for figure in reading]
    shares = [figure.ram_share for figure in reading]
    if not reading or not all(app_bytes) or None in shares:
        return None
    # Each for itself: what one read ahead does not make up for what RAM answered of another.
    answered = sum(
        read_bytes * (share or 0.0) for read_bytes, share in zip(app_bytes, shares, strict=True)
    )
    return answered / sum(app_bytes)


def format_rate(bytes_s: float | None) -> str:
    """Decimal megabytes per second, as drives are sold."""
    if bytes_s is None:
        return DASH
    megabytes = bytes_s / 1e6
    return f"{megabytes:.0f}" if megabytes >= 1000 else f"{megabytes:.{_digits(megabytes)}f}"


def format_number(value: float | None) -> str:
    """Three figures or more that matter: IOPS."""
    return DASH if value is None else f"{value:.{_digits(value)}f}"


def format_count(number: float | None) -> str:
    """How many: a whole number."""
    return DASH if number is None else f"{number:.0f}"


def format_latency(nanoseconds: float | None) -> str:
    """Nanoseconds as µs, ms or s."""
    if nanoseconds is None:
        return DASH
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:.{_digits(nanoseconds / factor)}f} {unit}"
    return f"{nanoseconds:.0f} ns"


def format_bytes(number: float | None) -> str:
    """Binary sizes: `1.5 GiB`; from 1 TiB on to a thousandth of one."""
    if number is None:
        return DASH
    return format_size(number, decimals=3 if number >= 1 << 40 else 1)


def format_share(share: float | None) -> str:
    """`97 %`; below 1 % and close to 100 % with a decimal, so that neither is rounded away."""
    if share is None:
        return DASH
    percent = 100.0 * share
    exact = percent in {0.0, 100.0} or 1.0 <= percent <= 99.0
    return f"{percent:.0f} %" if exact else f"{percent:.1f} %"


def format_times(factor: float | None) -> str:
    """`3.1 ×`."""
    return DASH if factor is None else f"{factor:.{2 if factor < 10 else 1}f} ×"


def count(number: int, noun: str) -> str:
    """`1 read`, `2 reads`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 10 else 2


def say_start(figures: Sequence[Figure]) -> str:
    """The state of the page cache and what RAM answered: the two facts that a sentence carries.

    `page cache began cold, proven; RAM answered 34 %`
    """
    states = [
        "began cold" if cache.began_cold == "proven" else cache.page_cache
        for figure in figures
        for cache in figure.caches
    ]
    share = format_ram_share(figures)
    ram = "" if share == DASH else f"; RAM answered {share}"
    return f"page cache {_list(states)}, proven{ram}"


def format_ram_share(figures: Sequence[Figure]) -> str:
    """What RAM answered of all figures, or from what to what of each; a dash where none says."""
    share = find_ram_share(figures)
    if share is not None:
        return format_share(share)
    known = sorted(share for f in figures if (share := f.ram_share) is not None)
    if not known:
        return DASH
    low, high = format_share(known[0]), format_share(known[-1])
    return low if low == high else f"{low} to {high}"


def _list(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts)) or DASH


def _list_some(texts: Sequence[str], *, limit: int = 2) -> str:
    distinct = list(dict.fromkeys(texts))
    more = f"; and {len(distinct) - limit} more" if len(distinct) > limit else ""
    return "; ".join(distinct[:limit]) + more
