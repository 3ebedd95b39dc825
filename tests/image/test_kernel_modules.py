# SPDX-License-Identifier: Apache-2.0
"""No drivers are in the image that a bench for drives has no use for."""

import subprocess
from pathlib import PurePath

from tests.lab.campaign import IMAGE
from tests.lab.stick import find_partitions

_FOREIGN = (
    *("drivers/bluetooth/", "drivers/comedi/", "drivers/nfc/", "drivers/isdn/", "drivers/gnss/"),
    *("drivers/net/wireless/", "drivers/net/usb/", "drivers/net/ethernet/intel/", "drivers/wwan/"),
    *("net/bluetooth/", "net/wireless/", "net/ipv4/", "net/sctp/", "net/sunrpc/", "net/9p/"),
    *("fs/nfs/", "fs/nfsd/", "fs/smb/", "fs/9p/", "drivers/block/drbd/", "drivers/block/rbd"),
)


def _dump(*words: str) -> str:
    (root,) = (each for each in find_partitions(IMAGE) if each.name == "root-x86-64")
    command = ["dump.erofs", f"--offset={root.offset_bytes}", *words, str(IMAGE)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_nothing_answers_from_a_network_or_a_radio() -> None:
    """What drivers of storage controllers need of them stays: it binds to nothing on its own."""
    listed = _dump("--ls", "--path=/usr/lib/modules").split()
    (version,) = (word for word in listed if word.endswith("-amd64") and "/" not in word)
    lines = _dump("--cat", f"--path=/usr/lib/modules/{version}/modules.dep").splitlines()
    modules = [line.partition(":")[0].removeprefix("kernel/") for line in lines]
    assert any(PurePath(each).name.startswith("ahci.ko") for each in modules)
    assert not [each for each in modules if each.startswith(_FOREIGN)]
