# SPDX-License-Identifier: Apache-2.0
"""What a start-up waited for, from what `systemctl show` says of its units."""

import pytest

from appliance.samples.unit_times import parse_unit_times

_FORM = """\
Id={name}
Names={names}
After={after}
InactiveExitTimestampMonotonic={began}
ActiveEnterTimestampMonotonic={active}
InactiveEnterTimestampMonotonic={ended}
"""


def _unit(name: str, began: int, active: int, *, after: str = "", ended: int = 0) -> str:
    names = f"{name} default.target" if name == "graphical.target" else name
    return _FORM.format(
        name=name, names=names, after=after, began=began, active=active, ended=ended
    )


def _units(*units: str) -> str:
    return "\n".join(units)


def test_the_chain_goes_back_over_what_was_ready_last() -> None:
    text = _units(
        _unit("graphical.target", 9_000_000, 9_000_000, after="slow.service quick.service"),
        _unit("slow.service", 2_000_000, 8_900_000, after="disk.mount other.service"),
        _unit("quick.service", 2_000_000, 2_100_000, after="disk.mount"),
        # Ready when slow.service was under way already: nothing waited for it.
        _unit("other.service", 1_000_000, 3_000_000),
        _unit("disk.mount", 1_000_000, 1_900_000),
    )
    found = {each.unit: each for each in parse_unit_times(text, finish_s=9.5)}
    chain = sorted((each for each in found.values() if each.chain is not None), key=_place)
    assert [each.unit for each in chain] == ["graphical.target", "slow.service", "disk.mount"]
    assert found["slow.service"].seconds == pytest.approx(6.9)
    assert found["other.service"].chain is None


def _place(unit: object) -> int:
    return int(getattr(unit, "chain"))  # noqa: B009


def test_a_oneshot_that_is_over_was_ready_when_it_ended() -> None:
    text = _units(_unit("once.service", 1_000_000, 0, ended=1_500_000))
    (found,) = parse_unit_times(text, finish_s=9)
    assert (found.began_s, found.ready_s, found.chain) == (1.0, 1.5, None)


@pytest.mark.parametrize(
    "unit",
    [
        _unit("never.service", 0, 0),
        _unit("under-way.service", 3_000_000, 0),
        _unit("later.service", 9_000_000, 12_000_000),
        _unit("instant.service", 3_000_000, 3_000_400),
        _unit("dev-sda.device", 3_000_000, 8_000_000),
        "Id=broken.service\nInactiveExitTimestampMonotonic=[not set]\n",
        "",
    ],
)
def test_what_was_not_ready_by_the_end_or_took_no_time_is_left_out(unit: str) -> None:
    assert parse_unit_times(unit, finish_s=10) == ()


def test_units_ordered_in_a_ring_end_the_chain() -> None:
    text = _units(
        _unit("graphical.target", 5, 5, after="a.service"),
        _unit("a.service", 5, 5, after="graphical.target b.service"),
        _unit("b.service", 5, 5, after="a.service"),
    )
    assert sorted((each.chain, each.unit) for each in parse_unit_times(text, finish_s=1)) == [
        (0, "graphical.target"),
        (1, "a.service"),
        (2, "b.service"),
    ]
