# SPDX-License-Identifier: Apache-2.0
"""Telling a drive that nothing on it is needed any more (TRIM, UNMAP, deallocate).

Its flash can then be written as if it were new. What a drive does with it is invisible outside.
Must never be called on a drive that was not released.
"""

import errno
import fcntl
import os
import struct

from appliance.errors import RefusedError, StepFailedError, blame_of
from appliance.phrases import N_, Phrase
from appliance.workloads.base import Bench

_BLKDISCARD = 0x1277
"""Offset and length in bytes, whole logical blocks (linux/fs.h, block/ioctl.c)."""
_CHUNK_BYTES = 1 << 30


def discard_all(bench: Bench) -> None:
    """Discard the whole drive. Raises RefusedError, StepFailedError; what those of `bench` raise.

    With O_EXCL: the kernel refuses while anything holds the drive, as a mounted file system does.
    """
    if not bench.writable or bench.folder is not None:
        raise RefusedError(
            Phrase(N_("{device} was not released for discarding all of it"), device=bench.device)
        )
    try:
        descriptor = os.open(bench.device, os.O_RDWR | os.O_EXCL)
    except OSError as error:
        raise _fail(bench, error) from error
    try:
        for offset in range(0, bench.size_bytes, _CHUNK_BYTES):
            bench.progress(N_("Discarding the whole drive"), offset, bench.size_bytes)
            if bench.check_identity is not None:
                bench.check_identity()
            length = min(_CHUNK_BYTES, bench.size_bytes - offset)
            try:
                fcntl.ioctl(descriptor, _BLKDISCARD, struct.pack("QQ", offset, length))
            except OSError as error:
                raise _fail(bench, error) from error
    finally:
        os.close(descriptor)


def _fail(bench: Bench, error: OSError) -> StepFailedError:
    # EREMOTEIO: it offered the command and refused it (BLK_STS_TARGET, drivers/scsi/scsi_lib.c).
    if error.errno in {errno.EOPNOTSUPP, errno.ENOTTY, errno.EREMOTEIO}:
        return StepFailedError(
            Phrase(N_("{device} cannot discard, so it cannot be made fresh"), device=bench.device),
            hint=N_("leave out fresh_first for this drive"),
            blame="other",
        )
    return StepFailedError(
        Phrase(
            N_("{device} could not be discarded: {error}"),
            device=bench.device,
            error=error.strerror,
        ),
        blame=blame_of(error),
    )
