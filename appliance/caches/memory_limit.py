# SPDX-License-Identifier: Apache-2.0
"""A bounded page cache: the command line that runs a program in its own control group.

Owns the scopes kaltstart-bounded-*. Being no part of the engine's own unit they outlive a crash of
it: the unit's ExecStopPost stops them, and so does the engine at its start.
"""

import os
from collections.abc import Sequence
from itertools import count

from appliance.errors import blaming
from appliance.run import run

UNIT = "kaltstart-bounded"
_PATIENCE_S = 120  # systemd itself kills what does not end after 90 s
_numbers = count(1)


def bounded_command(command: Sequence[str], *, memory_max_bytes: int) -> list[str]:
    """`command` with all its memory, the page cache it fills included, bounded.

    In the scope it stays this program's own child (systemd-run executes it in its own place), so
    that signals and exit codes pass unchanged. Pages that others brought into the cache before are
    not counted against it: drop them first. Each has a scope of its own: systemd notices a moment
    late that one has become empty, and never that of a program that hangs at its drive. Raises
    ValueError when the bound is not positive.
    """
    if memory_max_bytes <= 0:
        raise ValueError(f"{memory_max_bytes} bytes are not a valid limit")
    return [
        "systemd-run",
        "--scope",
        "--quiet",
        "--collect",
        f"--unit={UNIT}-{os.getpid()}-{next(_numbers)}",
        f"--property=MemoryMax={memory_max_bytes}",
        "--property=MemorySwapMax=0",
        "--",
        *command,
    ]


def release_bounded() -> None:
    """End what a crash has left running in a scope. Raises StepFailedError when systemd cannot."""
    # A pattern, as one that matches nothing is no error, unlike a unit that is not there.
    with blaming("other"):
        run(["systemctl", "stop", f"{UNIT}*.scope"], timeout_s=_PATIENCE_S)
