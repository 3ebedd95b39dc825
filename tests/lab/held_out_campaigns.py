# SPDX-License-Identifier: Apache-2.0
"""Held-out campaigns: models and plans that nothing was tuned for, and what their pages must say.

Other parameters, sizes, seeds, orders and names than those of `model_campaigns`. Each truth follows
from the model's parameters alone and was written down before the campaign ran for the first time;
the reason is given beside it. What was changed afterwards, and why, is in docs/models.md.
"""

import json

from tests.lab.claims import ANY, NOTHING, Truth
from tests.lab.model_campaigns import (
    BOOT_GAIN,
    QUICK_HEAD,
    Model,
    ModelCampaign,
    make_campaign,
    make_hybrid,
    make_ssd,
    plan_boots,
)

_SAME_PRODUCT = 'product = "ACME Rocket 3000"'
"""Of several drives: a model's name distinguishes them no more than in a rack of equal ones."""

# Serial numbers beyond ASCII, as markup, as SQL, as long as a bus has them, and like numbers.
_NEVER = make_hybrid(
    "SÉRIE-ä中",
    "a hybrid that never learns",
    'bus = "scsi"',
    'size = "3G"',
    'promote_after = "never"',
    _SAME_PRODUCT,
)
_SECOND = make_hybrid(
    "0012345678",
    "learns with the second read, 96 MiB",
    'size = "3G"',
    'nand = "96M"',
    "promote_after = 2",
    _SAME_PRODUCT,
)
_DISK = Model(
    "<script>alert(1)</script>",
    "a disk",
    f'model = "hdd"\nbus = "scsi"\nsize = "5G"\n{_SAME_PRODUCT}{QUICK_HEAD}',
)
_WRITES = make_hybrid(
    "'; DROP TABLE boot;",
    "buffers writes only",
    'size = "3G"',
    'promote_after = "never"',
    'write_buffer = "32M"',
)
_FORGETS = make_hybrid(
    "LAB-LONG-0123456789-ABCDEFGHIJKLMNOP",
    "forgets without power",
    'bus = "scsi"',
    "flash_keeps = false",
)
_LATE = make_hybrid("1.94", "learns 30 s after a read", 'size = "2G"', "promote_delay_s = 30")
_REST = make_hybrid(
    "Wear & Tear: no gain", "learns once it has rested", "promote_idle_s = 4", 'nand = "64M"'
)
_AT_ONCE = make_hybrid("1e5", "learns with the first read", 'size = "3G"')
_SMALL = make_hybrid(
    "20250711", "learns 6 MiB with the second read", 'nand = "6M"', "promote_after = 2"
)
_WAITS = make_ssd("SSD 4 ms", "an SSD that waits 4 ms", "latency_s = 0.004", 'size = "1G"')

_TICKETS = "{ x = 3, y = 17, often = 9, seldom = 2, mid = 13, B-2 = 6, n7 = 8 }"
_DISKS_PLAN = f"""\
[[workload]]
kind = "fio"
on = {json.dumps([_WAITS.serial, _WRITES.serial, _DISK.serial])}
tests = ["rand-write", "rand-read"]
size = "8M"
runtime = 10
page_cache = "bypass"
[[workload]]
kind = "lottery"
on = {json.dumps([each.serial for each in (_REST, _SECOND, _LATE, _FORGETS, _WRITES, _NEVER)])}
filesystem = "xfs"
file_size = "700K"
tickets = {_TICKETS}
seed = 424242
passes = ["direct"]
[[workload]]
kind = "lottery"
on = {json.dumps([_DISK.serial, _AT_ONCE.serial])}
file_size = "1200K"
tickets = {_TICKETS}
seed = 99
passes = ["cold", "direct"]
[[workload]]
kind = "sweep"
on = {json.dumps([_SMALL.serial, _NEVER.serial])}
set_sizes = ["32M", "1M"]
tests = ["rand-read"]
norandommap = [true]
runtime = 14
iodepth = 1
idle_timeout = 10
"""

_CLIFF = make_ssd(
    "SLC 96/8",
    "writes 96 MiB quickly",
    'size = "320M"',
    'slc = "96M"',
    'slc_rate = "60M"',
    'tlc_rate = "8M"',
    "slc_idle_s = 90",
)
_HOT = make_ssd(
    "No difference",
    "hot after 64 MiB",
    'size = "512M"',
    'rate = "30M"',
    'throttle_after = "64M"',
    'throttle_rate = "6M"',
    "throttle_cool_s = 120",
)
_EVEN = make_ssd("14", "an even SSD", 'size = "352M"', 'rate = "14M"', 'bus = "scsi"')
_ZONES = Model(
    "Zones 24-12 <i>",
    "a disk with zones",
    'model = "hdd"\nsize = "320M"\nrate_outer = "24M"\nrate_inner = "12M"' + QUICK_HEAD,
)
_PLAIN_SSD = make_ssd("SSD; SELECT 1;", "an SSD", 'size = "2G"')
_SSDS_PLAN = f"""\
[[workload]]
kind = "surface"
sample = 0.25
on = {json.dumps([_EVEN.serial, _ZONES.serial])}
[[workload]]
kind = "sql"
data_size = "16M"
seed = 31
on = {json.dumps([_SECOND.serial, _PLAIN_SSD.serial, _DISK.serial])}
[[workload]]
kind = "matrix"
file_sizes = ["24M", "6M"]
record_sizes = ["8K", "512K"]
operations = ["backward", "read"]
on = {json.dumps([_EVEN.serial])}
[[workload]]
kind = "fio"
on = {json.dumps([_HOT.serial, _EVEN.serial])}
tests = ["seq-read"]
size = "24M"
page_cache = "bypass"
steady_state = true
max_rounds = 12
[[workload]]
kind = "verify"
on = {json.dumps([_ZONES.serial, _CLIFF.serial])}
"""

_THIRD = make_hybrid(
    "SÉRIE-ä中", "learns with the third read", 'bus = "scsi"', 'size = "3G"', "promote_after = 3"
)
_ODD_NEVER = make_hybrid(
    'A&B "9" 1.5 times', "a hybrid that never learns", 'promote_after = "never"', 'size = "5G"'
)


HELD_OUT: tuple[ModelCampaign, ...] = (
    make_campaign(
        "held-out-disks",
        (_SMALL, _WAITS, _REST, _SECOND, _LATE, _FORGETS, _WRITES, _NEVER, _AT_ONCE, _DISK),
        _DISKS_PLAN,
        # A request is 4 ms of the SSD and 1 to 3 ms of the processor.
        Truth(_WAITS.serial, "one run", "fio, rand-read", ((130, 250),)),
        # 10.5 ms of the head at least; 1 in 16 at most lies within 128 KiB of it.
        Truth(_DISK.serial, "one run", "fio, rand-read", ((60, 110),)),
        # 10 ms of the head at most. The buffer holds four times as much as is written.
        Truth(_DISK.serial, "one run", "fio, rand-write", ((60, 120),)),
        # It answers them at once: how many there are is the processor's doing.
        Truth(_WRITES.serial, "one run", "fio, rand-write", ((250, 100_000),)),
        # Its heads move as far for a write as for a read. Written after the first run: the sentence
        # is younger.
        Truth(_DISK.serial, NOTHING, "buffer"),
        Truth(_WAITS.serial, NOTHING, "buffer"),
        # A pass takes a few seconds, without a pause: neither rest nor delay is over by then.
        Truth(_REST.serial, "no gain", "lottery, direct"),
        Truth(_LATE.serial, "no gain", "lottery, direct"),
        # 38 reads: a slow beginning does as much in one of 200 draws, docs/decisions/042.
        Truth(_SECOND.serial, "gain", "lottery, direct", ((1.5, 1000),), may_be_open=True),
        Truth(_FORGETS.serial, "gain", "lottery, direct", ((1.5, 1000),)),
        Truth(_WRITES.serial, "no gain", "lottery, direct"),
        Truth(_NEVER.serial, "no gain", "lottery, direct"),
        # The cold pass has read all files before, and RAM has them then: neither shows the drive.
        Truth(_DISK.serial, "not of the drive", "lottery, cold"),
        Truth(_DISK.serial, "open", "lottery, direct"),
        Truth(_AT_ONCE.serial, "not of the drive", "lottery, cold"),
        Truth(_AT_ONCE.serial, "open", "lottery, direct"),
        # All of 1 MiB has been read twice after 6 of 14 s, and then costs the processor alone.
        Truth(_SMALL.serial, "falls", "sweep, rand-read, norandommap"),
        # 23 % of the requests in 1 MiB lie within 128 KiB of the head, in 32 MiB none: 1.25 times.
        Truth(_NEVER.serial, "level", "sweep, rand-read, norandommap"),
    ),
    make_campaign(
        "held-out-ssds",
        (_ZONES, _EVEN, _HOT, _CLIFF, _PLAIN_SSD, _SECOND, _DISK),
        _SSDS_PLAN,
        # A quarter of each slice, and the way to it: up to a third slower than the zone; for the
        # first slice the head comes from the other end of the drive, which takes 125 ms.
        Truth(_ZONES.serial, "uneven", "surface", ((11, 19), (4, 12.6), (15, 25.2))),
        # The lab's drives may be 5 ms ahead of their time, a twelfth of such a slice.
        Truth(_EVEN.serial, ANY, "surface", ((12, 14.7), (0, 16), (12, 16))),
        # The SSD costs no request more time than the others do.
        Truth(_DISK.serial, "not faster", f"sql, against {_PLAIN_SSD.serial}"),
        Truth(_SECOND.serial, "not faster", f"sql, against {_PLAIN_SSD.serial}"),
        # 14 MiB/s, as far as reads follow each other without a pause.
        Truth(_EVEN.serial, ANY, "matrix, read of 24M, median over record sizes", ((9, 14.7),)),
        Truth(_EVEN.serial, ANY, "matrix, backward of 24M, median over record sizes", ((0, 14.7),)),
        # 24 MiB are written before and read in each round: hot within the second one. On a busy
        # host the machine's clock may lag behind the drive's: by a sixth, as it seems, in one run.
        Truth(_HOT.serial, "falls", "fio, seq-read", ((5.5, 7.5),)),
        Truth(_EVEN.serial, "steady", "fio, seq-read", ((13, 14.7),)),
        Truth(_ZONES.serial, NOTHING, "writing"),
        Truth(_CLIFF.serial, "falls", "writing", ((20, 63), (7, 8.4), (86, 108))),
    ),
    make_campaign(
        "held-out-boots",
        (_THIRD, _ODD_NEVER),
        plan_boots(9, boot_set="6M"),
        # A boot reads what it needs once: three are those of a disk.
        Truth(_THIRD.serial, "gain", ranges=((4, 4), BOOT_GAIN)),
        Truth(_ODD_NEVER.serial, "no gain"),
        control=_ODD_NEVER,
    ),
)
