# SPDX-License-Identifier: Apache-2.0
"""The drives that scenes and tests of the interface show, and a plan of two of them."""

from appliance.drives.model import Drive
from appliance.phrases import Phrase, join_phrases

HOSTILE = 'EVIL"/\\ \x1b[31m\x07\u202e[b]中'
HDD = Drive(
    path="/dev/sda",
    serial="WD-WX41A47H2291",
    wwn="0x50014ee2b1c3d4e5",
    model="WDC WD5000LPVX-22V0TT0",
    firmware="01.01A01",
    size_bytes=500_107_862_016,
    rotational=True,
    transport="sata",
    logical_block_bytes=512,
    physical_block_bytes=4096,
    partition_labels=("SYSTEM", "Daten"),
)
SSHD = Drive(
    path="/dev/sdb",
    serial="W761CPRN",
    wwn="0x5000c50071a2b3c4",
    model="ST500LX025-1U717D",
    firmware="SDM1",
    size_bytes=500_107_862_016,
    rotational=True,
    transport="sata",
    logical_block_bytes=512,
    physical_block_bytes=4096,
)
NO_SERIAL = Drive(
    path="/dev/nvme0n1",
    serial="",
    wwn="eui.0025385b71b0a1c2",
    model="SAMSUNG MZVLB256HAHQ-00000",
    firmware="EXD7101Q",
    size_bytes=256_060_514_304,
    rotational=False,
    transport="nvme",
    logical_block_bytes=512,
    physical_block_bytes=512,
)
STICK = Drive(
    path="/dev/sdc",
    serial="4C530001231120117142",
    wwn="",
    model="SanDisk Ultra",
    firmware="1.00",
    size_bytes=15_376_318_464,
    rotational=False,
    transport="usb",
    logical_block_bytes=512,
    physical_block_bytes=512,
    removable=True,
    mountpoints=("/run/kaltstart/fat",),
    partition_labels=("KALTSTART", "kaltstart-data"),
)
EVIL = Drive(
    path="/dev/sdd",
    serial=HOSTILE,
    wwn="",
    model="[red]Mod\x1bel[/red]",
    firmware="\x9b1m",
    size_bytes=4_294_967_296,
    rotational=False,
    transport="scsi",
    logical_block_bytes=512,
    physical_block_bytes=512,
    partition_labels=("a\nb",),
)
PLAN_TOML = """\
version = 1
[campaign]
name = "incoming, rack 4"
[[drive]]
serial = "WD-WX41A47H2291"
role = "target"
erase = "WD-WX41A47H2291"
[[drive]]
serial = "GONE-1"
role = "control"
[boot]
cycles = 3
"""
BOOTS_TOML = f"""\
version = 1
[[drive]]
serial = "{HDD.serial}"
erase = "{HDD.serial}"
[boot]
cycles = 3
"""
VALID_PLAN = {
    "state": "valid",
    "name": "incoming, rack 4",
    "problems": [],
    "autostart": False,
    "summary": join_phrases(
        (
            Phrase(
                "{first}, {rest}",
                first=Phrase("{count} drives", count=2),
                rest=Phrase("{what} each", what=Phrase("{count} cold boots", count=3)),
            ),
            Phrase("erases {drives}", drives='"WD-WX41A47H2291"'),
        )
    ),
    "toml": PLAN_TOML,
}
