# SPDX-License-Identifier: Apache-2.0
"""Steps on drives that are not there: counters that are files, and a workload that moves them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from appliance.campaign.steps import (
    attempt as step_run,
)
from appliance.campaign.steps import (
    environment,
)
from appliance.campaign.steps import (
    queue as steps,
)
from appliance.campaign.steps import (
    target as subject,
)
from appliance.campaign.steps.attempt import ShowStep
from appliance.campaign.steps.queue import run_steps
from appliance.drives import deadlines, file_system
from appliance.drives.model import Drive
from appliance.plan.model import ArrayPlan
from appliance.plan.workloads import WorkloadPlan
from appliance.progress import Progress
from appliance.samples.diskstats import DiskStats
from appliance.samples.model import CacheState, LbaRange, Result, SliceSample, Ticket
from appliance.store.connect import open_database, transaction
from appliance.store.tables.steps import StepRow, insert_step, select_steps
from appliance.workloads.base import Bench, Leftover, PartResult
from appliance.workloads.lottery.keys import LotteryPlan
from tests.unit.campaign.world import STICK, World

COLD = CacheState(page_cache="cold", proof="proven")


def lottery(filesystem: str = "ext4") -> LotteryPlan:
    """A workload's plan; what it says of the workload is not looked at."""
    return LotteryPlan(
        on=(),
        filesystem="ext4" if filesystem == "ext4" else "xfs" if filesystem == "xfs" else "",
        file_size_bytes=1 << 20,
        tickets=(("a", 1),),
        passes=("cold",),
        repeat=1,
        seed=1,
    )


@dataclass
class Machine:
    """Drives whose counters are files, and a workload of two parts that moves them."""

    world: World
    folder: Path
    plans: tuple[WorkloadPlan, ...] = (lottery(),)
    array: ArrayPlan | None = None
    max_celsius: float | None = None
    at_once: int | None = 1
    log: list[str] = field(default_factory=list)
    during: dict[str, Callable[[], None]] = field(default_factory=dict)
    """What happens in the middle of a part, or of: unlock, clear, make file system."""
    counters: Callable[[], DiskStats] = lambda: DiskStats(0, 0, 0, 0)
    """What the part that runs is given to read."""
    served_before: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """By part: what the drive had served for each file, as it was given."""
    progress: Progress = lambda *_: None
    """What it is given to tell how far it is."""
    benches: dict[str, Bench] = field(default_factory=dict)
    """By the kernel's name, where a part runs, or ran last."""
    hand: Any = None
    """The thread that it is done in."""
    show: ShowStep = lambda *_: None
    """What people see of it."""
    on_drive: dict[str, str] = field(default_factory=dict)
    """The file system's UUID by path."""
    made: int = 0
    leftover: Leftover = field(default_factory=Leftover)
    """What a part has found of its drive by the middle."""
    keep: Callable[[], None] | None = None
    """Of each part; with one it may wait for others."""
    cold_parts: frozenset[str] = frozenset()
    """Of the workload: what wants a power-off before it."""
    doubts: list[str] = field(default_factory=list)
    """What it has against the power-off that was made."""

    def read(self, name: str, read_bytes: int) -> None:
        """The device has served something more, in one request."""
        self._count(name, {0: 1, 2: read_bytes // 512})

    def _count(self, name: str, more: Mapping[int, int]) -> None:
        """`more`: by the number of a field of the device's counters."""
        stat = self.folder / "block" / name / "stat"
        fields = [int(word) for word in stat.read_text().split()]
        for field_number, count in more.items():
            fields[field_number] += count
        # At once, as the kernel does: a recorder must not find the file half written.
        new = stat.with_name("stat.new")
        new.write_text(" ".join(map(str, fields)))
        new.replace(stat)

    def add_device(self, name: str) -> None:
        """One that has done nothing yet."""
        stat = self.folder / "block" / name / "stat"
        stat.parent.mkdir(parents=True)
        stat.write_text(" ".join(["0"] * 17))

    def add_steps(self, *places: Drive | str) -> None:
        """Plan every workload on every drive, or on `array`."""
        connection = open_database(self.world.path)
        with transaction(connection):
            rows = {row.serial: row.drive_id for row in self.world.drive_rows()}
            for position, (index, place) in enumerate(
                (index, place) for index in range(len(self.plans)) for place in places
            ):
                device = place if isinstance(place, str) else place.serial
                insert_step(
                    connection,
                    campaign_id=self.world.campaign_id,
                    position=position,
                    kind=self.plans[index].kind,
                    drive_id=None if isinstance(place, str) else rows[device],
                    device=device,
                    workload_index=index,
                )
        connection.close()

    def run(self) -> None:
        """One start of the engine."""
        context = self.world.context()
        try:
            run_steps(context, self.world.campaign_id, stick=STICK, show=self.show)
        finally:
            context.connection.close()

    def steps(self) -> tuple[StepRow, ...]:
        """As committed."""
        with self.world.looking() as connection:
            return select_steps(connection, self.world.campaign_id)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """What anybody would read now."""
        with self.world.looking() as connection:
            return [tuple(row) for row in connection.execute(query)]

    def _parse_plan(self, _: str) -> SimpleNamespace:
        return SimpleNamespace(
            workloads=self.plans,
            array=self.array,
            campaign=SimpleNamespace(max_celsius=self.max_celsius, at_once=self.at_once),
        )

    def _clear(self, target: SimpleNamespace, *, show: Callable[[str], None]) -> None:
        self.log.append(f"clear {target.path}")
        self._strike("clear")
        show(f"wipe {target.path}")
        self.on_drive.pop(target.path, None)

    def _strike(self, where: str) -> None:
        if happens := self.during.pop(where, None):
            happens()

    # The workload

    @property
    def parts(self) -> tuple[str, ...]:
        """Two of them."""
        return ("one", "two")

    @property
    def announced_left_s(self) -> float | None:
        """The drive says nothing."""
        return None

    def part_bytes(self, _: str) -> int:
        """Not known."""
        return 0

    def prepare(self, place: Bench) -> None:
        """Read a little."""
        self.log.append(f"prepare {place.device} in {place.folder and place.folder.name}")
        self.read(Path(place.device).name, 512)

    def run_part(self, place: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        """Read, and say so of the greater part."""
        assert part not in finished
        self.log.append(part)
        self.counters = place.read_counters
        self.progress = place.progress
        self.hand = getattr(place.progress, "__self__", None)
        self.served_before[part] = place.served_before
        name = Path(place.device).name
        self.benches[name] = place
        self.read(name, 4096)
        self._strike(part)
        self._strike(f"{part} on {name}")
        self.read(name, 1024)  # what the part does not account for
        return PartResult(
            (
                Result(part, "device_read_bytes", 4096, COLD),
                Result(part, "seconds", 1.5, COLD),
            ),
            tickets=(Ticket(part, "cold", 1, "a", 1, 4096, 1.5, 0, 4096, 0),),
            slices=(SliceSample(self.parts.index(part), 0, 4096, 4096, 0, 1.0, 2.0, 3.0),),
            ranges=(LbaRange("slow", 0, 4096, 0.5, f"in {part}"),),
            notes=("all well",),
            keep=self.keep,
        )

    def give_up_part(self, place: Bench, part: str, *, is_silent: bool) -> Leftover:
        """What was found in its middle."""
        how = "silent " if is_silent else ""
        self.log.append(f"give up {how}{part} on {place.device}")
        return self.leftover

    def doubt_power_off(self, _: Bench) -> str:
        """Why it must be made again."""
        return self.doubts.pop() if self.doubts else ""

    def believe_next_power_off(self, _: Bench) -> None:
        """It was taken back."""
        stored = self.rows("SELECT part FROM power_off")
        self.log.append(f"believe the next; power-offs: {stored}")

    def write_last(self, place: Bench) -> None:
        """Right before the power goes."""
        self.log.append(f"write last on {place.device}")

    def close(self) -> None:
        """Release it."""
        self.log.append("close")

    # What the code under test calls

    @contextmanager
    def unlocked(self, drive: Drive, **_: object) -> Iterator[SimpleNamespace]:
        """Writable."""
        self.log.append(f"unlock {drive.path}")
        self._strike("unlock")
        yield SimpleNamespace(path=drive.path, drive=drive)
        self.log.append(f"lock {drive.path}")

    def take_over(self, monkeypatch: pytest.MonkeyPatch, *drives: Drive) -> None:
        """Stand in for `drives` wherever the steps' code reaches for them."""
        for drive in drives:
            self.add_device(drive.name)
        self.world.access = replace(
            self.world.access,
            unlocked=self.unlocked,  # type: ignore[arg-type] # what stands in for a drive
            read_file_system_uuid=lambda path: self.on_drive.get(path, ""),
        )

        @contextmanager
        def mounted(path: str, kind: str) -> Iterator[Path]:
            folder = self.folder / kind
            folder.mkdir(exist_ok=True)
            yield folder

        @contextmanager
        def held(drive: Drive, *_: object) -> Iterator[None]:
            self.log.append(f"hold {drive.path}")
            yield

        def make_file_system(
            target: SimpleNamespace,
            kind: str,
            *,
            uuid: str,
            poll: Callable[[], None],
            show: Callable[[str], None],
        ) -> None:
            poll()
            show(f"wipe {target.path}")
            self._strike("make file system")
            self.log.append(f"make {kind}")
            self.made += 1
            self.on_drive[target.path] = uuid
            for drive in self.world.drives:
                if drive.path == target.path:
                    self.world.carry(drive, "")
            self.world.signatures.pop(target.path, None)

        for target, name, replacement in (
            (environment, "_held", held),
            (environment, "mounted", mounted),
            (environment, "make_file_system", make_file_system),
            (environment, "make_file_system_uuid", lambda: f"uuid-{self.made + 1}"),
            (environment, "clear_holders", self._clear),
            (step_run, "make_workload", lambda _: self),
            (steps, "parse_plan", self._parse_plan),
            (subject, "_BLOCK", self.folder / "block"),
            (deadlines, "_BLOCK", self.folder / "block"),
            (file_system, "FOLDER", self.folder / "bench"),
            (environment, "RAW", self.folder / "raw"),
        ):
            monkeypatch.setattr(target, name, replacement)
