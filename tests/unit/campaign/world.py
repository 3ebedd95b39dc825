"""A campaign on a machine that is not there: a real database, and everything else written down.

What is asked of the machine goes to `log`, in its order. Rows are always read through a connection
of their own, so that a test sees what is committed and nothing else.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn, Self

import pytest

from appliance.campaign import (
    advance,
    attempts,
    boot_sample,
    drive_threads,
    journal,
    leavings,
    live_drives,
    marks,
    measure,
    power,
    prepare,
    rehearsal,
    sample_store,
    silent_drives,
    site,
    start,
    started,
)
from appliance.campaign.advance import Outcome, go_on
from appliance.campaign.site import Site
from appliance.campaign.start import describe
from appliance.campaign.states import MAX_ATTEMPTS, max_power_actions, plan_cycles
from appliance.campaign.thisboot import ThisBoot
from appliance.drives import asked_identity, patience
from appliance.drives.asked_identity import AskedIdentity
from appliance.drives.model import Drive
from appliance.drives.smart import PowerCycles
from appliance.drives.writable import Unlocked
from appliance.errors import KaltstartError, StepFailed
from appliance.stick import Stick
from appliance.store.campaigns import (
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
from appliance.store.connect import open_database, open_read_only, transaction
from appliance.store.cycles import CycleRow, insert_cycle, select_cycles
from appliance.workloads.drive_content import DriveContent, Signature, make_content
from appliance.workloads.drive_ends import DriveEnds
from appliance.workloads.reference_os import root_partuuid, session_partuuid

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
STICK = Stick(
    replace(HDD, path="/dev/sdc", serial="STICK-1", wwn="", removable=True),
    "/dev/sdc1",
    "/dev/sdc6",
)


def install_uuid(slot: int) -> str:
    """GUID of the partition table that installing to `slot` makes here."""
    return f"11111111-2222-4333-8444-5555555555{slot:02d}"


def installed(drive: Drive, slot: int) -> Drive:
    """`drive` with the reference OS of `slot` on it."""
    return replace(
        drive,
        partition_uuids=(root_partuuid(slot), session_partuuid(slot)),
        disk_uuid=install_uuid(slot),
    )


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
    """The kernel's, by name: another one for a drive that was plugged in anew."""
    sets: dict[str, str] = field(default_factory=dict)
    """UUIDs of the arrays' sets that drives belong to, by path."""
    counts: dict[str, int] = field(default_factory=dict)
    count_source: str = "ATA attribute 12"
    ends: dict[str, str] = field(default_factory=dict)
    """By path, what stands for the checksum of a drive's ends."""
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
    """Power-cycle counts by path; a drive without one offers none."""
    boot_id: str = "boot-0"
    can_wake: bool = True
    key: bool = False
    """Whether somebody presses a key in each countdown."""
    entry: str = ""
    """The one-shot entry as the firmware keeps it."""
    loader: dict[str, str] = field(default_factory=dict)
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

    def site(self, *, slot: int | None = None, charted: bool = False) -> Site:
        """The boot that runs now, with a database connection of its own."""
        this_boot = ThisBoot(boot_id=self.boot_id, slot=slot, charted=charted, firmware="uefi")
        return Site(open_database(self.path), this_boot, countdown=self._countdown)

    def make_campaign(
        self,
        drives: Sequence[Drive] = (HDD, SSD),
        *,
        cycles: int = 2,
        charts: str = "none",
        power: str = "cold",
        wake_margin_s: float | None = 60,
        power_actions: int | None = None,
        plan_toml: str = "",
        released: bool = True,
        state: str = "running",
        roles: Sequence[str] = (),
    ) -> int:
        """Store a campaign with its drives here; one that runs is installed, slot by slot."""
        booted = [index for index in range(len(drives)) if not roles or roles[index] != "cache"]
        planned = plan_cycles(drives=len(booted), cycles=cycles, charts=charts)
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
                if state == "running":
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
                    power=power,
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
        """The diary: event and detail."""
        with self.looking() as connection:
            return [
                (row["event"], row["detail"])
                for row in connection.execute("SELECT event, detail FROM events ORDER BY seq")
            ]

    # What the code under test calls

    def _countdown(self, purpose: str, then: str, _seconds: int) -> bool:
        self.log.append(f"countdown {purpose}")
        self.counted_down.append((purpose, then, self.campaign(), self.cycles()))
        return self.key

    def announce(self, event: str, **fields: object) -> None:
        """Say something on the console."""
        self.lines.append((event, fields))

    def read_power_cycles(self, drive: Drive) -> PowerCycles:
        """Ask a drive."""
        self.log.append(f"smart {drive.path}")
        if drive.path not in self.counts:
            return PowerCycles(None, reason="the drive has no power-cycle count")
        return PowerCycles(self.counts[drive.path], self.count_source)

    def ask_identity(self, drive: Drive, **_: object) -> AskedIdentity | None:
        """Ask a drive who it is."""
        return self.answers.get(drive.serial)

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

    def read_content(self, path: str) -> DriveContent:
        """The same, and signatures."""
        drive = next((each for each in self.drives if each.path == path), None)
        if drive is None:
            raise StepFailed(f"{path} cannot be opened")
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

    def arm_entry(self, _this_boot: ThisBoot, entry: str, *, set_uuid: str = "") -> None:
        """Set the one-shot entry."""
        self.handed_over = set_uuid
        self.log.append(f"arm {entry}")
        self.entry = entry

    def disarm_entry(self, _this_boot: ThisBoot) -> None:
        """Take it back."""
        self.log.append("disarm")
        if self.stuck:
            raise StepFailed("the one-shot boot entry is still set")
        self.entry = ""

    def arm_alarm(self, after_s: int) -> float:
        """Set the clock."""
        self.log.append(f"alarm {after_s}")
        return 1_800_000_000.0 + after_s

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds

    def restart_after_panic(self, *, wanted: bool) -> None:
        """Tell the kernel."""
        self.restarts_after_panic = wanted

    def power_off(self) -> None:
        """Switch off."""
        self._power("power-off")

    def reboot(self) -> None:
        """Restart."""
        self._power("reboot")

    def _power(self, action: str) -> None:
        self.log.append(action)
        self.power_rows.append((self.campaign(), self.cycles()))

    def take_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in for the machine wherever the campaign's code reaches for it."""
        for module in (advance, attempts, journal, prepare, sample_store, site):
            monkeypatch.setattr(module, "announce", self.announce)
        monkeypatch.setattr(power, "_SET_VARIABLE", self.path.parent / "efivars/set")
        monkeypatch.setattr(started, "_VARIABLE", self.path.parent / "efivars/started")
        for module in (live_drives, measure):
            monkeypatch.setattr(module, "find_settled_drives", lambda: self.drives)
        for module in (boot_sample, live_drives, measure, sample_store):
            monkeypatch.setattr(module, "monotonic_s", lambda: self.now_s)
        monkeypatch.setattr(live_drives, "read_sets", lambda *_: self.sets)
        for module in (advance, sample_store):
            monkeypatch.setattr(module, "read_power_cycles", self.read_power_cycles)
        monkeypatch.setattr(leavings, "read_ends", self.read_ends)
        monkeypatch.setattr(marks, "read_content", self.read_content)
        monkeypatch.setattr(prepare, "unlocked", self.unlocked)
        for module in (start, asked_identity):
            monkeypatch.setattr(module, "ask_identity", self.ask_identity)
        for module in (live_drives, measure):
            monkeypatch.setattr(module, "time", SimpleNamespace(sleep=self.sleep))
        monkeypatch.setattr(patience, "_BLOCK", self.path.parent / "block")
        monkeypatch.setattr(silent_drives, "read_number", lambda name: self.numbers.get(name, "1"))
        monkeypatch.setattr(drive_threads, "release_ballast", lambda: False)
        monkeypatch.setattr(drive_threads, "detach_mounts", self.detached.append)
        monkeypatch.setattr(rehearsal, "kernel_started_at", lambda: self.kernel_started_at)
        monkeypatch.setattr(power, "read_rtc_s", lambda: self.kernel_started_at + self.now_s)
        monkeypatch.setattr(
            attempts, "read_loader_variable", lambda name: self.loader.get(name, "")
        )
        monkeypatch.setattr(power, "entry_is_armed", lambda _: bool(self.entry))
        monkeypatch.setattr(power, "can_wake", lambda: self.can_wake)
        monkeypatch.setattr(power, "clear_alarm", lambda: self.log.append("clear alarm"))
        for name in (
            "arm_entry",
            "disarm_entry",
            "arm_alarm",
            "power_off",
            "reboot",
            "restart_after_panic",
        ):
            monkeypatch.setattr(power, name, getattr(self, name))


class Consoles:
    """In the place of the terminals; somebody presses a key, or nobody does."""

    key = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def say(self, text: str) -> None:
        """Show."""

    def key_pressed(self, within_s: float) -> bool:
        """Answer without waiting for `within_s`."""
        del within_s
        return self.key


def start_measured(world: World) -> None:
    """Arm the next cycle in the appliance; what starts then is the measured boot."""
    assert go_on(world.site(), world.campaign_id) is Outcome.LEAVING
    world.boot_id = "boot-1"
    world.entry = ""
    world.log.clear()


def arm_and_start_anew(world: World) -> None:
    """Power goes, and the next start is the appliance's."""
    assert go_on(world.site(), world.campaign_id) is Outcome.LEAVING
    number = int(world.boot_id.removeprefix("boot-"))
    world.boot_id = f"boot-{number + 1}"


def fail_to_leave(action: str) -> NoReturn:
    raise StepFailed(f"{action} failed")
