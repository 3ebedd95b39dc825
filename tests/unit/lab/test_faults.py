import pytest

from tests.lab.faults import parse_faults

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
    assert not faults.vanished(age_s=119, power_on=9)
    assert faults.vanished(age_s=120, power_on=1)


def test_vanish_at_a_power_on() -> None:
    faults = parse_faults(["vanish@boot3"])
    assert not faults.vanished(age_s=9999, power_on=2)
    assert faults.vanished(age_s=0, power_on=3)
    assert faults.vanished(age_s=0, power_on=4)


def test_no_faults_no_trouble() -> None:
    faults = parse_faults([])
    assert not faults.read_fails(0, 1 << 40)
    assert not faults.vanished(age_s=1e9, power_on=1000)


@pytest.mark.parametrize(
    "text",
    [
        "", "read-error", "read-error@1M", "read-error@1M+64K x2", "slow@1M+64K", "slow@1Q+64K x2",
        "vanish@120", "vanish@boot0", "vanish@boot", "burn@1s", "vanish@1s ",
    ],
)  # fmt: skip
def test_bad_fault_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"fault|size"):
        parse_faults([text])
