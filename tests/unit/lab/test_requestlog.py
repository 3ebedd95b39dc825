# SPDX-License-Identifier: Apache-2.0
from tests.lab.requestlog import Traffic, parse_traffic

# nbdkit 1.42, the lab's log filter.
_LOG = """\
2026-11-21 13:19:06.030152 connection=1 Connect export="" tls=0 size=0x100000000 minsize=0x0
2026-11-21 13:19:06.043874 connection=1 Read id=1 offset=0x0 count=0x200 ...
2026-11-21 13:19:06.043990 connection=1 ...Read id=1 return=0
2026-11-21 13:19:07.100000 connection=2 Read id=2 offset=0x100000 count=0x20000 ...
2026-11-21 13:19:07.100001 connection=2 Write id=3 offset=0x1000 count=0x1000 ...
2026-11-21 13:19:07.100002 connection=2 Zero id=4 offset=0x2000 count=0x3000 ...
2026-11-21 13:19:07.100003 connection=2 Flush id=5 ...
"""


def test_each_request_counts_once() -> None:
    assert parse_traffic(_LOG) == Traffic(read_bytes=0x20200, write_bytes=0x4000)


def test_a_window_is_the_difference() -> None:
    assert Traffic(10, 7).since(Traffic(4, 7)) == Traffic(6, 0)
