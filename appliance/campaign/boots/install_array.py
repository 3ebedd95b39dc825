# SPDX-License-Identifier: Apache-2.0
"""Writing the reference OS to a campaign's array, so that its boots come from both drives.

Must leave the cache as empty as it was made: the first measured boot is the one that fills it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from appliance.arrays.settings import set_cache_mode
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.array import open_array
from appliance.campaign.log import record
from appliance.drive_thread import DriveThread
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.model import ArrayPlan
from appliance.reference_os.install import make_install_uuid, write_reference_os
from appliance.stick.partitions import Stick
from appliance.store.tables.campaigns import CampaignDriveRow


def install_on_array(
    context: CampaignContext,
    campaign_id: int,
    row: CampaignDriveRow,
    *,
    stick: Stick,
    plan: ArrayPlan,
    boot_set_bytes: int,
    hand: DriveThread,
) -> str:
    """Make the array if it is not there, and write the reference OS of the backing drive `row`.

    `hand` works on both drives.
    Returns the GUID of the new partition table. Raises RefusedError, StepFailedError.
    """
    # What goes through the cache stays in it, so nothing does.
    past_the_cache = replace(plan, cache_mode="none")
    with open_array(
        context, campaign_id, stick=stick, plan=past_the_cache, may_make=True, hand=hand
    ) as opened:
        array = opened.array
        record(context, "install", backing=row.name, path=array.path, campaign_id=campaign_id)
        install_uuid = make_install_uuid(stick.mark)
        write = partial(
            write_reference_os,
            array.path,
            install_uuid=install_uuid,
            slot=row.slot,
            boot_set_bytes=boot_set_bytes,
            progress=hand.tell,
            root_name=settings_name(plan),
        )
        with hand.entered(_locked(array.path), "locking the array"):
            hand.do(write, N_("the reference OS"))
        hand.do(partial(set_cache_mode, array, plan.cache_mode), N_("the array's settings"))
    return install_uuid


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Keep udev from `path`: it would read the partition table again between two writes to it.

    The lock of the drives does not do: the array is a disk of its own to udev.
    https://systemd.io/BLOCK_DEVICE_LOCKING
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("{path} cannot be opened: {error}"), path=path, error=error.strerror)
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def settings_name(plan: ArrayPlan) -> str:
    """The array's settings that the kernel forgets at a power-off, as a partition's name.

    A measured boot's initrd sets them from there (set-array in mkosi.images/initrd). bcache's own
    label, of 32 bytes, says whose the array is. A name has 36 characters: enough for numbers of 32
    bits in hexadecimal.
    """
    numbers = (
        plan.sequential_cutoff_bytes,
        plan.congested_read_threshold_us,
        plan.congested_write_threshold_us,
        plan.writeback_percent,
    )
    return "-".join(["ks", *(f"{number:x}" for number in numbers)])
