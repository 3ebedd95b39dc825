# SPDX-License-Identifier: Apache-2.0
"""Sizes and times as people write and read them, and device texts made harmless. Pure.

Which unit a size has, on every page, in every reason and report:

- what a drive or a partition holds or has room for, and every rate: decimal, as on a drive's box
  and in fio's and the makers' figures (`format_drive_size`: `500 GB`; `98.4 MB/s`);
- an amount of data, such as what was read, is unreadable, is in a file or in RAM: binary, as plans
  and limits write it (`format_size`: `64 KiB`; a plan's `64K`).

The unit's name tells which it is: an `i` is binary.
"""

import re
import unicodedata

_SIZE = re.compile(r"(\d+)\s*([KMGT]?)", re.ASCII)
_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str | int) -> int:
    """Bytes in `4K`, `1M`, `2G` (binary) or a plain number. Raises ValueError."""
    if isinstance(text, bool):
        raise ValueError("not a size")
    if isinstance(text, int):
        if text < 0:
            raise ValueError("a size cannot be negative")
        return text
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size such as 4K, 1M, 2G or a number of bytes")
    return int(match[1]) * _FACTOR[match[2]]


def show_size(size_bytes: int) -> str:
    """A size as a plan writes it, exactly: `100M`, or bytes where no unit divides it."""
    for unit in "TGMK":
        if size_bytes and size_bytes % _FACTOR[unit] == 0:
            return f"{size_bytes // _FACTOR[unit]}{unit}"
    return str(size_bytes)


def format_drive_size(size_bytes: int) -> str:
    """A capacity as its box states it, in decimal units: `500 GB`."""
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if value < 1000 or unit == "PB":
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


def format_size(size_bytes: float, *, decimals: int = 3) -> str:
    """A size as people read it, in binary units, with at most so many decimals: `1.23 MiB`."""
    if round(size_bytes) < 1024:
        return f"{size_bytes:.0f} B"
    number, units = size_bytes / 1024, ["TiB", "GiB", "MiB", "KiB"]
    # By what is shown: never 1024 of a unit.
    while round(number, decimals) >= 1024 and len(units) > 1:
        number /= 1024
        units.pop()
    text = f"{number:.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if decimals else text} {units[-1]}"


def format_exact_size(size_bytes: int) -> str:
    """The same with the bytes beside it where it is rounded: `1.23 MiB (1290240 B)`."""
    for factor in (1 << 40, 1 << 30, 1 << 20, 1 << 10):
        if size_bytes >= factor:
            # Three decimals hold a thousandth of the unit, whole bytes only where it divides.
            is_exact = size_bytes * 1000 % factor == 0
            size = format_size(size_bytes)
            return size if is_exact else f"{size} ({size_bytes} B)"
    return format_size(size_bytes)


def format_seconds(seconds: float | None) -> str:
    """Seconds with three decimals and no unit, or a dash where nothing was measured."""
    return "–" if seconds is None else f"{seconds:.3f}"


def format_minutes(seconds: float) -> str:
    """`3 min 2 s`, to the nearest second."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def printable(text: str) -> str:
    """`text` with everything a terminal or a log might act on shown as hexadecimal escapes.

    Models, serials and firmware names come from devices and may hold anything.
    """
    # What Python calls printable: all but Unicode's categories C and Z, and the space.
    if text.isprintable():
        return text  # a phrase stays one
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]) *(\..*)?", re.IGNORECASE)


def is_windows_device(name: str) -> bool:
    """Whether Windows takes a file of this name for a device and cannot open it.

    It does so with any ending ("Naming Files, Paths, and Namespaces", Microsoft).
    """
    return _WINDOWS_DEVICE.fullmatch(name) is not None


def slug(text: str, *, limit: int = 40) -> str:
    """`text` as a file name that FAT, a shell and a URL all leave alone; never empty."""
    text = text.replace("ß", "ss").replace("ẞ", "SS")  # the one German letter that has no base
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", ascii_text).strip("-")[:limit].strip("-") or "x"
    return f"{name}_" if is_windows_device(name) else name
