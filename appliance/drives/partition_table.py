# SPDX-License-Identifier: Apache-2.0
"""Writing a drive's partition table, without waiting for any other drive."""

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

from appliance.run import run

# What seccomp(2) has the kernel do at each system call; the numbers are those of
# linux/bpf_common.h, linux/seccomp.h and asm/unistd_64.h.
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER_AT, _SYNC = 0, 162
_ANSWER_0, _ALLOW = 0x00050000, 0x7FFF0000
_NO_SYNC = (
    (_LOAD, 0, 0, _NUMBER_AT),
    (_JUMP_IF_EQUAL, 0, 1, _SYNC),
    (_RETURN, 0, 0, _ANSWER_0),
    (_RETURN, 0, 0, _ALLOW),
)


def write_partition_table(path: str, script: str, *, wipe_partitions: bool = False) -> None:
    """Have sfdisk write to an unlocked drive the table that `script`, in its format, asks for.

    An earlier table goes, and with `wipe_partitions` what is found where a partition begins. Raises
    StepFailedError.

    sfdisk calls fsync() for its drive and then sync() for all of them (fdisk_deassign_device in
    libfdisk/src/context.c), which never returns if one of them is silent: that one is left out.
    """
    wipe = ["--wipe-partitions=always"] if wipe_partitions else []
    with TemporaryDirectory() as folder:
        no_sync = Path(folder) / "no-sync.bpf"
        no_sync.write_bytes(
            b"".join(struct.pack("<HBBI", *instruction) for instruction in _NO_SYNC)
        )
        run(
            [
                "setpriv",
                f"--seccomp-filter={no_sync}",
                "sfdisk",
                # The whole disk is locked already, by us: it would wait for that.
                "--lock=no",
                "--wipe=always",
                *wipe,
                path,
            ],
            stdin=script,
        )
