"""The command line of a bounded page cache."""

import pytest

from appliance.caches.bounded import bounded_command


def test_the_command_runs_in_a_scope_of_its_own() -> None:
    assert bounded_command(["fio", "--name=a b"], memory_max_bytes=1 << 28) == [
        "systemd-run",
        "--scope",
        "--quiet",
        "--collect",
        "--property=MemoryMax=268435456",
        "--property=MemorySwapMax=0",
        "--",
        "fio",
        "--name=a b",
    ]


@pytest.mark.parametrize("bound", [0, -1])
def test_no_bound_is_a_bug(bound: int) -> None:
    with pytest.raises(ValueError, match="no bound"):
        bounded_command(["true"], memory_max_bytes=bound)
