# SPDX-License-Identifier: Apache-2.0
"""What influences a campaign's results, as names and values to store. Pure.

A value is a text as a person reads it, or a number in the unit at the end of its name. Empty: it is
not known.
"""

from collections.abc import Iterable

from appliance.drives.block_settings import BlockSettings, parse_choice
from appliance.drives.facts.health import parse_answer, part
from appliance.drives.facts.kernel import KernelTexts
from appliance.drives.facts.links import find_link
from appliance.drives.model import Drive
from appliance.machine.facts import FixedFacts

_MEMORY_STEP = 16 << 20
"""What the firmware keeps for itself differs a little from start to start."""
_ON_OFF = {True: "on", False: "off", None: ""}
_PROGRAMS = {
    "Kaltstart": "kaltstart",
    "Linux": "kernel",
    "fio": "fio",
    "smartmontools": "smartmontools",
    "systemd": "systemd",
    "bcache-tools": "bcache_tools",
    "Python": "python",
    "SQLite": "sqlite",
}
"""Programs whose version decides about figures, and what it is stored as."""


_OF_ONE_START = ("BOOT_IMAGE=", "initrd=", "root=", "roothash=", "kaltstart.")
"""Kernel options that say what is started, and not how it works."""


def list_machine_values(
    fixed: FixedFacts,
    *,
    governors: Iterable[str],
    frequency_drivers: Iterable[str],
    aspm_policy: str = "",
    kernel_options: str = "",
) -> dict[str, str]:
    """Of the machine and its programs.

    `governors` and `frequency_drivers` are those of all processors: where these differ, each is
    named. `aspm_policy` and `kernel_options` are as the kernel has them.
    """
    return {
        "machine_vendor": fixed.vendor,
        "machine_model": fixed.model,
        "machine_board": fixed.board,
        "virtual_machine": "yes" if fixed.is_virtual else "no",
        "firmware_type": fixed.firmware,
        "firmware_version": fixed.firmware_version,
        "processor": fixed.processor,
        "processors": _say(fixed.processors or None),
        "memory_bytes": _say(round(fixed.ram_bytes / _MEMORY_STEP) * _MEMORY_STEP or None),
        "governor": ", ".join(sorted(set(governors))),
        "frequency_driver": ", ".join(sorted(set(frequency_drivers))),
        "aspm_policy": parse_choice(aspm_policy),
        "kernel_options": parse_kernel_options(kernel_options),
        **{name: fixed.versions.get(program, "") for program, name in _PROGRAMS.items()},
    }


def list_drive_values(
    drive: Drive, *, settings: BlockSettings, kernel: KernelTexts, smart: str
) -> dict[str, str]:
    """Of one drive; `smart` is the output of health.SMARTCTL, empty where it was not asked now."""
    data = parse_answer(smart)
    link = find_link(drive, kernel, data)
    enabled: bool | None = part(data, "write_cache").get("enabled")
    return {
        "model": drive.model,
        "firmware": drive.firmware,
        "transport": drive.transport,
        "driver": ", ".join(settings.drivers),
        "location": kernel.location,
        "topology": " > ".join(kernel.topology),
        "link": link.now,
        "link_max": link.drive_max,
        "link_port_max": link.port_max,
        "scheduler": settings.scheduler,
        "read_ahead_bytes": _say(settings.read_ahead_bytes),
        "nr_requests": _say(settings.nr_requests),
        "queue_depth": _say(settings.queue_depth),
        "write_cache": settings.write_cache,
        "drive_write_cache": _ON_OFF.get(enabled, ""),
        "idle_power_states": describe_idle_states(settings.wake_latency_us),
        "link_power_policy": settings.link_power_policy,
        "link_aspm": "" if settings.link_aspm is None else settings.link_aspm or "none",
    }


def parse_kernel_options(cmdline: str) -> str:
    """Those of /proc/cmdline that decide how the kernel works."""
    return " ".join(word for word in cmdline.split() if not word.startswith(_OF_ONE_START))


def describe_idle_states(wake_latency_us: str) -> str:
    """Which power states an NVMe drive enters on its own between requests (APST)."""
    if wake_latency_us == "0":
        return "none"
    return f"wake within {wake_latency_us} µs" if wake_latency_us.isdecimal() else wake_latency_us


def _say(number: int | None) -> str:
    """Empty for None."""
    return "" if number is None else str(number)
