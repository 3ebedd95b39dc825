# SPDX-License-Identifier: Apache-2.0
"""What limited a result (machine, link, processors), and whether it can be judged. Pure.

Never lets a drive be held to account for what it was connected with. A figure that the machine had
decided about is held against no limit, and a limit is never stricter than the link allows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from appliance.drives.facts.link_rates import Carried
from appliance.phrases import N_, Phrase
from appliance.verdict.evidence import Bound, Figure
from appliance.verdict.gather_figures import MB
from appliance.verdict.limits import LIMITS, LimitKind

_REMARK_SHARE, _REJECT_SHARE = 0.4, 0.2
"""A limit on speed counts up to these shares of what the link carries. A good drive gets more:
through USB 2 disks write 25 to 30 and read 30 to 42 of its 53 MB/s (CNET's tests, after Wikipedia,
"USB"); other links lose less."""

BUSY_SHARE = 0.5
"""A processor that was at its limit for this share of the time has decided the speed."""

_HEAT_MARGIN = 10.0
_SMALL_BYTES = 4096
"""A request of fio's random tests."""
_VIRTUAL = N_("timed in a virtual machine, whose host decides how fast it is")
_NO_LINK = N_("the speed of its link is not known")


@dataclass(frozen=True, slots=True)
class TimingContext:
    """How a drive was connected in a campaign."""

    is_virtual: bool
    link: str
    """How fast its link was, in words: `6.0 Gb/s, then 1.5 Gb/s` where it changed."""
    carried: Carried | None
    """By the slowest of them; None where one is not known."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What a workload asks a drive for before it waits for an answer."""

    requests: int = 1
    each_bytes: int = _SMALL_BYTES


def bound_figures(
    figures: Mapping[str, Figure],
    context: TimingContext,
    *,
    busy_shares: Mapping[str, float] = MappingProxyType({}),
    under_way: Mapping[str, UnderWay] = MappingProxyType({}),
) -> dict[str, Figure]:
    """The figures, those that were timed with a bound, or set aside.

    By the limits' names: `busy_shares` is in which share of the time behind a figure a processor
    was at its limit, `under_way` what was asked for at a time.
    """
    return {
        name: _bound(
            LIMITS[name],
            figure,
            context,
            busy_share=busy_shares.get(name, 0.0),
            under_way=under_way.get(name, UnderWay()),
        )
        for name, figure in figures.items()
    }


def _bound(
    kind: LimitKind,
    figure: Figure,
    context: TimingContext,
    *,
    busy_share: float,
    under_way: UnderWay,
) -> Figure:
    if not kind.is_timed or not figure.is_held:
        return figure
    if context.is_virtual:
        return replace(figure, set_aside=_VIRTUAL)
    if kind.unit not in {"MB/s", "1/s", "ms"}:
        return figure  # against the drive's own other figures, or a boot of this very machine
    if busy_share >= BUSY_SHARE:
        busy = Phrase(
            N_("for {share} of the time a processor was at its limit"),
            share=f"{100 * busy_share:.0f} %",
        )
        return replace(figure, set_aside=busy)
    if context.carried is None:
        return replace(figure, set_aside=_NO_LINK)
    return replace(figure, bound=_bound_by_link(kind, context.carried, under_way))


def _bound_by_link(kind: LimitKind, carried: Carried, under_way: UnderWay) -> Bound:
    if kind.unit == "MB/s":
        most_mb = carried.bytes_s / MB
        words = Phrase(
            N_("{rate} that {link} carries"), rate=f"{most_mb:.0f} MB/s", link=carried.name
        )
        return _bound_below(most_mb, words)
    if kind.unit == "1/s":
        most = 1 / max(_SMALL_BYTES / carried.bytes_s, carried.request_s)
        words = Phrase(
            N_("{count} small requests per second that {link} carries"),
            count=round(most),
            link=carried.name,
        )
        return _bound_below(most, words)
    way_s = max(under_way.each_bytes / carried.bytes_s, carried.request_s)
    least_ms = under_way.requests * way_s * 1e3
    return Bound(
        round(least_ms / _REMARK_SHARE, 1),
        round(least_ms / _REJECT_SHARE, 1),
        Phrase(
            N_(
                "{low} (to reject: {high}) times the {rate} that what is asked for at a time takes "
                "through {link}"
            ),
            low=f"{1 / _REMARK_SHARE:g}",
            high=f"{1 / _REJECT_SHARE:g}",
            rate=f"{least_ms:.1f} ms",
            link=carried.name,
        ),
    )


def _bound_below(most: float, words: str) -> Bound:
    return Bound(
        round(most * _REMARK_SHARE, 1),
        round(most * _REJECT_SHARE, 1),
        Phrase(
            N_("{low} (to reject: {high}) of the {what}"),
            low=f"{100 * _REMARK_SHARE:.0f} %",
            high=f"{100 * _REJECT_SHARE:.0f} %",
            what=words,
        ),
    )


def bound_temperature(figure: Figure, limit_celsius: float | None) -> Figure:
    """The highest temperature; `limit_celsius` is the drive's own limit, if it names one."""
    if limit_celsius is None or figure.value is None:
        return figure
    return replace(
        figure,
        bound=Bound(
            limit_celsius - _HEAT_MARGIN,
            limit_celsius,
            Phrase(
                N_("its own limit is {limit}, and a remark begins at most {margin} below"),
                limit=f"{limit_celsius:.0f} °C",
                margin=f"{_HEAT_MARGIN:.0f} °C",
            ),
        ),
    )
