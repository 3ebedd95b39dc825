# SPDX-License-Identifier: Apache-2.0
"""The maximum transfer rate of a link, from the text that describes it. Pure.

Payload, as far as the line code and, with USB, the frames decide it; what protocols take besides is
not subtracted.
"""

import re
from dataclasses import dataclass

_PCI = re.compile(r"(\d+(?:\.\d+)?) GT/s x(\d+)")
_SERIAL = re.compile(r"(\d+(?:\.\d+)?) ([GM])b/s")
_USB_BULK = {
    # Universal Serial Bus Specification 2.0, tables 5-9 and 5-10: 19 packets of 64 bytes in a frame
    # of 1 ms, 13 of 512 in a microframe of 125 µs.
    "12 Mb/s": ("USB 1.1", 19 * 64 * 1_000, 1e-3),
    "480 Mb/s": ("USB 2", 13 * 512 * 8_000, 125e-6),
}
_USB_PHASES = 3
"""Command, data and status go one after the other, each in a (micro)frame of its own at least:
Universal Serial Bus Mass Storage Class, Bulk-Only Transport, revision 1.0, 5.1."""
_NAMES = {"sata": "SATA", "sas": "SAS", "usb": "USB"}


@dataclass(frozen=True, slots=True)
class Carried:
    """What a link carries."""

    name: str
    """`USB 2`, `SATA at 1.5 Gb/s`"""
    bytes_s: float
    request_s: float = 0.0
    """The least that a request takes for its way, however small it is."""


def find_carried(transport: str, link: str) -> Carried | None:
    """What `link` (links.Link.now) carries at most; None if that is not known."""
    if transport == "usb" and link in _USB_BULK:
        name, bytes_s, frame_s = _USB_BULK[link]
        return Carried(name, float(bytes_s), _USB_PHASES * frame_s)
    if match := _PCI.fullmatch(link):
        rate, lanes = float(match[1]), int(match[2])
        name = f"PCI Express at {match[1]} GT/s x{lanes}"
        return Carried(name, rate * 1e9 * _find_pci_code(rate) / 8 * lanes)
    if match := _SERIAL.fullmatch(link):
        rate = float(match[1]) * (1e9 if match[2] == "G" else 1e6)
        name = f"{_NAMES.get(transport, 'its link')} at {link}"
        return Carried(name, rate * _find_serial_code(transport, rate) / 8)
    return None


def find_common(transport: str, ends: tuple[str, str]) -> Carried | None:
    """What a link between both ends carries at most; None if an end is not known.

    Of PCI Express that is the rate of the slower one, and the lanes of the narrower one.
    """
    if all(matches := [_PCI.fullmatch(end) for end in ends]):
        rate, lanes = (
            min((match[place] for match in matches if match), key=float) for place in (1, 2)
        )
        return find_carried(transport, f"{rate} GT/s x{lanes}")
    carried = [link for end in ends if (link := find_carried(transport, end)) is not None]
    return min(carried, key=lambda each: each.bytes_s) if len(carried) == len(ends) else None


def _find_pci_code(gigatransfers: float) -> float:
    """8b/10b up to 5 GT/s, 128b/130b up to 32, 242 of 256 bytes of a flit at 64.

    PCI Express Base Specification 6.0, 4.2.
    """
    if gigatransfers <= 5.0:
        return 0.8
    return 128 / 130 if gigatransfers <= 32.0 else 242 / 256


def _find_serial_code(transport: str, rate: float) -> float:
    """8b/10b but for USB from 10 Gb/s on (128b/132b) and SAS at 22.5 Gb/s (128b/150b).

    Serial ATA 3.2, 9.2; SPL-4, 5.5; Universal Serial Bus 3.2 Specification, 6.3.
    """
    if transport == "usb":
        return 0.8 if rate < 10e9 else 128 / 132
    return 0.8 if rate < 20e9 else 128 / 150
