# SPDX-License-Identifier: Apache-2.0
"""Problems of a drive and its connection, in sentences for people. Pure.

States facts and what to do about them; whether a drive is good enough is not for this module.
"""

from appliance.drives.facts.links import Link
from appliance.drives.model import Drive
from appliance.phrases import N_, Phrase

_SLOW_ANSWER_S = 15
_USABLE_SECTORS = frozenset({512, 1024, 2048, 4096})
_OWN_BUS = frozenset({"sata", "sas", "nvme"})
_OLD_SAS = frozenset({"1.5 Gb/s", "3.0 Gb/s"})
_NO_LINK = Link()
_USB2 = frozenset({"480 Mb/s", "12 Mb/s"})


def find_findings(
    drive: Drive,
    link: Link,
    *,
    write_cache: str,
    trim: bool | None,
    drive_knows_trim: bool | None,
    zoned: str,
    security: str,
    took_s: float,
    hidden: str,
    reset: str,
    sector_bytes: int,
    volume_driver: str = "",
    controller: str = "",
    controller_link: Link = _NO_LINK,
) -> tuple[str, ...]:
    """All findings, the gravest first."""
    return tuple(
        sentence
        for sentence in (
            _capacity(drive, sector_bytes),
            Phrase(
                N_(
                    "a volume of a RAID controller ({driver}): what is measured is the controller "
                    "with its cache and all disks of the volume"
                ),
                driver=volume_driver,
            )
            if volume_driver
            else "",
            _security(security),
            _protection(drive),
            reset,
            hidden,
            Phrase(N_("it took {number} s to answer"), number=f"{took_s:.0f}")
            if took_s > _SLOW_ANSWER_S
            else "",
            _link(link),
            _controller_link(controller, controller_link),
            _cache(drive, write_cache),
            _trim(drive, trim=trim, drive_knows_trim=drive_knows_trim),
            _zoned(zoned),
        )
        if sentence
    )


def _capacity(drive: Drive, sector_bytes: int) -> str:
    """`sector_bytes` is what the drive itself says; 0: nothing."""
    if drive.size_bytes or drive.removable:
        return ""
    if sector_bytes and sector_bytes not in _USABLE_SECTORS:
        return Phrase(
            N_(
                "its sectors hold {count} bytes, as in disk arrays: before it can be tested it has "
                "to be formatted to 512 or 4096 on another machine (sg_format --format "
                "--size=512), which erases it"
            ),
            count=sector_bytes,
        )
    return N_(
        "it reports no capacity: listen whether it spins up, then try another cable, slot "
        "and machine"
    )


def _security(security: str) -> str:
    return {
        "locked": N_("locked by an ATA password: nothing on it can be read or written"),
        "enabled": N_("an ATA password is set: it will be locked after the next power-off"),
        "frozen": N_(
            "its ATA security is frozen, as firmware does at start-up: no secure erase until "
            "it is plugged in again"
        ),
    }.get(security, "")


def _protection(drive: Drive) -> str:
    if not drive.write_protected:
        return ""
    return N_(
        "write-protected by the drive itself: it can only be read; look for a switch on it "
        "or its case; worn-out flash protects itself permanently"
    )


def _link(link: Link) -> str:
    if link.kind == "usb" and link.now in _USB2:
        return Phrase(
            N_("connected with {link}, USB 2: try a port and a cable for USB 3"), link=link.now
        )
    if link.is_slower_than_drive and link.is_slower_than_port:
        return Phrase(
            N_(
                "connected with {link} although it can do {drive} and its port {port}: "
                "clean the contacts, change the cable or the slot"
            ),
            link=link.now,
            drive=link.drive_max,
            port=link.port_max,
        )
    if link.is_slower_than_drive:
        if not link.port_max:
            text = N_("connected with {link} although it can do {drive}")
            return Phrase(text, link=link.now, drive=link.drive_max)
        return Phrase(
            N_("connected with {link} although it can do {drive}; its port can do {port}"),
            link=link.now,
            drive=link.drive_max,
            port=link.port_max,
        )
    if link.kind == "sata" and link.now == "1.5 Gb/s":
        return N_("connected with 1.5 Gb/s: results above 150 MB/s are not possible here")
    return _sas_link(link)


def _sas_link(link: Link) -> str:
    """What a SAS drive can is not told, and one of 6 Gb/s on a port of 12 is as it should be."""
    if link.kind != "sas" or not link.is_slower_than_port or link.now not in _OLD_SAS:
        return ""
    return Phrase(
        N_(
            "connected with {link}, its port can do {port}, and SAS drives made since 2009 can "
            "do 6.0 Gb/s: clean the contacts, change the cable or the slot"
        ),
        link=link.now,
        port=link.port_max,
    )


def _controller_link(controller: str, link: Link) -> str:
    if not link.is_slower_than_drive:
        return ""
    return Phrase(
        N_(
            "its controller (PCI {controller}) is connected with {link} although it can do {most}: "
            "all drives on it share that; try another slot"
        ),
        controller=controller,
        link=link.now,
        most=link.drive_max,
    )


def _cache(drive: Drive, write_cache: str) -> str:
    # NVMe drives that need none have none, and USB bridges often do not tell.
    if write_cache == "off" and drive.transport in {"sata", "sas"}:
        return N_("its write cache is switched off: writes are slower than they could be")
    return ""


def _trim(drive: Drive, *, trim: bool | None, drive_knows_trim: bool | None) -> str:
    if trim is False and drive_knows_trim:
        return N_("supports TRIM, but its connection does not pass it on")
    if trim is False and not drive.rotational and drive.transport in _OWN_BUS:
        return N_("flash without TRIM: the drive cannot be told which blocks are free")
    return ""


def _zoned(zoned: str) -> str:
    return {
        "host-managed": N_(
            "host-managed zones: it can only be written in order, and ordinary file systems "
            "cannot use it"
        ),
        "host-aware": N_("shingled (host-aware zones): scattered writes become slow"),
        "drive-managed": N_("shingled (drive-managed zones): scattered writes become slow"),
    }.get(zoned, "")
