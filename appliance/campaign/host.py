# SPDX-License-Identifier: Apache-2.0
"""The machine a campaign runs on: what is done to it, and what is asked of it.

Power, drives, clock, console lines and keys hang on one object. It is made once for each start of
the engine and each measured boot, and handed on; tests hand in another one. Mounting the stick, and
what workloads do on a drive, is not here. Must never decide anything: what is done, and when, is
the caller's.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Protocol

from appliance.arrays.superblock import Superblock, read_superblock
from appliance.caches.ballast import release_ballast
from appliance.campaign import power
from appliance.campaign.console_keys import Consoles, Keyboards, find_consoles
from appliance.campaign.this_boot import ThisBoot, read_this_boot
from appliance.console import announce
from appliance.drive_thread import Signs
from appliance.drives.deadlines import read_signs
from appliance.drives.facts.power_cycles import PowerCycles, read_power_cycles
from appliance.drives.facts.temperature import ThermalState, query_thermal_state
from appliance.drives.facts.unlisted import describe_hidden
from appliance.drives.file_system import detach_mounts, read_file_system_uuid
from appliance.drives.identity_query import (
    AskedIdentity,
    AskIdentity,
    ask_identity,
    ask_scsi_identity,
)
from appliance.drives.model import Drive
from appliance.drives.own_loader import OwnLoader, find_own_loader
from appliance.drives.probe import (
    find_drives,
    find_settled_drives,
    is_udev_held,
    read_number,
    read_serial,
)
from appliance.drives.unlock import Unlocked, close_guard, unlocked
from appliance.machine.memory_errors import read_memory_errors
from appliance.report_boot import BootReport
from appliance.samples.kernel_errors import (
    KernelWatch,
    find_kernel_names,
    read_kernel_errors,
    watch_kernel,
)
from appliance.samples.temperature import find_sensor, read_cpu_celsius
from appliance.stick.partitions import RUN
from appliance.turn import Turn
from appliance.workloads.drive_content import DriveContent, read_content
from appliance.workloads.drive_ends import DriveEnds, read_ends

_BLOCK = Path("/sys/class/block")


class Power(Protocol):
    """The machine's power, its next boot entry and its alarm: the functions of `power`."""

    def arm_entry(
        self, this_boot: ThisBoot, entry: str, *, set_uuid: str = "", esp_partuuid: str = ""
    ) -> None: ...
    def arm_installed(self, this_boot: ThisBoot, loader: OwnLoader, token: str) -> None: ...
    def read_report(self, token: str) -> BootReport | None: ...
    def forget_report(self) -> None: ...
    def explain_no_entry(self, this_boot: ThisBoot, *, path: str = "stick") -> str: ...
    def disarm_entry(self, this_boot: ThisBoot) -> None: ...
    def remove_boot_option(self) -> None: ...
    def hand_over_set(self, set_uuid: str) -> None: ...
    def entry_is_armed(self, this_boot: ThisBoot) -> bool: ...
    def read_selected_entry(self) -> str: ...
    def can_wake(self) -> bool: ...
    def arm_alarm(self, after_s: int) -> float: ...
    def read_rtc_s(self) -> float: ...
    def clear_alarm(self) -> None: ...
    def find_unmarked(self, this_boot: ThisBoot, count: int) -> int: ...
    def is_mark_kept(self, this_boot: ThisBoot) -> bool: ...
    def mark_count(self, this_boot: ThisBoot, count: int) -> None: ...
    def restart_after_panic(self, *, wanted: bool) -> None: ...
    def power_off(self) -> None: ...
    def switch_off_without_programs(self) -> None: ...
    def cut_power(self, last: Callable[[], None], *, abrupt: bool) -> None: ...
    def reboot(self) -> None: ...
    def wait_for_the_end(self) -> NoReturn: ...


class Announce(Protocol):
    """Print a line on the console, for people and programs."""

    def __call__(self, event: str, **fields: object) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Time as the kernel tells it."""

    monotonic_s: Callable[[], float]
    """Since the kernel started."""
    time_s: Callable[[], float]
    """Since the epoch; the clock of a bench machine may be wrong."""
    sleep: Callable[[float], None]

    def kernel_started_at(self) -> float:
        """When the kernel started, by the wall clock, in seconds since the epoch."""
        return self.time_s() - self.monotonic_s()


ReadSuperblock = Callable[[str], Superblock | None]
"""Of bcache, at a path; None where there is none. Raises StepFailedError, StillRunningError."""


class Unlock(Protocol):
    """`unlocked` of `drives.writable`."""

    def __call__(
        self,
        drive: Drive,
        *,
        stick: Drive | None,
        released_identity: str,
        noted: AskedIdentity | None,
    ) -> AbstractContextManager[Unlocked]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveAccess:
    """The drives of this machine: what they and the kernel answer, and how one is made writable."""

    find: Callable[[], tuple[Drive, ...]]
    find_settled: Callable[[], tuple[Drive, ...]]
    """The same, once udev has looked at each."""
    is_udev_held: Callable[[], bool]
    """Whether a drive keeps udev from telling that it has."""
    read_number: Callable[[str], str]
    """The kernel's, by name: another one once a drive was plugged in again."""
    read_serial: Callable[[str], str]
    """The drive's, by name, as the kernel has it."""
    read_signs: Callable[[Sequence[str]], Mapping[str, Signs]]
    ask_identity: AskIdentity
    ask_scsi_identity: Callable[[Drive], AskedIdentity | None]
    read_power_cycles: Callable[[Drive], PowerCycles]
    read_celsius: Callable[[Drive], float | None]
    """By the kernel's sensor; None without one."""
    read_kernel_errors: Callable[[Drive], str]
    """What the kernel has reported of its errors in this boot; empty without one."""
    watch_kernel: Callable[[Mapping[int, Drive]], KernelWatch]
    """What it reports of these drives' errors from now on."""
    query_thermal_state: Callable[[str], ThermalState]
    """By smartctl, at a path. Raises StillRunningError where the question hangs."""
    read_ends: Callable[[str], DriveEnds]
    read_content: Callable[[str], DriveContent]
    read_file_system_uuid: Callable[[str], str]
    read_superblock: ReadSuperblock
    find_own_loader: Callable[[Drive], OwnLoader]
    """What a drive's own system is started with. Raises RefusedError, StepFailedError."""
    describe_hidden: Callable[[], tuple[str, ...]]
    """Where it may find drives that are not among these."""
    unlocked: Unlock
    close_guard: Callable[[Drive], None]
    detach_mounts: Callable[[Sequence[str]], None]
    """Take what is mounted of these devices out of the tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine in one boot."""

    this_boot: ThisBoot
    power: Power
    clock: Clock
    drives: DriveAccess
    announce: Announce
    release_ballast: Callable[[], bool]
    """Give back the memory that a workload holds; whether it held any."""
    find_consoles: Callable[[], tuple[str, ...]]
    """The screen and the serial lines that people may stand at."""
    open_consoles: Callable[[], Consoles]
    open_keyboards: Callable[[], Keyboards]
    read_memory_errors: Callable[[], dict[str, str]]
    """What the machine's memory has counted since its start; empty where it does not count."""
    read_cpu_celsius: Callable[[], float | None]
    """Of the hottest processor; None where no sensor of one is known."""
    run: Path
    """The folder in RAM in which engine and interface tell each other what goes on."""
    turn: Turn = field(default_factory=Turn)
    """Which of the threads works that run steps beside each other."""


def read_celsius(drive: Drive) -> float | None:
    """How warm the drive is, by the kernel's sensor."""
    sensor = find_sensor(_BLOCK / drive.name)
    return None if sensor is None else sensor.read_celsius()


def _read_kernel_errors(drive: Drive) -> str:
    return read_kernel_errors(find_kernel_names(_BLOCK / drive.name))


def _watch_kernel(drives: Mapping[int, Drive]) -> KernelWatch:
    return watch_kernel({number: _BLOCK / drive.name for number, drive in drives.items()})


def read_host() -> Host:
    """The machine that this program runs on."""
    turn = Turn()
    return Host(
        this_boot=read_this_boot(),
        power=power,
        clock=Clock(monotonic_s=time.monotonic, time_s=time.time, sleep=turn.sleep),
        drives=DriveAccess(
            find=find_drives,
            find_settled=find_settled_drives,
            is_udev_held=is_udev_held,
            read_number=read_number,
            read_serial=read_serial,
            read_signs=read_signs,
            ask_identity=ask_identity,
            ask_scsi_identity=ask_scsi_identity,
            read_power_cycles=read_power_cycles,
            read_celsius=read_celsius,
            read_kernel_errors=_read_kernel_errors,
            watch_kernel=_watch_kernel,
            query_thermal_state=query_thermal_state,
            read_ends=read_ends,
            read_content=read_content,
            read_file_system_uuid=read_file_system_uuid,
            read_superblock=read_superblock,
            find_own_loader=find_own_loader,
            describe_hidden=describe_hidden,
            unlocked=unlocked,
            close_guard=close_guard,
            detach_mounts=detach_mounts,
        ),
        announce=announce,
        release_ballast=release_ballast,
        find_consoles=find_consoles,
        open_consoles=lambda: Consoles(find_consoles()),
        open_keyboards=Keyboards,
        read_memory_errors=read_memory_errors,
        read_cpu_celsius=read_cpu_celsius,
        run=RUN,
        turn=turn,
    )
