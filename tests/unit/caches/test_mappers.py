# SPDX-License-Identifier: Apache-2.0
"""Who keeps pages in the cache; the texts are from Linux 6.18."""

import os
from pathlib import Path

from appliance.caches.mappers import (
    find_mappers,
    is_mapped,
    mounted_file_system,
    parse_maps,
    parse_mounted_devices,
)

MAPS = """\
00400000-00420000 r--p 00000000 fe:00 10075468                           /usr/bin/python3.13
00420000-00740000 r-xp 00020000 fe:00 10075468                           /usr/bin/python3.13
36297000-36379000 rw-p 00000000 00:00 0                                  [heap]
7fcc1dc46000-7fcc1dc48000 rw-p 00000000 00:00 0 
7fcc1dc48000-7fcc1dc4a000 r--s 00000000 fe:00 10012922                   /mnt/with space\\012line
7fcc1dc54000-7fcc1dc56000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
"""  # noqa: W291 - spaces at the end of lines are as the kernel writes them

MOUNTINFO = """\
43 42 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
45 43 0:21 / /proc rw,relatime - proc proc rw
64 43 0:39 / /mnt rw,relatime shared:5 - btrfs /dev/loop0 rw,space_cache=v2,subvolid=5,subvol=/
"""


def test_only_files_are_mapped_files() -> None:
    assert parse_maps(MAPS) == {
        (0xFE, 0, 10075468, "/usr/bin/python3.13"),
        (0xFE, 0, 10012922, "/mnt/with space\\012line"),
    }
    assert parse_maps("") == frozenset()


def test_a_file_is_known_by_device_and_inode() -> None:
    mappings = parse_maps(MAPS)
    here = os.makedev(0xFE, 0)
    assert is_mapped(mappings, device=here, inode=10012922, path="/elsewhere")
    assert not is_mapped(mappings, device=here, inode=1, path="/usr/bin/python3.13")
    assert not is_mapped(mappings, device=os.makedev(8, 0), inode=10012922, path="/elsewhere")


def test_a_file_of_a_btrfs_is_known_by_path_and_inode() -> None:
    other = os.makedev(0, 39)
    assert is_mapped(parse_maps(MAPS), device=other, inode=10075468, path="/usr/bin/python3.13")


def test_programs_are_named_with_their_pid(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.touch()
    at = file.stat()
    line = (
        f"7f00-7f01 r--s 00000000 {os.major(at.st_dev):02x}:{os.minor(at.st_dev):02x} "
        f"{at.st_ino}   {file}\n"
    )
    for pid, comm, maps in (("9", "ev\x1bil\n", line), ("10", "sh\n", MAPS), ("11", "", line)):
        folder = tmp_path / "proc" / pid
        folder.mkdir(parents=True)
        (folder / "comm").write_text(comm)
        (folder / "maps").write_text(maps)
    (tmp_path / "proc" / "12").mkdir()  # ended while we looked
    (tmp_path / "proc" / "self").mkdir()
    assert find_mappers(file, proc=tmp_path / "proc") == (
        "ev\\x1bil (pid 9)",
        "a program that has ended (pid 11)",
    )
    assert find_mappers(tmp_path / "absent", proc=tmp_path / "proc") == ()


def test_mounted_devices_are_known_by_number_and_by_source() -> None:
    mounted = parse_mounted_devices(MOUNTINFO + "nonsense\n")
    assert mounted[254, 0] == "ext4"
    assert mounted["/dev/loop0"] == "btrfs"
    assert (7, 0) not in mounted


def test_a_mounted_device_is_found(tmp_path: Path) -> None:
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(f"43 42 1:3 / / rw - ext4 /dev/root rw\n{MOUNTINFO}")
    assert mounted_file_system(Path("/dev/null"), mountinfo=mountinfo) == "ext4"  # 1:3
    assert mounted_file_system(Path("/dev/zero"), mountinfo=mountinfo) == ""
    assert mounted_file_system(tmp_path / "absent", mountinfo=mountinfo) == ""
