# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.lab.faults import UndoLog, parse_faults

MIB = 1 << 20


def test_read_error_hits_every_read_that_touches_it() -> None:
    faults = parse_faults(["read-error@1M+64K"])
    assert faults.read_fails(MIB, 512)
    assert faults.read_fails(MIB - 512, 1024)
    assert faults.read_fails(MIB + 65536 - 1, 1)
    assert not faults.read_fails(MIB - 512, 512)
    assert not faults.read_fails(MIB + 65536, 4096)


def test_slow_range_multiplies_and_has_a_floor() -> None:
    faults = parse_faults(["slow@2G+1G x10"])
    assert faults.slowed(0.02, 2 << 30, 4096) == pytest.approx(0.2)
    assert faults.slowed(0.0, 2 << 30, 4096) == pytest.approx(0.01)
    assert faults.slowed(0.02, 0, 4096) == 0.02


def test_vanish_by_time() -> None:
    faults = parse_faults(["vanish@120s"])
    assert not faults.vanished(age_s=119, read_bytes=0, power_on=9)
    assert faults.vanished(age_s=120, read_bytes=0, power_on=1)


def test_vanish_by_what_was_read() -> None:
    faults = parse_faults(["vanish@after20M"])
    assert not faults.vanished(age_s=1e9, read_bytes=(20 << 20) - 1, power_on=9)
    assert faults.vanished(age_s=0, read_bytes=20 << 20, power_on=1)


def test_vanish_at_a_power_on() -> None:
    faults = parse_faults(["vanish@boot3"])
    assert not faults.vanished(age_s=9999, read_bytes=0, power_on=2)
    assert faults.vanished(age_s=0, read_bytes=0, power_on=3)
    assert faults.vanished(age_s=0, read_bytes=0, power_on=4)


def test_away_at_one_power_on() -> None:
    faults = parse_faults(["away@boot3"])
    gone = [faults.vanished(age_s=0, read_bytes=0, power_on=number) for number in (2, 3, 4)]
    assert gone == [False, True, False]


def test_stall_starts_over_at_each_power_on() -> None:
    faults = parse_faults(["stall@30.5s"])
    assert faults.can_stall
    assert not faults.stalled(age_s=30.4, power_on=7)
    assert faults.stalled(age_s=30.5, power_on=1)


def test_stall_at_a_power_on() -> None:
    faults = parse_faults(["stall@boot2", "vanish@boot4"])
    assert not faults.stalled(age_s=9999, power_on=1)
    assert faults.stalled(age_s=0, power_on=2)
    assert faults.stalled(age_s=0, power_on=3)
    assert not faults.vanished(age_s=0, read_bytes=0, power_on=3)


def test_stall_by_what_was_moved() -> None:
    faults = parse_faults(["stall@after32M", "vanish@after64M"])
    assert faults.can_stall
    assert not faults.stalls_after((32 << 20) - 1)
    assert faults.stalls_after(32 << 20)
    assert not faults.stalled(age_s=1e9, power_on=9), "it comes back"
    assert not faults.vanished(age_s=0, read_bytes=(64 << 20) - 1, power_on=1)
    assert not parse_faults(["stall@9s"]).stalls_after(1 << 60)


def test_a_cut_by_what_was_moved_since_a_power_on() -> None:
    faults = parse_faults(["cut@boot1+8M", "cut@boot2+300M"])
    assert not faults.can_stall, "it answers until then, and no machine has to go off beside it"
    moved = [(1, (8 << 20) - 1), (1, 8 << 20), (2, 8 << 20), (2, 300 << 20), (3, 1 << 40)]
    assert [
        faults.waits_for_cut(power_on=power_on, moved_bytes=moved_bytes)
        for power_on, moved_bytes in moved
    ] == [False, True, False, True, False]


def test_aliases_wrap_round_as_often_as_it_takes() -> None:
    faults = parse_faults(["alias@1M"])
    assert list(faults.pieces(4096, 8192)) == [(4096, 8192)]
    assert list(faults.pieces(MIB, 512)) == [(0, 512)]
    assert list(faults.pieces(3 * MIB - 512, 1024)) == [(MIB - 512, 512), (0, 512)]
    assert list(faults.pieces(MIB // 2, 2 * MIB)) == [
        (MIB // 2, MIB // 2), (0, MIB), (0, MIB // 2),
    ]  # fmt: skip
    assert list(parse_faults([]).pieces(5 * MIB, 512)) == [(5 * MIB, 512)]


def write(drive: bytearray, log: UndoLog, offset: int, data: bytes) -> None:
    log.remember(offset, bytes(drive[offset : offset + len(data)]))
    drive[offset : offset + len(data)] = data


def take_back(drive: bytearray, log: UndoLog) -> bytes:
    for offset, before in log.take_back():
        drive[offset : offset + len(before)] = before
    return bytes(drive)


def test_the_last_bytes_that_were_written_are_taken_back() -> None:
    assert parse_faults(["lying-flush@1M"]).forgotten_bytes == MIB
    drive, log = bytearray(b"........"), UndoLog(3)
    write(drive, log, 0, b"AAAA")
    write(drive, log, 6, b"BB")
    assert take_back(drive, log) == b"AAA....."
    assert take_back(drive, log) == b"AAA.....", "only once"


def test_what_was_written_twice_goes_back_to_what_stood_there_first() -> None:
    drive, log = bytearray(b"........"), UndoLog(100)
    write(drive, log, 2, b"AAAA")
    write(drive, log, 3, b"BB")
    write(drive, log, 0, b"CCCC")
    assert take_back(drive, log) == b"........"


def test_no_faults_no_trouble() -> None:
    faults = parse_faults([])
    assert not faults.read_fails(0, 1 << 40)
    assert not faults.vanished(age_s=1e9, read_bytes=0, power_on=1000)
    assert not faults.stalled(age_s=1e9, power_on=1000)
    assert not faults.can_stall


@pytest.mark.parametrize(
    "text",
    [
        "", "read-error", "read-error@1M", "read-error@1M+64K x2", "slow@1M+64K", "slow@1Q+64K x2",
        "vanish@120", "vanish@after", "vanish@after1X", "vanish@boot0", "vanish@boot", "vanish@1s ",
        "burn@1s",
        "stall@5", "stall@boot0", "alias@0", "alias@1X", "lying-flush@", "lying-flush@0",
    ],
)  # fmt: skip
def test_bad_fault_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"fault|size"):
        parse_faults([text])
