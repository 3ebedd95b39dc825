# SPDX-License-Identifier: Apache-2.0
"""Runs inside the machine: asks it what discovery and the details of a drive are read from.

Handed in by `capture` as text, so it imports only what the image has. Requests come on the serial
line, one in a line; so do the answers at an I/O port: {} at first, then {"captured": …} or
{"error": text}.
"""

import base64
import json
import os
import subprocess
import time
import traceback
import zlib
from pathlib import Path
from typing import BinaryIO

from appliance.drives.probe import ask_lsblk

_SYS = Path("/sys")
_SMARTCTL = ["smartctl", "--json=cu", "--xall"]
_ASKING_S = 25
_APPEARING_S = 60
_PORT = 0xE9
_TAIL = 3000
_OF_DISK = ("size", "ro", "removable", "serial", "nsid", "wwid")
_OF_QUEUE = (
    "rotational", "write_cache", "zoned", "discard_granularity", "discard_max_bytes",
    "discard_max_hw_bytes", "logical_block_size", "physical_block_size",
)  # fmt: skip
_OF_DEVICE = (
    "vpd_pg80", "vpd_pg83", "vpd_pg89", "vpd_pgb1", "serial", "vendor", "model", "rev",
    "firmware_rev", "state", "transport", "address",
)  # fmt: skip
_OF_SCSI_DISK = ("cache_type", "FUA", "provisioning_mode", "thin_provisioning")
_ABOVE = (
    "idVendor", "idProduct", "serial", "speed", "version", "current_link_speed",
    "max_link_speed", "current_link_width", "max_link_width",
)  # fmt: skip
_OF_SATA_LINK = ("sata_spd", "sata_spd_limit", "hw_sata_spd_limit")


def main() -> None:
    """Answer one request after the other."""
    with Path("/dev/ttyS0").open("rb") as requests, Path("/dev/port").open("wb", 0) as port:
        _tell({}, port)
        for line in requests:
            try:
                answer: object = {"captured": _look(**json.loads(_unpacked(line)))}
            except Exception:  # noqa: BLE001 - whatever it is, it is reported to the caller
                answer = {"error": traceback.format_exc()}
            _tell(answer, port)


def _look(*, disks: int, prepare: str, undo: str) -> dict[str, object]:
    """Capture, once there are so many `disks`, between the two scripts."""
    _wait_for(disks)
    _bash(prepare)
    _settle()
    try:
        return _capture()
    finally:
        _bash(undo)


def _wait_for(disks: int) -> None:
    deadline = time.monotonic() + _APPEARING_S
    while (found := len(_list_disks())) != disks:
        if time.monotonic() > deadline:
            kernel = subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout
            raise TimeoutError(f"{found} disks instead of {disks}; the kernel:\n{kernel[-_TAIL:]}")
        time.sleep(0.5)
    _settle()


def _settle() -> None:
    # One that stalls is never settled.
    subprocess.run(["udevadm", "settle", "--timeout=20"], check=False)


def _bash(script: str) -> None:
    if script:
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")


def _list_disks() -> list[Path]:
    others = ("loop", "ram", "zram", "dm-", "md", "bcache", "zd")
    return sorted(each for each in (_SYS / "block").iterdir() if not each.name.startswith(others))


def _capture() -> dict[str, object]:
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    smartctl: dict[str, object] = {}
    reads: dict[str, object] = {}
    for block in _list_disks():
        disk = block.resolve()
        links[_inside_sys(block)] = _inside_sys(disk)
        for folder in (disk, (disk / "device").resolve()):
            if (folder / "device").is_symlink():
                links[_inside_sys(folder / "device")] = _inside_sys((folder / "device").resolve())
        for path in _sources(disk):
            _read(path, files)
    devices = json.loads(ask_lsblk())
    for name in links:
        if name.startswith("block/"):
            device = f"/dev/{name.removeprefix('block/')}"
            smartctl[device] = _ask(device)
            reads[device] = _read_first(device)
    for backing_file in (_SYS / "block").glob("loop*/loop/backing_file"):
        loop = backing_file.parents[1]
        links[_inside_sys(loop)] = _inside_sys(loop.resolve())
        _read(backing_file, files)
    release = dict(
        line.split("=", 1) for line in Path("/usr/lib/os-release").read_text().splitlines()
    )
    version = f"{release['VERSION_ID']} {release.get('IMAGE_VERSION', '')}".replace('"', "")
    return {
        "version": f"{version.strip()}, Linux {os.uname().release}",
        "lsblk": devices,
        "links": links,
        "files": files,
        "smartctl": smartctl,
        "reads": reads,
    }


def _tell(answer: object, port: BinaryIO) -> None:
    packed = base64.b64encode(zlib.compress(json.dumps(answer).encode(), 9)) + b"\n"
    for at in range(len(packed)):
        # One write of several bytes would go to as many ports.
        os.pwrite(port.fileno(), packed[at : at + 1], _PORT)


def _unpacked(line: bytes) -> bytes:
    return zlib.decompress(base64.b64decode(line))


def _sources(disk: Path) -> list[Path]:
    found = [disk / name for name in _OF_DISK]
    found += [disk / "queue" / name for name in _OF_QUEUE]
    found += [disk / "device" / name for name in _OF_DEVICE]
    for scsi_disk in (disk / "device/scsi_disk").glob("*"):
        found += [scsi_disk / name for name in _OF_SCSI_DISK]
    for above in disk.parents:
        if above == _SYS / "devices":
            break
        found += [above / name for name in _ABOVE]
        if above.name.startswith("ata"):
            found += [
                link / name for link in above.glob("link*/ata_link/*") for name in _OF_SATA_LINK
            ]
        found += above.glob("scsi_host/*/ahci_host_caps")
    return found


def _read(path: Path, files: dict[str, str]) -> None:
    try:
        # One character for each byte.
        files[_inside_sys(path.resolve())] = path.read_bytes().decode("latin-1")
    except OSError:
        return


def _inside_sys(path: Path) -> str:
    return str(path.relative_to(_SYS))


def _ask(device: str) -> object:
    _, text, _ = _run([*_SMARTCTL, device]) or (0, "null", "")
    return json.loads(text)


def _read_first(device: str) -> object:
    """What reading the first sector led to: an empty text, dd's complaint, or no answer."""
    words = ["dd", f"if={device}", "of=/dev/null", "bs=4096", "count=1", "iflag=direct"]
    done = _run([*words, "status=none"])
    if done is None:
        return None
    returncode, _, errors = done
    return errors.strip() if returncode else ""


def _run(words: list[str]) -> tuple[int, str, str] | None:
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, errors = process.communicate(timeout=_ASKING_S)
    except subprocess.TimeoutExpired:
        # Where the drive does not answer it cannot even be killed: it is left behind.
        process.kill()
        return None
    return process.returncode, out, errors


main()
