# SPDX-License-Identifier: Apache-2.0
"""Which drives are said to share something, and what."""

from dataclasses import replace

import pytest

from appliance.workloads.contention.sharing import Member, find_shares

_HBA = "PCI 0000:03:00.0 (mpt3sas)"
_EXPANDER = "SAS expander 0x500304800000007f"
_AHCI = "PCI 0000:00:1f.2 (ahci)"
_MB = 1e6


def _make(label: str, *chain: str, alone: float = 190, together: float = 150) -> Member:
    """With readings that differ by a hundredth."""
    factors = (0.99, 1.0, 1.01, 1.0)
    return Member(
        label,
        chain,
        tuple(alone * _MB * each for each in factors),
        tuple(together * _MB * each for each in factors),
    )


def _name(members: list[Member]) -> list[tuple[tuple[str, ...], list[str]]]:
    return [(each.node, [one.label for one in each.members]) for each in find_shares(members)]


def test_drives_behind_one_expander_share_it() -> None:
    behind = [_make(f"B{n}", _HBA, _EXPANDER) for n in range(4)]
    beside = [_make(f"A{n}", _AHCI, f"ATA port {n}", together=190) for n in range(2)]
    assert _name([*beside, *behind]) == [((_HBA, _EXPANDER), ["B0", "B1", "B2", "B3"])]
    assert find_shares(behind)[0].bytes_s == pytest.approx(600 * _MB)


def test_a_neighbour_that_reads_on_clears_what_leads_to_it() -> None:
    """The controller is wide enough for a faster drive on it; the expander is not."""
    drives = [_make(f"B{n}", _HBA, _EXPANDER) for n in range(2)]
    drives.append(_make("DIRECT", _HBA, alone=500, together=500))
    assert _name(drives) == [((_HBA, _EXPANDER), ["B0", "B1"])]


def test_a_slow_neighbour_that_keeps_its_rate_clears_nothing() -> None:
    drives = [_make(f"B{n}", _HBA, _EXPANDER) for n in range(3)]
    drives.append(_make("SLOW", _HBA, _EXPANDER, alone=40, together=40))
    assert _name(drives) == [((_HBA, _EXPANDER), ["B0", "B1", "B2"])]


def test_drives_with_nothing_in_common_share_the_machine() -> None:
    drives = [_make("A", _AHCI), _make("B", _HBA), _make("C", _HBA)]
    assert _name(drives) == [((), ["A", "B", "C"])]


def test_one_that_falls_behind_alone_is_said_to_do_so() -> None:
    drives = [_make("A", _AHCI), _make("B", _AHCI, alone=190, together=190)]
    assert _name(drives) == [((_AHCI,), ["A"])]


def test_no_drive_is_slowed_down_where_the_readings_only_differ() -> None:
    noisy = Member("N", (_HBA,), (200e6, 150e6, 190e6, 170e6), (140e6, 155e6, 150e6, 145e6))
    small = _make("S", _HBA, alone=190, together=180)
    assert not noisy.falls_behind, "its readings overlap"
    assert not small.falls_behind, "less than a tenth"
    assert find_shares([noisy, small]) == ()


def test_too_few_readings_say_nothing() -> None:
    few = replace(_make("F", _HBA), together=(1e6, 1e6))
    assert find_shares([few, _make("A", _HBA, together=190)]) == ()
