# SPDX-License-Identifier: Apache-2.0
"""The central figure: only the hybrid gets faster, and the stick's database says so."""

import hashlib
from pathlib import Path

from tests.lab.campaign import IMAGE
from tests.lab.demo import boots_by_drive, format_table, run_demo
from tests.lab.stick import find_partitions

# One to learn by, and one to show it.
_CYCLES = 2
_FIRMWARE_S = 60


def test_only_the_hybrid_gets_faster_with_each_boot(out: Path) -> None:
    system_partitions = _system_partitions(IMAGE)
    result = run_demo(out, cycles=_CYCLES, await_off=False)

    assert result.ok, f"{result.outcome}: {result.reason}"
    boots = boots_by_drive(result.boot_times())
    print(format_table(boots))
    assert {serial: len(seconds) for serial, seconds in boots.items()} == {
        "LAB-HDD-1": _CYCLES,
        "LAB-SSHD-1": _CYCLES,
        "LAB-SSD-1": _CYCLES,
    }
    gain = {serial: seconds[0] / min(seconds[1:]) for serial, seconds in boots.items()}
    assert gain["LAB-SSHD-1"] > 1.3
    assert gain["LAB-SSHD-1"] > 1.15 * gain["LAB-HDD-1"]
    assert gain["LAB-SSHD-1"] > 1.15 * gain["LAB-SSD-1"]
    assert min(boots["LAB-HDD-1"]) > 1.3 * max(boots["LAB-SSHD-1"][1:])

    for row in result.boot_times():
        # No emulated drive counts its power cycles, so nothing may be called proven.
        assert (row.power, row.cold_proof) == ("cold", "unproven")
        assert row.cold_reason
        # Each boot was its alarm's: firmware and loader alone come in between.
        assert row.wake_skew_s is not None
        assert 0 < row.wake_skew_s < _FIRMWARE_S

    # From outside: a measured boot reads the drive and writes nothing to it.
    for name, stats in result.stats.items():
        measured = [one for one in stats[1:] if one["read_bytes"] > 20 << 20]
        assert len(measured) == _CYCLES, name
        assert all(one["write_bytes"] + one["trim_bytes"] == 0 for one in stats[1:]), name

    assert result.report is not None
    page = (result.report / "report.html").read_text()
    assert "LAB-SSHD-1" in page
    assert "<svg" in page
    assert "before its alarm" not in page
    for name in ("results.csv", "results.json", "kaltstart.sqlite"):
        assert (result.report / name).stat().st_size > 0
    assert _system_partitions(out / "stick.raw") == system_partitions


def _system_partitions(stick: Path) -> list[str]:
    """Hashes of the partitions that must never change, the ones after KALTSTART."""
    hashes = []
    with stick.open("rb") as raw:
        for partition in find_partitions(stick)[1:5]:
            raw.seek(partition.offset_bytes)
            hashes.append(hashlib.sha256(raw.read(partition.size_bytes)).hexdigest())
    return hashes
