"""Workloads as steps: what is stored when, and what an interruption costs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.campaign import bench, step_run, steps, subject
from appliance.campaign.step_run import StepPosition, StoppedByPersonError
from appliance.campaign.steps import run_steps
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, StepFailed, StickTrouble
from appliance.measure.diskstats import DiskStats
from appliance.measure.samples import CacheState, Result
from appliance.plan_workloads import LotteryPlan, WorkloadPlan
from appliance.run import StillRunning
from appliance.store.connect import open_database, transaction
from appliance.store.steps import StepRow, insert_step, select_steps
from appliance.workloads.base import Bench, PartResult
from tests.unit.campaign.world import HDD, SSD, STICK, World

_COLD = CacheState(page_cache="cold", proof="proven")


def _lottery(filesystem: str = "ext4") -> LotteryPlan:
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
    plans: tuple[WorkloadPlan, ...] = (_lottery(),)
    log: list[str] = field(default_factory=list)
    during: dict[str, Callable[[], None]] = field(default_factory=dict)
    """What happens in the middle of a part."""
    counters: Callable[[], DiskStats] = lambda: DiskStats(0, 0, 0, 0)
    """What the part that runs is given to read."""
    on_drive: dict[str, str] = field(default_factory=dict)
    """The file system's UUID by path."""
    made: int = 0

    def read(self, drive: Drive, read_bytes: int) -> None:
        """The drive has served something more."""
        stat = self.folder / "block" / drive.name / "stat"
        fields = [int(word) for word in stat.read_text().split()]
        fields[2] += read_bytes // 512
        stat.write_text(" ".join(map(str, fields)))

    def add_steps(self, *drives: Drive) -> None:
        """Plan every workload on every drive."""
        connection = open_database(self.world.path)
        with transaction(connection):
            rows = {row.serial: row.drive_id for row in self.world.drive_rows()}
            for position, (index, drive) in enumerate(
                (index, drive) for index in range(len(self.plans)) for drive in drives
            ):
                insert_step(
                    connection,
                    campaign_id=self.world.campaign_id,
                    position=position,
                    kind=self.plans[index].kind,
                    drive_id=rows[drive.serial],
                    device=drive.serial,
                    workload_index=index,
                )
        connection.close()

    def run(self) -> None:
        """One start of the engine."""
        site = self.world.site()
        try:
            run_steps(site, self.world.campaign_id, stick=STICK, show=self._show)
        finally:
            site.connection.close()

    def steps(self) -> tuple[StepRow, ...]:
        """As committed."""
        with self.world.looking() as connection:
            return select_steps(connection, self.world.campaign_id)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """What anybody would read now."""
        with self.world.looking() as connection:
            return [tuple(row) for row in connection.execute(query)]

    def _show(self, place: StepPosition, label: str, done: int, total: int) -> None:
        pass

    # The workload

    @property
    def parts(self) -> tuple[str, ...]:
        """Two of them."""
        return ("one", "two")

    def prepare(self, place: Bench) -> None:
        """Read a little."""
        self.log.append(f"prepare {place.device} in {place.folder and place.folder.name}")
        self.read(HDD if place.device == HDD.path else SSD, 512)

    def run_part(self, place: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        """Read, and say so of the greater part."""
        assert part not in finished
        self.log.append(part)
        self.counters = place.read_counters
        drive = HDD if place.device == HDD.path else SSD
        self.read(drive, 4096)
        if part in self.during:
            self.during.pop(part)()
        self.read(drive, 1024)  # what the part does not account for
        return PartResult(
            (
                Result(part, "device_read_bytes", 4096, _COLD),
                Result(part, "seconds", 1.5, _COLD),
            ),
            notes=("all well",),
        )

    def close(self) -> None:
        """Let go."""
        self.log.append("close")


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two released drives and one lottery."""
    machine = Machine(world, tmp_path)
    for drive in (HDD, SSD):
        stat = tmp_path / "block" / drive.name / "stat"
        stat.parent.mkdir(parents=True)
        stat.write_text(" ".join(["0"] * 17))

    @contextmanager
    def unlocked(drive: Drive, **_: object) -> Iterator[SimpleNamespace]:
        machine.log.append(f"unlock {drive.path}")
        yield SimpleNamespace(path=drive.path, drive=drive)
        machine.log.append(f"lock {drive.path}")

    @contextmanager
    def mounted(path: str, kind: str) -> Iterator[Path]:
        folder = tmp_path / kind
        folder.mkdir(exist_ok=True)
        yield folder

    @contextmanager
    def held(drive: Drive) -> Iterator[None]:
        machine.log.append(f"hold {drive.path}")
        yield

    def make_file_system(target: SimpleNamespace, kind: str, *, poll: Callable[[], None]) -> str:
        poll()
        machine.log.append(f"make {kind}")
        machine.made += 1
        machine.on_drive[target.path] = f"uuid-{machine.made}"
        return machine.on_drive[target.path]

    for target, name, replacement in (
        (steps, "announce", world.announce),
        (step_run, "announce", world.announce),
        (bench, "unlocked", unlocked),
        (bench, "_held", held),
        (bench, "mounted", mounted),
        (bench, "make_file_system", make_file_system),
        (bench, "clear_signatures", lambda target: machine.on_drive.pop(target.path, None)),
        (bench, "read_file_system_uuid", lambda path: machine.on_drive.get(path, "")),
        (step_run, "make_workload", lambda _: machine),
        (steps, "parse_plan", lambda _: SimpleNamespace(workloads=machine.plans)),
        (subject, "_BLOCK", tmp_path / "block"),
        (bench, "RAW", tmp_path / "raw"),
    ):
        monkeypatch.setattr(target, name, replacement)
    world.make_campaign()
    machine.add_steps(HDD, SSD)
    return machine


def test_drives_take_turns_and_every_byte_is_accounted_for(machine: Machine) -> None:
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "done"]
    assert machine.log[:7] == [
        "unlock /dev/sda",
        "make ext4",
        "prepare /dev/sda in ext4",
        "one",
        "two",
        "close",
        "lock /dev/sda",
    ]
    assert machine.rows(
        "SELECT drive_serial, sum(value) FROM results WHERE metric = 'device_read_bytes'"
        " GROUP BY step_id"
    ) == [("LAB-HDD-1", 512 + 2 * 5120), ("LAB-SSD-1", 512 + 2 * 5120)]
    assert machine.rows(
        "SELECT DISTINCT page_cache, page_cache_proof FROM results WHERE variant = 'other'"
    ) == [("partial", "unproven")]
    assert machine.rows("SELECT sum(read_bytes) FROM activity GROUP BY step_id") == [
        (512 + 2 * 5120,),
        (512 + 2 * 5120,),
    ]
    assert [line[0] for line in machine.world.lines] == ["step-done", "step-done"]
    assert ("step-note", "lottery on LAB-HDD-1: one: all well") in machine.world.events()


def test_a_stop_keeps_the_finished_part_and_costs_no_attempt(machine: Machine) -> None:
    def stop() -> None:
        raise StoppedByPersonError

    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    first, second = machine.steps()
    assert (first.state, first.attempts, second.state) == ("planned", 0, "planned")
    assert machine.rows("SELECT name FROM part") == [("one",)]
    # What the unfinished part had read is not lost from the account.
    assert machine.rows("SELECT sum(value) FROM result WHERE metric = 'device_read_bytes'") == [
        (512 + 5120 + 4096,)
    ]
    machine.log.clear()
    machine.run()
    assert machine.log[:5] == [
        "unlock /dev/sda",
        "prepare /dev/sda in ext4",
        "two",
        "close",
        "lock /dev/sda",
    ]
    assert machine.rows("SELECT name FROM part WHERE step_id = 1") == [("one",), ("two",)]


def test_a_failed_step_is_stored_and_the_next_one_begins(machine: Machine) -> None:
    def fail() -> None:
        raise StepFailed("the drive\x1b[2J does not answer")

    machine.during["one"] = fail
    machine.run()
    first, second = machine.steps()
    assert (first.state, first.reason) == ("failed", "the drive\\x1b[2J does not answer")
    assert second.state == "done"
    assert [line[0] for line in machine.world.lines] == ["step-failed", "step-done"]


def test_power_cuts_are_bounded(machine: Machine) -> None:
    connection = open_database(machine.world.path)
    connection.execute("UPDATE step SET state = 'running', attempts = 3 WHERE position = 0")
    connection.close()
    machine.run()
    first, second = machine.steps()
    assert first.state == "failed"
    assert "3 attempts" in first.reason
    assert second.state == "done"


def test_nothing_is_written_to_a_drive_that_was_not_released(
    machine: Machine, world: World
) -> None:
    connection = open_database(world.path)
    connection.execute("UPDATE campaign_drive SET released = 0")
    connection.close()
    machine.run()
    assert machine.log == []
    assert {step.state for step in machine.steps()} == {"failed"}


def test_a_bare_drive_that_is_only_read_needs_no_release(machine: Machine, world: World) -> None:
    connection = open_database(world.path)
    connection.execute("UPDATE campaign_drive SET released = 0")
    connection.close()
    machine.plans = (_lottery(""),)
    machine.run()
    assert machine.log[:4] == ["hold /dev/sda", "prepare /dev/sda in None", "one", "two"]


def test_a_file_system_serves_all_steps_that_want_its_kind(machine: Machine) -> None:
    machine.plans = (_lottery(), _lottery(), _lottery("xfs"))
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM step")
    connection.close()
    machine.add_steps(HDD)
    machine.run()
    assert [entry for entry in machine.log if entry.startswith("make")] == ["make ext4", "make xfs"]


def test_a_step_never_goes_on_upon_a_file_system_that_is_another_one(machine: Machine) -> None:
    def stop() -> None:
        raise StoppedByPersonError

    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    machine.on_drive[HDD.path] = "somebody-elses"
    machine.run()
    assert "no longer carries the file system made on it" in machine.steps()[0].reason
    assert machine.on_drive[HDD.path] == "somebody-elses"


def test_a_drive_that_is_not_here_waits_and_fails_last(machine: Machine) -> None:
    machine.world.drives = machine.world.drives[1:]
    machine.run()
    first, second = machine.steps()
    assert (first.state, first.attempts) == ("failed", 0)
    assert "LAB-HDD-1" in first.reason
    assert second.state == "done"
    assert [line[0] for line in machine.world.lines] == ["step-done", "step-failed"]


def test_a_drive_that_comes_back_in_time_is_not_given_up(machine: Machine) -> None:
    both = machine.world.drives
    machine.world.drives = both[1:]
    machine.during["two"] = lambda: setattr(machine.world, "drives", both)
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "done"]
    assert [line[1]["drive"] for line in machine.world.lines] == ["LAB-SSD-1", "LAB-HDD-1"]


def test_another_disk_behind_the_same_serial_is_never_overwritten(machine: Machine) -> None:
    """The boots found the dock's disk exchanged; the steps must not take it."""
    hdd, ssd = machine.world.drives
    machine.world.drives = (replace(hdd, disk_uuid="somebody-elses"), ssd)
    machine.run()
    first, second = machine.steps()
    assert "no longer carries its reference OS" in first.reason
    assert second.state == "done"
    assert machine.log[:2] == ["unlock /dev/sda", "unlock /dev/sdb"]


def test_a_file_system_that_is_known_is_never_made_over_another(machine: Machine) -> None:
    machine.plans = (_lottery(), _lottery("xfs"))
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM step")
    connection.close()
    machine.add_steps(HDD)
    machine.during["two"] = lambda: machine.on_drive.update({HDD.path: "somebody-elses"})
    machine.run()
    first, second = machine.steps()
    assert (first.state, second.state) == ("done", "failed")
    assert [entry for entry in machine.log if entry.startswith("make")] == ["make ext4"]


def test_progress_renews_the_attempts(machine: Machine) -> None:
    def cut() -> None:
        raise KeyboardInterrupt

    connection = open_database(machine.world.path)
    connection.execute("UPDATE step SET state = 'running', attempts = 2 WHERE position = 0")
    connection.close()
    machine.during["two"] = cut
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    assert machine.steps()[0].attempts == 0  # one for the part that came after, taken back


def test_an_error_of_the_drive_fails_its_step_and_no_more(machine: Machine) -> None:
    def fail() -> None:
        raise OSError(30, "Read-only file system")

    machine.during["two"] = fail
    machine.run()
    first, second = machine.steps()
    assert (first.state, second.state) == ("failed", "done")
    assert first.reason == "two: [Errno 30] Read-only file system"
    assert machine.log.count("close") == 2


@pytest.mark.parametrize("trouble", [StickTrouble("it is full"), StillRunning("fio does not end")])
def test_what_holds_up_the_campaign_fails_no_step(
    machine: Machine, trouble: KaltstartError
) -> None:
    def hold_up() -> None:
        raise trouble

    machine.during["two"] = hold_up
    with pytest.raises(type(trouble)):
        machine.run()
    first, second = machine.steps()
    assert (first.state, second.state) == ("planned", "planned")


def test_the_counters_of_a_drive_that_is_gone_stay_where_they_were(machine: Machine) -> None:
    def vanish() -> None:
        before = machine.counters()
        stat = machine.folder / "block/sda/stat"
        text = stat.read_text()
        stat.unlink()
        seen.append((before, machine.counters()))
        stat.write_text(text)

    seen: list[tuple[DiskStats, DiskStats]] = []
    machine.during["two"] = vanish
    machine.run()
    ((before, after),) = seen
    assert before == after
    assert before.read_bytes > 0
