# SPDX-License-Identifier: Apache-2.0
"""What is in the image's root: no driver that a bench has no use for, and compiled modules."""

import marshal
import subprocess
from importlib.util import MAGIC_NUMBER
from pathlib import PurePath

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.stick import find_partitions

_FOREIGN = (
    *("drivers/bluetooth/", "drivers/comedi/", "drivers/nfc/", "drivers/isdn/", "drivers/gnss/"),
    *("drivers/net/wireless/", "drivers/net/usb/", "drivers/net/ethernet/intel/", "drivers/wwan/"),
    *("net/bluetooth/", "net/wireless/", "net/ipv4/", "net/sctp/", "net/sunrpc/", "net/9p/"),
    *("fs/nfs/", "fs/nfsd/", "fs/smb/", "fs/9p/", "drivers/block/drbd/", "drivers/block/rbd"),
)

_UNCHECKED = MAGIC_NUMBER + (0b01).to_bytes(4, "little")
"""A compiled module begins so if its source is not looked at (PEP 552)."""


def _dump(*words: str) -> bytes:
    (root,) = (each for each in find_partitions(IMAGE) if each.name == "root-x86-64")
    command = ["dump.erofs", f"--offset={root.offset_bytes}", *words, str(IMAGE)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def _list(folder: str) -> list[str]:
    """All words of the listing, names among them."""
    return _dump("--ls", f"--path={folder}").decode().split()


def test_nothing_answers_from_a_network_or_a_radio() -> None:
    """What drivers of storage controllers need of them stays: it binds to nothing on its own."""
    listed = _list("/usr/lib/modules")
    (version,) = (word for word in listed if word.endswith("-amd64") and "/" not in word)
    lines = _dump("--cat", f"--path=/usr/lib/modules/{version}/modules.dep").decode().splitlines()
    modules = [line.partition(":")[0].removeprefix("kernel/") for line in lines]
    assert any(PurePath(each).name.startswith("ahci.ko") for each in modules)
    assert not [each for each in modules if each.startswith(_FOREIGN)]


@pytest.mark.parametrize(
    "folder",
    ["python3.13/json", "python3/dist-packages/mdurl", "kaltstart/appliance", "kaltstart/tui"],
)
def test_no_import_reads_the_source_beside_the_compiled_module(folder: str) -> None:
    """The standard library's and Debian's packages' as well as this program's own."""
    cache = f"/usr/lib/{folder}/__pycache__"
    modules = [word for word in _list(cache) if word.endswith(".pyc")]
    assert modules
    begins = {each: _dump("--cat", f"--path={cache}/{each}")[:8] for each in modules}
    assert {each for each, begin in begins.items() if begin != _UNCHECKED} == set()


def test_what_engine_and_interface_load_is_in_one_file_for_this_python() -> None:
    content = _dump("--cat", "--path=/usr/lib/kaltstart/bytecode")
    assert content.startswith(MAGIC_NUMBER)
    places = marshal.loads(content[len(MAGIC_NUMBER) :])  # noqa: S302  # built here
    wanted = ("tui.app", "tui.run.page", "appliance.service.engine", "textual.app", "json")
    assert [name for name in wanted if name not in places] == []
    source, is_package, begin, end, _ = places["tui.app"]
    assert (source, is_package) == ("/usr/lib/kaltstart/tui/app.py", False)
    # The same code as in the module's own file, behind its head of 16 bytes.
    own = "/usr/lib/kaltstart/tui/__pycache__/app.cpython-313.pyc"
    codes = content[len(MAGIC_NUMBER) + len(marshal.dumps(places, 2)) :]
    assert marshal.loads(codes[begin:end]).co_filename == source  # noqa: S302  # built here
    assert codes[begin:end] == _dump("--cat", f"--path={own}")[16:]
