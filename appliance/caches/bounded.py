"""A bounded page cache: the command line that runs a program in a control group of its own."""

from collections.abc import Sequence


def bounded_command(command: Sequence[str], *, memory_max_bytes: int) -> list[str]:
    """`command` with all its memory, the page cache it fills included, bounded. Pure.

    In the scope it stays this program's own child (systemd-run executes it in its own place), so
    that signals and exit codes pass unchanged. Pages that others brought into the cache before are
    not counted against it: drop them first. Raises ValueError when the bound is not positive.
    """
    if memory_max_bytes <= 0:
        raise ValueError(f"{memory_max_bytes} bytes are no bound")
    return [
        "systemd-run",
        "--scope",
        "--quiet",
        "--collect",
        f"--property=MemoryMax={memory_max_bytes}",
        "--property=MemorySwapMax=0",
        "--",
        *command,
    ]
