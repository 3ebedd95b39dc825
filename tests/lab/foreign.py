# SPDX-License-Identifier: Apache-2.0
"""Drives that carry foreign data: one image for each thing that assembles or mounts itself.

Made with the real tools where they work on files. LVM's, md's, bcache's and ZFS's tools want block
devices or are not in Debian: their metadata is written by the on-disk format, checksums included.
`libblkid` must know each of them (tests/process/test_foreign.py), or udev would leave them alone
for the wrong reason.
"""

import hashlib
import struct
import subprocess
import tempfile
import uuid
import zlib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

_MIB = 1 << 20
SIZE_BYTES = 64 * _MIB
_BTRFS_BYTES = 256 * _MIB  # mkfs.btrfs takes no less with its default profiles
_SEED = uuid.UUID("6b616c74-7374-4172-a57e-00000000c0de")

# https://uapi-group.org/specifications/specs/discoverable_partitions_specification/
GPT_TYPES = {
    "root": "4f68bce3-e8cd-4db1-96e7-fbcaf984b709",
    "swap": "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f",
    "home": "933ac7e1-2eb4-4f13-b844-0e14e2aef915",
}

EXPECTED = {
    "lvm": {"LVM2_member"},
    "md12-a": {"linux_raid_member"},
    "md12-b": {"linux_raid_member"},
    "md10": {"linux_raid_member"},
    "md090": {"linux_raid_member"},
    "bcache-backing": {"bcache"},
    "bcache-cache": {"bcache"},
    "zfs": {"zfs_member"},
    "btrfs": {"btrfs"},
    "btrfs-a": {"btrfs"},
    "btrfs-b": {"btrfs"},
    "swap": {"swap"},
    "hibernated": {"swsuspend"},
    "luks": {"crypto_LUKS"},
    "gpt": {"gpt", "PMBR"},
}
"""What `wipefs` calls what is on each image as a whole, by the image's name."""


def make_foreign_images(folder: Path) -> dict[str, Path]:
    """All images in `folder`, by name; sparse."""
    folder.mkdir(parents=True, exist_ok=True)
    images = {name: folder / f"{name}.raw" for name in EXPECTED}
    for name, path in images.items():
        _make_empty(path, _BTRFS_BYTES if name.startswith("btrfs") else SIZE_BYTES)
    _write(images["lvm"], lvm_physical_volume(SIZE_BYTES))
    for number, name in enumerate(("md12-a", "md12-b")):
        _write(images[name], [(4096, md_superblock(number, size_bytes=SIZE_BYTES, minor=2))])
    # The places of 1.0 and 0.90: super_1_load() and calc_dev_sboffset() in drivers/md/md.c.
    end = (SIZE_BYTES // 512 - 16) & ~7
    _write(images["md10"], [(end * 512, md_superblock(0, size_bytes=SIZE_BYTES, minor=0))])
    old = (SIZE_BYTES & ~0xFFFF) - 0x10000
    _write(images["md090"], [(old, md_superblock_090(size_bytes=SIZE_BYTES))])
    _write(images["bcache-backing"], [(4096, bcache_superblock(cache=False))])
    _write(images["bcache-cache"], [(4096, bcache_superblock(cache=True))])
    _write(images["zfs"], zfs_labels(SIZE_BYTES))
    _run("mkfs.btrfs", "-q", images["btrfs"])
    _run("mkfs.btrfs", "-q", "-d", "raid1", "-m", "raid1", images["btrfs-a"], images["btrfs-b"])
    _run("mkswap", "-q", images["swap"])
    _run("mkswap", "-q", images["hibernated"])
    _write(images["hibernated"], [(4096 - 10, b"S1SUSPEND\0")])  # kernel/power/swap.c
    _write(images["luks"], [(0, luks_header())])
    _make_discoverable(images["gpt"])
    return images


def lvm_physical_volume(size_bytes: int) -> list[tuple[int, bytes]]:
    """A label, a metadata area and one volume group with one active volume.

    lib/format_text/layout.h and lib/label/label.h of lvm2.
    """
    pv, vg, lv = (_lvm_id(name) for name in ("pv", "vg", "lv"))
    area_start, area_bytes, data_start = 4096, _MIB - 4096, _MIB
    extents = (size_bytes - data_start) // (4 * _MIB)
    text = (
        f'foreign {{\nid = "{vg}"\nseqno = 2\nformat = "lvm2"\n'
        'status = ["RESIZEABLE", "READ", "WRITE"]\nflags = []\nextent_size = 8192\nmax_lv = 0\n'
        "max_pv = 0\nmetadata_copies = 0\n\nphysical_volumes {\n\npv0 {\n"
        f'id = "{pv}"\ndevice = "/dev/sda"\n\nstatus = ["ALLOCATABLE"]\nflags = []\n'
        f"dev_size = {size_bytes // 512}\npe_start = 2048\npe_count = {extents}\n}}\n}}\n\n"
        f'logical_volumes {{\n\ndata {{\nid = "{lv}"\n'
        'status = ["READ", "WRITE", "VISIBLE"]\nflags = []\nsegment_count = 1\n\n'
        f"segment1 {{\nstart_extent = 0\nextent_count = {extents}\n\n"
        'type = "striped"\nstripe_count = 1\n\nstripes = [\n"pv0", 0\n]\n}\n}\n}\n\n}\n'
        'contents = "Text Format Volume Group"\nversion = 1\n\ndescription = ""\n'
    ).encode() + b"\0"
    header = struct.pack(
        "<16sIQQQQII24x", b"\x20LVM2\x20x[5A%r0N*>", 1, area_start, area_bytes,
        512, len(text), _lvm_crc(text), 0,
    ).ljust(508, b"\0")  # fmt: skip
    area = struct.pack("<I", _lvm_crc(header)) + header + text
    content = (
        struct.pack("<I8s", 32, b"LVM2 001")
        + pv.replace("-", "").encode()
        + struct.pack("<Q", size_bytes)
        + struct.pack("<QQQQ", data_start, 0, 0, 0)
        + struct.pack("<QQQQ", area_start, area_bytes, 0, 0)
    ).ljust(512 - 20, b"\0")
    label = struct.pack("<8sQI", b"LABELONE", 1, _lvm_crc(content)) + content
    return [(512, label), (area_start, area)]


def _lvm_id(name: str) -> str:
    digits = hashlib.sha256(name.encode()).hexdigest()[:32]
    cuts = (0, 6, 10, 14, 18, 22, 26, 32)
    return "-".join(digits[a:b] for a, b in pairwise(cuts))


def _lvm_crc(data: bytes) -> int:
    return zlib.crc32(data, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def md_superblock(number: int, *, size_bytes: int, minor: int) -> bytes:
    """Of a clean RAID 1 of two, version 1.`minor`: struct mdp_superblock_1 in linux/raid/md_p.h."""
    sectors = size_bytes // 512
    place = 8 if minor == 2 else (sectors - 16) & ~7
    data_offset = 2048 if minor == 2 else 0
    data_size = (sectors - data_offset if minor == 2 else place) & ~127
    head = struct.pack(
        "<IIII16s32sQIIQIII",
        0xA92B4EFC, 1, 0, 0, _uuid(f"md1{minor}"), b"foreign:0", 1_700_000_000, 1, 0,
        data_size, 0, 2, 0,
    )  # fmt: skip
    middle = struct.pack(
        "<QQQQII16sBBHI", data_offset, data_size, place, 0, number, 0,
        _uuid(f"md1{minor}-{number}"), 0, 0, 0, 0,
    )  # fmt: skip
    roles = 128
    tail = struct.pack("<QQQII32x", 1_700_000_000, 17, 0xFFFFFFFFFFFFFFFF, 0, roles)
    raw = bytearray(head.ljust(128, b"\0") + middle.ljust(64, b"\0") + tail)
    raw += struct.pack(f"<{roles}H", 0, 1, *[0xFFFF] * (roles - 2))
    total = sum(word for (word,) in struct.iter_unpack("<I", bytes(raw)))
    struct.pack_into("<I", raw, 216, _folded(total))
    return bytes(raw)


def md_superblock_090(*, size_bytes: int) -> bytes:
    """Of a clean RAID 1 of two, version 0.90: mdp_super_t in linux/raid/md_p.h."""
    words = [0] * 1024
    set_uuid = struct.unpack("<4I", _uuid("md090"))
    size_kib = ((size_bytes & ~0xFFFF) - 0x10000) // 1024
    words[:13] = [
        0xA92B4EFC, 0, 90, 0, 0, set_uuid[0], 1_700_000_000, 1, size_kib, 2, 2, 0, 0,
    ]  # fmt: skip
    words[13:16] = set_uuid[1:]
    words[32:38] = [1_700_000_000, 1, 2, 2, 0, 0]  # state: clean
    words[39] = 17  # events
    for number in range(2):
        words[128 + 32 * number : 133 + 32 * number] = [number, 8, 16 * number, number, 6]
    words[992:997] = words[128:133]  # this disk
    words[38] = _folded(sum(words))
    return struct.pack("<1024I", *words)


def _folded(total: int) -> int:
    return ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF


def bcache_superblock(*, cache: bool) -> bytes:
    """Of a backing device with its cache attached and dirty, or of that cache.

    struct cache_sb_disk in drivers/md/bcache/bcache_ondisk.h.
    """
    magic = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
    bucket = 128  # sectors
    version, flags = (3, 0) if cache else (1, 1 | 2 << 61)  # writeback; dirty
    shape = (
        struct.pack("<QHHHH", SIZE_BYTES // 512 // bucket, 1, bucket, 1, 0)
        if cache
        else struct.pack("<QHHHH", 16, 1, 0, 0, 0)
    )
    journal = [*range(1, 9)] if cache else []
    body = (
        struct.pack("<QQ", 8, version)
        + magic
        + _uuid(f"bcache-{cache}")
        + _uuid("bcache-set")
        + b"foreign".ljust(32, b"\0")
        + struct.pack("<QQ64x", flags, 1)
        + shape
        + struct.pack("<IHH", 1_700_000_000, 1, len(journal))
        + struct.pack(f"<{len(journal)}Q", *journal)
    )
    return (struct.pack("<Q", _crc64(body)) + body).ljust(4096, b"\0")


def _crc64(data: bytes) -> int:
    # bch_crc64() of bcache-tools: ECMA-182, not reflected.
    value = mask = 0xFFFFFFFFFFFFFFFF
    for byte in data:
        value ^= byte << 56
        for _ in range(8):
            value = (value << 1 ^ 0x42F0E1EBA9EA3693 if value >> 63 else value << 1) & mask
    return value ^ mask


def zfs_labels(size_bytes: int) -> list[tuple[int, bytes]]:
    """Four labels of a pool with one disk: vdev_label_t in sys/vdev_impl.h of OpenZFS."""
    guid = {name: int.from_bytes(_uuid(name)[:8]) >> 1 for name in ("pool", "vdev")}
    tree = _nvlist([
        ("type", "disk"), ("id", 0), ("guid", guid["vdev"]), ("path", "/dev/sda"),
        ("ashift", 12), ("asize", size_bytes - 4 * _MIB - 512 * 1024), ("is_log", 0),
    ])  # fmt: skip
    pool = b"\x01\x01\0\0" + _nvlist([
        ("version", 5000), ("name", "foreign"), ("state", 0), ("txg", 4),
        ("pool_guid", guid["pool"]), ("top_guid", guid["vdev"]), ("guid", guid["vdev"]),
        ("vdev_children", 1), ("vdev_tree", tree),
    ])  # fmt: skip
    label = 256 * 1024
    end = size_bytes // label * label
    places = (0, label, end - 2 * label, end - label)
    return [(place, _zfs_label(place, pool, guid["vdev"])) for place in places]


def _zfs_label(place: int, pool: bytes, guid_sum: int) -> bytes:
    phys_bytes, ring_start, block_bytes = 112 * 1024, 128 * 1024, 4096
    phys = _zfs_sealed(pool.ljust(phys_bytes - 40, b"\0"), place + 16 * 1024)
    ring = b"".join(
        _zfs_sealed(
            struct.pack("<QQQQQ", 0x00BAB10C, 5000, txg, guid_sum, 1_700_000_000 + txg)
            .ljust(block_bytes - 40, b"\0"),
            place + ring_start + txg * block_bytes,
        )
        for txg in range(32)
    )  # fmt: skip
    return bytes(16 * 1024) + phys + ring


def _zfs_sealed(block: bytes, place: int) -> bytes:
    # zio_checksum_compute() for a label: SHA-256 over the block with its own place as checksum.
    magic = 0x0210DA7AB10C7A11
    digest = hashlib.sha256(block + struct.pack("<QQQQQ", magic, place, 0, 0, 0)).digest()
    return block + struct.pack("<Q", magic) + struct.pack("<4Q", *struct.unpack(">4Q", digest))


def _nvlist(pairs: Iterable[tuple[str, int | str | bytes]]) -> bytes:
    """In XDR: module/nvpair/nvpair.c. Numbers are uint64, bytes a nested list."""
    out = struct.pack(">II", 0, 1)
    for name, value in pairs:
        if isinstance(value, bytes):
            kind, body, decoded = 19, value, 24
        elif isinstance(value, str):
            kind, body, decoded = 9, _xdr_text(value), len(value) + 1
        else:
            kind, body, decoded = 8, struct.pack(">Q", value), 8
        rest = _xdr_text(name) + struct.pack(">II", kind, 1) + body
        unpacked = 16 + (len(name) + 8) // 8 * 8 + (decoded + 7) // 8 * 8
        out += struct.pack(">II", 8 + len(rest), unpacked) + rest
    return out + bytes(8)


def _xdr_text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">I", len(raw)) + raw + bytes(-len(raw) % 4)


def luks_header() -> bytes:
    """LUKS 1 with one key in use: the LUKS On-Disk Format Specification 1.2.3, figure 1."""
    head = struct.pack(
        ">6sH32s32s32sII20s32sI40s",
        b"LUKS\xba\xbe", 1, b"aes", b"xts-plain64", b"sha256", 4096, 64,
        bytes(range(20)), bytes(range(32)), 100_000,
        str(uuid.UUID(bytes=_uuid("luks"))).encode(),
    )  # fmt: skip
    keys = b"".join(
        struct.pack(
            ">II32sII", 0x00AC71F3 if slot == 0 else 0x0000DEAD, 100_000 if slot == 0 else 0,
            bytes(32), 8 + 504 * slot, 4000,
        )
        for slot in range(8)
    )  # fmt: skip
    return head + keys


def _make_discoverable(image: Path) -> None:
    """What systemd-gpt-auto-generator would mount and swap to: root, swap and home."""
    lines = [f"type={kind}, size=16MiB, name=foreign-{name}" for name, kind in GPT_TYPES.items()]
    subprocess.run(
        ["sfdisk", "--quiet", image], input="label: gpt\n" + "\n".join(lines) + "\n",
        text=True, check=True, capture_output=True,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(GPT_TYPES):
            part = Path(folder) / name
            _make_empty(part, 16 * _MIB)
            maker = ["mkswap", "-q"] if name == "swap" else ["mkfs.ext4", "-q", "-F"]
            _run(*maker, part)
            _write(image, [(_MIB + number * 16 * _MIB, part.read_bytes())])


def _uuid(name: str) -> bytes:
    return uuid.uuid5(_SEED, name).bytes


def _make_empty(path: Path, size_bytes: int) -> None:
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(size_bytes)


def _write(path: Path, pieces: Iterable[tuple[int, bytes]]) -> None:
    with path.open("r+b") as file:
        for offset, data in pieces:
            file.seek(offset)
            file.write(data)


def _run(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
