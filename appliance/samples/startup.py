# SPDX-License-Identifier: Apache-2.0
"""systemd's own times of this boot."""

from dataclasses import dataclass

from appliance.report_boot import PROPERTIES

__all__ = ["PROPERTIES", "Startup", "parse_startup"]


@dataclass(frozen=True, slots=True)
class Startup:
    """The parts of a start-up, in seconds. Firmware and loader are None where only BIOS knows.

    Kernel, initrd and user space are None for a system that does not separate them; the kernel's
    time includes that of an initrd without systemd.
    """

    firmware_s: float | None
    loader_s: float | None
    kernel_s: float | None
    initrd_s: float | None
    userspace_s: float | None
    finish_s: float
    """From the kernel's start to "startup finished": the first moment without a queued job."""


def parse_startup(text: str) -> Startup | None:
    """`systemctl show`'s lines for PROPERTIES; None while the start-up is not finished."""
    values = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        values[key] = int(value) / 1e6 if value.isdigit() else 0.0
    finish_s = values.get("FinishTimestampMonotonic", 0.0)
    userspace_at_s = values.get("UserspaceTimestampMonotonic", 0.0)
    if not finish_s:
        return None
    firmware_s = values.get("FirmwareTimestampMonotonic", 0.0)
    loader_s = values.get("LoaderTimestampMonotonic", 0.0)
    if loader_s >= firmware_s:
        # Of ACPI's table systemd subtracts what may be missing, or later (boot_timestamps() in
        # src/shared/boot-timestamps.c): the loader would have taken all of it, or more.
        firmware_s = loader_s = 0.0
    initrd_at_s = values.get("InitRDTimestampMonotonic", 0.0)
    return Startup(
        firmware_s=firmware_s - loader_s if firmware_s else None,
        loader_s=loader_s or None,
        kernel_s=initrd_at_s or userspace_at_s or None,
        initrd_s=userspace_at_s - initrd_at_s if initrd_at_s and userspace_at_s else None,
        userspace_s=finish_s - userspace_at_s if userspace_at_s else None,
        finish_s=finish_s,
    )
