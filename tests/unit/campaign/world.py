# SPDX-License-Identifier: Apache-2.0
"""A campaign on a machine that is not there: a real database, and everything else written down.

What is asked of the machine goes to `log`, in its order. Rows are always read through a connection
of their own, so that a test sees what is committed and nothing else.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn, override

from appliance.arrays.superblock import Superblock
from appliance.campaign.boots.measured_boot import measure_boot
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.console_keys import Consoles, Keyboards
from appliance.campaign.context import CampaignContext
from appliance.campaign.host import Clock, DriveAccess, Host
from appliance.campaign.silent_drives import SilentDrives
from appliance.campaign.start import describe
from appliance.campaign.states import MAX_ATTEMPTS, max_power_actions, plan_cycles
from appliance.campaign.this_boot import ThisBoot
from appliance.drives.facts.power_cycles import PowerCycles
from appliance.drives.facts.temperature import ThermalState
from appliance.drives.identity_query import AskedIdentity
from appliance.drives.model import Drive
from appliance.drives.own_loader import OwnLoader
from appliance.drives.unlock import Unlocked
from appliance.errors import KaltstartError, RefusedError, StepFailedError
from appliance.reference_os.install import esp_partuuid, root_partuuid, session_partuuid
from appliance.report_boot import BootReport
from appliance.samples.kernel_errors import KernelErrors, KernelWatch, find_errors
from appliance.stick.partitions import Stick
from appliance.store.connect import open_database, open_read_only, transaction
from appliance.store.tables.boots import CycleRow, insert_cycle, select_cycles
from appliance.store.tables.campaigns import (
    CampaignDriveRow,
    CampaignRow,
    insert_campaign,
    insert_campaign_drive,
    insert_drive,
    select_campaign,
    select_campaign_drives,
    update_campaign_state,
    update_installed,
)
from appliance.workloads.drive_content import DriveContent, Signature, make_content
from appliance.workloads.drive_ends import DriveEnds

HDD = Drive(
    path="/dev/sda",
    serial="LAB-HDD-1",
    wwn="0x5000000000000001",
    model="hdd",
    firmware="1",
    size_bytes=4_000_000_000,
    rotational=True,
    transport="sata",
    logical_block_bytes=512,
    physical_block_bytes=4096,
)
SSD = replace(HDD, path="/dev/sdb", serial="LAB-SSD-1", wwn="0x5000000000000002", rotational=False)
OWN_ESP = "0f0f0f0f-2222-4333-8444-555555555555"
"""Of the system that a drive carries."""
STICK = Stick(
    replace(HDD, path="/dev/sdc", serial="STICK-1", wwn="", removable=True),
    "/dev/sdc1",
    "/dev/sdc6",
    "/dev/sdc2",
)


def install_uuid(slot: int) -> str:
    """GUID of the partition table that installing to `slot` makes here."""
    return f"11111111-2222-4333-8444-5555555555{slot:02d}"


def installed(drive: Drive, slot: int) -> Drive:
    """`drive` with the reference OS of `slot` on it."""
    return replace(
        drive,
        partition_uuids=(root_partuuid(slot), session_partuuid(slot), esp_partuuid(slot)),
        disk_uuid=install_uuid(slot),
    )


class WorldKernelWatch(KernelWatch):
    """What the world's kernel reports from here on."""

    def __init__(self, world: "World", drives: Mapping[int, Drive]) -> None:
        super().__init__({}, None)
        self._world = world
        self._drives = drives
        self._begin = len(world.kernel_log)

    @override
    def take(self) -> dict[int, KernelErrors]:
        """By drive, since the last time."""
        records = self._world.kernel_log[self._begin :]
        self._begin += len(records)
        return {
            drive_id: find_errors(
                records, [f"{drive.name}\\d*"], complete=self._world.is_log_complete
            )
            for drive_id, drive in self._drives.items()
        }


@dataclass
class World:
    """The machine, its stick's database, and the person in front of it."""

    path: Path
    log: list[str] = field(default_factory=list)
    lines: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    """The console."""
    drives: tuple[Drive, ...] = ()
    detached: list[list[str]] = field(default_factory=list)
    """Devices whose mounts were taken out of the tree."""
    numbers: dict[str, str] = field(default_factory=dict)
    """The kernel's, by name: another one once a drive was plugged in again."""
    sets: dict[str, str] = field(default_factory=dict)
    """UUIDs of the arrays' sets that drives belong to, by path."""
    counts: dict[str, int] = field(default_factory=dict)
    memory_errors: dict[str, str] = field(default_factory=dict)
    """What its memory has counted, as it is stored; empty: it does not count."""
    thermal_states: dict[str, ThermalState] = field(default_factory=dict)
    """What a drive answers when it is asked how hot it is, by path."""
    celsius: dict[str, float] = field(default_factory=dict)
    cpu_celsius: float | None = None
    kernel_errors: dict[str, str] = field(default_factory=dict)
    """What the kernel has reported of a drive, by path."""
    kernel_log: list[str] = field(default_factory=list)
    """Its records, as steps read them."""
    is_log_complete: bool = True
    """Whether none of them is overwritten before it is read."""
    count_source: str = "ATA attribute 12"
    ends: dict[str, str] = field(default_factory=dict)
    """By path, what replaces the checksum of a drive's ends."""
    signatures: dict[str, set[Signature]] = field(default_factory=dict)
    """By path, what a drive carries beside the file system that udev knows."""
    filled: set[str] = field(default_factory=set)
    """GUIDs of the partition tables that have partitions."""
    patterned: set[str] = field(default_factory=set)
    """Paths of drives with a verify's pattern at their ends."""
    unlockings: list[dict[str, object]] = field(default_factory=list)
    """What each drive to be written was unlocked with."""
    locked: dict[str, KaltstartError] = field(default_factory=dict)
    """By serial number, why a drive cannot be unlocked."""
    answers: dict[str, AskedIdentity] = field(default_factory=dict)
    """By serial number, who a drive says it is; the others do not answer."""
    hidden: tuple[str, ...] = ()
    """Where its chipset hides drives."""
    is_udev_held: bool = False
    """Whether udev waits for one of its drives."""
    shown: dict[str, AskedIdentity] = field(default_factory=dict)
    """By serial number, what a bridge answers the kernel's own questions."""
    """Power-cycle counts by path; a drive without one offers none."""
    boot_id: str = "boot-0"
    can_wake: bool = True
    key: bool = False
    """Whether a key is pressed in each countdown."""
    entry: str = ""
    """The one-shot entry as the firmware keeps it."""
    loader: dict[str, str] = field(default_factory=dict)
    boot_next: str = ""
    """The ESP on a drive whose loader the firmware is to start next."""
    order: str = ""
    """The token of what the drive's own system is to report."""
    report: BootReport | None = None
    own_loaders: dict[str, str] = field(default_factory=dict)
    """By path, the loader of the system on a drive."""
    keeps_boot_next: bool = False
    """Whether BootNext was still set as this boot began."""
    esp_partuuid: str = ""
    """The ESP that the loader of the boot that runs now came from."""
    stuck: bool = False
    """Whether the firmware keeps a one-shot entry that is to be taken back."""
    restarts_after_panic: bool = False
    handed_over: str = ""
    """UUID of the only array that the next initrd may register."""
    kernel_started_at: float = 0.0
    now_s: float = 100.0
    """Seconds since then; only sleeping lets time pass."""
    power_rows: list[tuple[CampaignRow, tuple[CycleRow, ...]]] = field(default_factory=list)
    """What was committed whenever power was to go."""
    counted_down: list[tuple[str, str, CampaignRow, tuple[CycleRow, ...]]] = field(
        default_factory=list
    )
    campaign_id: int = 1
    firmware: str = "uefi"
    keeps_mark: bool = False
    """Whether its clock keeps how many restarts were counted."""
    mark: int = 0
    was_abrupt: bool = False
    """The last power-off in the middle of a step."""
    no_entry: str = ""
    """Why no one-shot entry can be set."""
    during: dict[str, Callable[[], object]] = field(default_factory=dict)
    """What happens when the machine is asked for something, by its name in `WorldPower`, or sleeps;
    it may raise."""

    def __post_init__(self) -> None:
        """What tests put something else in the place of."""
        self.access = self.make_access()
        self.clock = Clock(
            monotonic_s=lambda: self.now_s,
            time_s=lambda: self.kernel_started_at + self.now_s,
            sleep=self.sleep,
        )
        self.run = self.path.parent / "run"
        """Where engine and interface tell each other what goes on."""
        self.input = self.path.parent / "input"
        """Where the kernel shows keyboards."""

    def context(self, *, slot: int | None = None, charted: bool = False) -> CampaignContext:
        """The boot that runs now, with a database connection of its own."""
        host = self.host(slot=slot, charted=charted)
        return CampaignContext(
            open_database(self.path), host, SilentDrives(host), countdown=self._countdown
        )

    def make_campaign(
        self,
        drives: Sequence[Drive] = (HDD, SSD),
        *,
        cycles: int = 2,
        charts: str = "none",
        train: int = 0,
        power: str | Sequence[str] = "cold",
        mode: str = "install",
        path: str = "stick",
        wake_margin_s: float | None = 60,
        power_actions: int | None = None,
        plan_toml: str = "",
        released: bool = True,
        state: str = "running",
        roles: Sequence[str] = (),
    ) -> int:
        """Store a campaign with its drives here; one that runs is installed, slot by slot."""
        booted = [index for index in range(len(drives)) if not roles or roles[index] != "cache"]
        planned = plan_cycles(
            drives=len(booted),
            cycles=cycles,
            charts=charts,
            train=train,
            powers=[power] if isinstance(power, str) else power,
        )
        connection = open_database(self.path)
        with transaction(connection):
            self.campaign_id = insert_campaign(
                connection,
                name="rack 4",
                plan_toml=plan_toml,
                plan_sha256="",
                on_finish="tui",
                max_power_actions=power_actions or max_power_actions(len(planned)),
                max_attempts=MAX_ATTEMPTS,
                wake_margin_s=wake_margin_s,
            )
            ids = []
            for slot, drive in enumerate(drives, start=1):
                ids.append(insert_drive(connection, describe(drive)))
                insert_campaign_drive(
                    connection,
                    campaign_id=self.campaign_id,
                    drive_id=ids[-1],
                    role=roles[slot - 1] if roles else "target",
                    released=released,
                    slot=slot,
                    released_model=drive.model,
                    released_size_bytes=drive.size_bytes,
                )
                if state == "running" and mode == "install" and path != "installed":
                    update_installed(
                        connection, self.campaign_id, ids[-1], install_uuid=install_uuid(slot)
                    )
            for cycle in planned:
                insert_cycle(
                    connection,
                    campaign_id=self.campaign_id,
                    drive_id=ids[booted[cycle.drive_index]],
                    position=cycle.position,
                    cycle=cycle.cycle,
                    charted=cycle.charted,
                    trained=cycle.trained,
                    power=cycle.power,
                    mode=mode,
                    path=path,
                )
            update_campaign_state(connection, self.campaign_id, state)
        connection.close()
        self.drives = tuple(installed(drive, slot) for slot, drive in enumerate(drives, start=1))
        return self.campaign_id

    # What is committed

    @contextmanager
    def looking(self) -> Iterator[sqlite3.Connection]:
        """A connection that reads what anybody would read now."""
        connection = open_read_only(self.path)
        try:
            yield connection
        finally:
            connection.close()

    def campaign(self) -> CampaignRow:
        """The campaign made last."""
        with self.looking() as connection:
            row = select_campaign(connection, self.campaign_id)
        assert row is not None
        return row

    def cycles(self) -> tuple[CycleRow, ...]:
        """Its boots, in their order."""
        with self.looking() as connection:
            return select_cycles(connection, self.campaign_id)

    def states(self) -> list[str]:
        """What became of each of its boots."""
        return [cycle.state for cycle in self.cycles()]

    def drive_rows(self) -> tuple[CampaignDriveRow, ...]:
        """Its drives, by slot."""
        with self.looking() as connection:
            return select_campaign_drives(connection, self.campaign_id)

    def boots(self) -> list[dict[str, object]]:
        """What the view shows of its boots."""
        with self.looking() as connection:
            rows = connection.execute(
                "SELECT * FROM boot_times WHERE campaign_id = ? ORDER BY cycle, drive_serial",
                [self.campaign_id],
            )
            return [dict(row) for row in rows]

    def events(self) -> list[tuple[str, str]]:
        """The event log: event and detail."""
        with self.looking() as connection:
            return [
                (row["event"], row["detail"])
                for row in connection.execute("SELECT event, detail FROM events ORDER BY seq")
            ]

    # The machine

    def host(self, *, slot: int | None = None, charted: bool = False) -> Host:
        """In the boot that runs now."""
        return Host(
            this_boot=ThisBoot(
                self.boot_id,
                slot,
                charted,
                self.firmware,
                esp_partuuid=self.esp_partuuid,
                is_boot_next_set=self.keeps_boot_next,
            ),
            power=WorldPower(self),
            clock=self.clock,
            drives=self.access,
            announce=self.announce,
            release_ballast=lambda: False,
            find_consoles=tuple,
            open_consoles=lambda: WorldConsoles(self),
            open_keyboards=lambda: Keyboards(self.input),
            read_memory_errors=lambda: dict(self.memory_errors),
            read_cpu_celsius=lambda: self.cpu_celsius,
            run=self.run,
        )

    def measure(self, *, charted: bool = False) -> None:
        """The boot that runs now is a measured one, of slot 1."""
        measure_boot(self.host(slot=1, charted=charted))

    def happen(self, what: str) -> None:
        """Whatever `during` has for it."""
        if happens := self.during.get(what):
            happens()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds
        self.happen("sleep")

    def announce(self, event: str, **fields: object) -> None:
        """Say something on the console."""
        self.lines.append((event, fields))

    def _countdown(self, purpose: str, then: str, _seconds: int) -> bool:
        self.log.append(f"countdown {purpose}")
        self.counted_down.append((purpose, then, self.campaign(), self.cycles()))
        return self.key

    # Its drives

    def make_access(self) -> DriveAccess:
        """To the stand-ins for drives."""
        return DriveAccess(
            find=lambda: self.drives,
            find_settled=lambda: self.drives,
            is_udev_held=lambda: self.is_udev_held,
            read_number=lambda name: self.numbers.get(name, "1"),
            read_serial=self.read_serial,
            read_signs=lambda _: {},
            ask_identity=self.ask_identity,
            ask_scsi_identity=lambda drive: self.shown.get(drive.serial),
            read_power_cycles=self.read_power_cycles,
            query_thermal_state=lambda path: self.thermal_states.get(path, ThermalState()),
            read_celsius=lambda drive: self.celsius.get(drive.path),
            read_kernel_errors=lambda drive: self.kernel_errors.get(drive.path, ""),
            watch_kernel=lambda drives: WorldKernelWatch(self, drives),
            read_ends=self.read_ends,
            read_content=self.read_content,
            read_file_system_uuid=lambda _: "",
            read_superblock=self.read_superblock,
            find_own_loader=self.find_own_loader,
            describe_hidden=lambda: self.hidden,
            unlocked=self.unlocked,
            detach_mounts=lambda devices: self.detached.append(list(devices)),
            close_guard=lambda drive: self.log.append(f"close {drive.path}"),
        )

    def read_serial(self, name: str) -> str:
        """Of a drive, by the kernel's name."""
        return next((drive.serial for drive in self.drives if drive.name == name), "")

    def read_power_cycles(self, drive: Drive) -> PowerCycles:
        """Ask a drive."""
        self.log.append(f"smart {drive.path}")
        if drive.path not in self.counts:
            return PowerCycles(None, reason="the drive has no power-cycle count")
        return PowerCycles(self.counts[drive.path], self.count_source)

    def ask_identity(self, drive: Drive, *, timeout_s: float | None = None) -> AskedIdentity | None:
        """Ask a drive who it is."""
        del timeout_s
        return self.answers.get(drive.serial)

    def read_superblock(self, path: str) -> Superblock | None:
        """Of the array that a drive is in."""
        if path not in self.sets:
            return None
        return Superblock("backing", True, self.sets[path], "", 512)

    def read_ends(self, path: str) -> DriveEnds:
        """What is on the medium."""
        drive = next(each for each in self.drives if each.path == path)
        tables = frozenset({drive.disk_uuid} - {""})
        return DriveEnds(
            tables,
            self.ends.get(path, ""),
            has_pattern=path in self.patterned,
            filled=tables & self.filled,
        )

    def find_own_loader(self, drive: Drive) -> OwnLoader:
        """Of the system on it."""
        if drive.path not in self.own_loaders:
            raise RefusedError(f"drive {drive.identity} has no ESP", blame="other")
        return OwnLoader(OWN_ESP, self.own_loaders[drive.path])

    def read_content(self, path: str) -> DriveContent:
        """The same, and signatures."""
        drive = next((each for each in self.drives if each.path == path), None)
        if drive is None:
            raise StepFailedError(f"{path} cannot be opened")
        found = set(self.signatures.get(path, ()))
        if drive.file_system:
            found.add(Signature(drive.file_system, "", 1080))
        return make_content(self.read_ends(path), found)

    @contextmanager
    def unlocked(self, drive: Drive, **order: object) -> Iterator[Unlocked]:
        """Writable."""
        self.unlockings.append({"path": drive.path, **order})
        if error := self.locked.get(drive.serial):
            raise error
        yield Unlocked(drive, -1)

    def carry(self, drive: Drive, table_uuid: str) -> None:
        """It has another partition table by now."""
        self.drives = tuple(
            replace(each, disk_uuid=table_uuid) if each.path == drive.path else each
            for each in self.drives
        )


@dataclass
class WorldPower:
    """The power of a machine that is not there."""

    world: World

    def arm_entry(
        self, _this_boot: ThisBoot, entry: str, *, set_uuid: str = "", esp_partuuid: str = ""
    ) -> None:
        """Set the one-shot entry."""
        self.world.happen("arm_entry")
        self.world.handed_over = set_uuid
        self.world.boot_next = esp_partuuid
        self.world.log.append(f"arm {entry}")
        self.world.entry = entry

    def arm_installed(self, _this_boot: ThisBoot, loader: OwnLoader, token: str) -> None:
        """Order a report of the drive's own system."""
        self.world.happen("arm_installed")
        self.world.log.append(f"order {loader.file}")
        self.world.order = token
        self.world.boot_next = loader.esp_partuuid

    def read_report(self, token: str) -> BootReport | None:
        """The report, where it answers this order."""
        report = self.world.report
        return report if report is not None and report.token == token else None

    def forget_report(self) -> None:
        """It is stored."""
        self.world.report = None

    def explain_no_entry(self, this_boot: ThisBoot, *, path: str = "stick") -> str:
        """Why none can be set."""
        if path != "stick" and this_boot.firmware == "bios":
            return "no UEFI"
        return self.world.no_entry

    def disarm_entry(self, _this_boot: ThisBoot) -> None:
        """Take it back."""
        self.world.happen("disarm_entry")
        self.world.log.append("disarm")
        if self.world.stuck:
            raise StepFailedError("the one-shot boot entry is still set")
        self.world.entry = self.world.boot_next = self.world.order = ""

    def remove_boot_option(self) -> None:
        """No entry for a drive."""
        self.world.boot_next = ""

    def hand_over_set(self, set_uuid: str) -> None:
        """Keep which array may start."""
        self.world.handed_over = set_uuid

    def entry_is_armed(self, _this_boot: ThisBoot) -> bool:
        """Whether it is still set."""
        self.world.happen("entry_is_armed")
        return bool(self.world.entry)

    def read_selected_entry(self) -> str:
        """What the loader started."""
        return self.world.loader.get("LoaderEntrySelected", "")

    def can_wake(self) -> bool:
        """Whether there is a clock that does."""
        return self.world.can_wake

    def arm_alarm(self, after_s: int) -> float:
        """Set the clock."""
        self.world.happen("arm_alarm")
        self.world.log.append(f"alarm {after_s}")
        return 1_800_000_000.0 + after_s

    def read_rtc_s(self) -> float:
        """What it says."""
        return self.world.kernel_started_at + self.world.now_s

    def clear_alarm(self) -> None:
        """No waking up."""
        self.world.log.append("clear alarm")
        self.world.happen("clear_alarm")

    def find_unmarked(self, this_boot: ThisBoot, count: int) -> int:
        """What its clock knows of."""
        return max(0, self.world.mark - count) if this_boot.firmware == "bios" else 0

    def is_mark_kept(self, this_boot: ThisBoot) -> bool:
        """Whether it has one that keeps a mark."""
        return this_boot.firmware == "bios" and self.world.keeps_mark

    def mark_count(self, this_boot: ThisBoot, count: int) -> None:
        """Have it keep one."""
        if this_boot.firmware == "bios" and self.world.keeps_mark:
            self.world.mark = count
            self.world.log.append(f"mark {count}")

    def restart_after_panic(self, *, wanted: bool) -> None:
        """Tell the kernel."""
        self.world.restarts_after_panic = wanted

    def power_off(self) -> None:
        """Switch off."""
        self._go("power_off", "power-off")

    def switch_off_without_programs(self) -> None:
        """Have the kernel do it."""
        self._go("switch_off_without_programs", "switch off by the kernel")

    def cut_power(self, last: Callable[[], None], *, abrupt: bool) -> None:
        """Switch off right after `last`."""
        self.world.happen("cut_power")
        last()
        self.world.was_abrupt = abrupt
        self._go("cut_power after the last write", "power-off")

    def reboot(self) -> None:
        """Restart."""
        self._go("reboot", "reboot")

    def _go(self, name: str, said: str) -> None:
        self.world.happen(name)
        self.world.log.append(said)
        self.world.power_rows.append((self.world.campaign(), self.world.cycles()))

    def wait_for_the_end(self) -> NoReturn:
        """It has gone."""
        raise OffError


class OffError(Exception):
    """Power has gone."""


class WorldConsoles(Consoles):
    """In the place of the terminals; a key is pressed, or none is."""

    def __init__(self, world: World) -> None:
        super().__init__(())
        self._world = world

    @override
    def key_pressed(self, within_s: float) -> bool:
        """Answer without waiting for `within_s`."""
        del within_s
        return self._world.key


def start_measured(world: World) -> None:
    """Arm the next cycle in the appliance; what starts then is the measured boot."""
    assert start_next_boot(world.context(), world.campaign_id) is Outcome.LEAVING
    world.boot_id = "boot-1"
    world.entry = ""
    world.log.clear()


def arm_and_start_anew(world: World) -> None:
    """Power goes, and the next start is the appliance's."""
    assert start_next_boot(world.context(), world.campaign_id) is Outcome.LEAVING
    number = int(world.boot_id.removeprefix("boot-"))
    world.boot_id = f"boot-{number + 1}"


def fail_to_leave(action: str) -> NoReturn:
    raise StepFailedError(f"{action} failed")
