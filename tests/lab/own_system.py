# SPDX-License-Identifier: Apache-2.0
"""A drive with a small Linux of its own, which starts and writes to its drive.

Made of the image's root, so no other system is fetched: without Kaltstart's units but
the one that reports its start, with an ESP, a loader, a name and a /var of its own.
"""

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from appliance.report_boot import UNIT, format_unit
from tests.lab.campaign import IMAGE, REPO
from tests.lab.stick import find_partition, find_partitions

_TYPES = {
    "esp": "c12a7328-f81f-11d2-ba4b-00a0c93ec93b",
    "root": "4f68bce3-e8cd-4db1-96e7-fbcaf984b709",
    "var": "0fc63daf-8483-4772-8e79-3d69d8477de4",
}
_MIB = 1 << 20
_ESP_BYTES, _VAR_BYTES = 288 * _MIB, 64 * _MIB
_OPTIONS = (
    "rootfstype=erofs systemd.volatile=overlay console=ttyS0,115200 loglevel=4 systemd.gpt_auto=0 "
    "rd.systemd.gpt_auto=0 systemd.swap=0 cryptomgr.notests audit=0 panic=30 "
    "systemd.default_device_timeout_sec=600"  # the host may be busy
)
_READY = """\
[Unit]
Description=Say that this system is up
[Service]
Type=oneshot
ExecStart=/bin/sh -c "date > /var/lib/own/started-$(cat /proc/sys/kernel/random/boot_id); sync"
ExecStart=/bin/sh -c "echo kaltstart: {up} > /dev/ttyS0"
[Install]
WantedBy=multi-user.target
"""
_OF_THE_APPLIANCE = ("systemd", "udev", "sysctl.d", "modprobe.d", "sysusers.d", "tmpfiles.d")
READY_UNIT = "own-system.service"
UP = "own-system-up"
STAYS = "own-system-stays"
"""Console lines of a system that is up, and of one that was to restart, as if they were the
appliance's."""
TITLE = "Own system"
"""What the menu of its loader shows."""


@dataclass(frozen=True, slots=True)
class OwnSystem:
    """What a drive's system is like."""

    number: int = 1
    """Tells its partitions from those of another drive's system."""
    loader: str = "EFI/own/shimx64.efi"
    hangs: bool = False
    """Its loader waits for a key, for ever."""
    root_number: int = 0
    """Whose root its loader starts; 0: its own."""
    unit: bool = True
    """Whether it has the unit that reports its start."""
    restarts: bool = True
    """Whether it restarts on request."""

    def partuuid(self, part: str) -> str:
        """Of its `esp`, `root` or `var`."""
        return _partuuid(self.number, part)


def _partuuid(number: int, part: str) -> str:
    return f"0f0f0f0f-{number:04}-4000-8000-{list(_TYPES).index(part) + 1:012}"


def make_own_system(drive: Path, system: OwnSystem = OwnSystem(), *, image: Path = IMAGE) -> Path:
    """The content of a drive with its own system, as a sparse file."""
    with tempfile.TemporaryDirectory(dir=drive.parent) as temporary:
        folder = Path(temporary)
        parts = {
            "esp": _make_esp(folder, image, system),
            "root": _make_root(folder, image, system),
            "var": _make_var(folder),
        }
        table, at = ["label: gpt"], _MIB
        places: dict[str, int] = {}
        for name, part in parts.items():
            places[name] = at
            blocks = -(-part.stat().st_size // _MIB) * 2048
            uuid = system.partuuid(name)
            table.append(f"start={at // 512}, size={blocks}, type={_TYPES[name]}, uuid={uuid}")
            at += blocks * 512
        drive.unlink(missing_ok=True)
        with drive.open("wb") as file:
            file.truncate(at + _MIB)
        _run("sfdisk", "--quiet", drive, text="\n".join(table) + "\n")
        for name, part in parts.items():
            _run(
                "dd", f"if={part}", f"of={drive}", "bs=1M", "conv=notrunc,sparse", "status=none",
                f"seek={places[name] // _MIB}",
            )  # fmt: skip
    return drive


def _copy_out(image: Path, name: str, target: Path) -> Path:
    part = find_partition(image, name)
    assert part is not None, f"{image} has no partition {name}"
    _run(
        "dd", f"if={image}", f"of={target}", "bs=1M", "conv=sparse", "status=none",
        "iflag=skip_bytes,count_bytes", f"skip={part.offset_bytes}", f"count={part.size_bytes}",
    )  # fmt: skip
    return target


def _make_esp(folder: Path, image: Path, system: OwnSystem) -> Path:
    source = find_partition(image, "esp")
    assert source is not None
    theirs = f"{image}@@{source.offset_bytes}"
    files = folder / "esp"
    files.mkdir()
    for name in ("EFI", "kaltstart"):
        _run("mcopy", "-s", "-n", "-i", theirs, f"::/{name}", files)
    own = files / system.loader
    own.parent.mkdir(parents=True, exist_ok=True)
    (files / "EFI/BOOT/BOOTX64.EFI").rename(own)
    for each in sorted((files / "EFI/BOOT").iterdir()):
        each.rename(own.parent / each.name)
    (files / "EFI/BOOT").rmdir()
    names = sorted(str(each.relative_to(files)) for each in (files / "kaltstart").rglob("*"))
    kernel = next(each for each in names if each.endswith("/vmlinuz"))
    # The modules last: what both hold is to be theirs.
    initrds = [each for end in (".zst", ".initrd") for each in names if each.endswith(end)]
    entries = files / "loader/entries"
    entries.mkdir(parents=True)
    wait = "menu-force" if system.hangs else "0"
    (files / "loader/loader.conf").write_text(f"timeout {wait}\n")
    root = _partuuid(system.root_number or system.number, "root")
    (entries / "own.conf").write_text(
        f"title {TITLE}\nlinux /{kernel}\n"
        + "".join(f"initrd /{each}\n" for each in initrds)
        + f"options root=PARTUUID={root} {_OPTIONS}\n"
    )
    fat = folder / "esp.fat"
    with fat.open("wb") as file:
        file.truncate(_ESP_BYTES)
    _run("mkfs.vfat", "-F", "32", "-s", "8", fat)
    _run("mcopy", "-s", "-n", "-i", fat, *sorted(files.iterdir()), "::/")
    return fat


def _make_root(folder: Path, image: Path, system: OwnSystem) -> Path:
    tree, erofs = folder / "root", folder / "root.erofs"
    name = next(each.name for each in find_partitions(image) if each.name.startswith("root"))
    _run("fsck.erofs", f"--extract={tree}", _copy_out(image, name, erofs))
    units = tree / "etc/systemd/system"
    # Units, the guard that makes all drives read-only, and other settings of the appliance's.
    for place in (units, *(tree / "usr/lib" / each for each in _OF_THE_APPLIANCE)):
        for each in sorted(place.rglob("*kaltstart*")):
            if not each.is_dir() or each.is_symlink():
                each.unlink()
    (tree / "usr/lib/os-release").write_text('ID=own\nPRETTY_NAME="Own System 1"\n')
    (tree / "etc/machine-id").write_text(f"0f0f0f0f0f0f400080000000000000{system.number:02x}\n")
    var = system.partuuid("var")
    (tree / "etc/fstab").write_text(f"PARTUUID={var} /var/lib ext4 defaults 0 0\n")
    (units / READY_UNIT).write_text(_READY.format(up=UP))
    wants = units / "multi-user.target.wants"
    wants.mkdir(parents=True, exist_ok=True)
    program = (REPO / "appliance/report_boot.py").read_text()
    (tree / "etc/kaltstart-report-boot.py").write_text(program)
    (units / UNIT).write_text(format_unit("/usr/bin/python3"))
    for unit in (READY_UNIT, UNIT) if system.unit else (READY_UNIT,):
        (wants / unit).unlink(missing_ok=True)
        (wants / unit).symlink_to(f"../{unit}")
    if not system.restarts:
        (units / "reboot.target").unlink(missing_ok=True)
        (units / "reboot.target").symlink_to("/dev/null")
        (units / f"{UNIT}.d").mkdir()
        told = f'ExecStopPost=/bin/sh -c "echo kaltstart: {STAYS} > /dev/ttyS0"'
        (units / f"{UNIT}.d/stays.conf").write_text(f"[Service]\n{told}\n")
    erofs.unlink()
    _run("mkfs.erofs", "--quiet", "-zlz4", erofs, tree)
    return erofs


def _make_var(folder: Path) -> Path:
    var, tree = folder / "var.ext4", folder / "var"
    (tree / "own").mkdir(parents=True)
    with var.open("wb") as file:
        file.truncate(_VAR_BYTES)
    _run("mke2fs", "-q", "-t", "ext4", "-d", tree, var)
    return var


def _run(*words: str | Path, text: str = "") -> None:
    done = subprocess.run(
        [str(word) for word in words], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words[0]}: {done.stderr.strip() or done.stdout.strip()}"
