# SPDX-License-Identifier: Apache-2.0
"""The engine from start to start, while people, drives, stick and power do anything at any moment.

The engine, its database and its threads are real; the machine is not there (`World`), its drives
are `Media`. What was committed is looked at behind each start.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, override

import pytest

from appliance.arrays.running import release_arrays
from appliance.campaign import finish, start_records
from appliance.campaign.boots import (
    install,
    measured_boot,
    pending_replay,
    pending_sample,
    replay,
    sample,
    store_sample,
)
from appliance.campaign.console_keys import Keyboards
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives import ownership
from appliance.campaign.log import record
from appliance.campaign.requests.machine import Machine
from appliance.campaign.status import Status
from appliance.campaign.steps import attempt, environment, queue, target
from appliance.drives import file_system, suppress_flush
from appliance.errors import StepFailedError, StickError
from appliance.plan.workloads import WorkloadPlan
from appliance.progress import ignore_progress
from appliance.report_boot import BootReport
from appliance.samples.diskstats import DiskStats
from appliance.samples.model import CacheState, Result
from appliance.samples.read_list import ReadList
from appliance.samples.startup import Startup
from appliance.service import engine, stick_plan
from appliance.service.drive_guard import MachineDrives
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.store import connect
from appliance.store.connect import open_database
from appliance.store.tables.replays import ReplaySample
from appliance.store.tables.requests import insert_request
from appliance.workloads.base import ArrayControl, Bench, PartResult, Workload
from appliance.workloads.verify.keys import VerifyPlan
from tests.unit.campaign.world import STICK, World, WorldPower
from tests.unit.service.bcache import Bcache
from tests.unit.service.media import Media

_COLD = CacheState(page_cache="cold", proof="proven")
_AGAIN_S = 1e6
"""What a replay takes, by all that is reported of it, if its drive has read the list before."""
_TIMES = "InitRDTimestampMonotonic=3\nUserspaceTimestampMonotonic=8\nFinishTimestampMonotonic=20\n"
_LATE = 40
"""Moments until a drive is there that comes late."""
_IDLE_POLLS = 150
"""So often it has looked for something to do, longer than it waits for anything."""
_READS = frozenset({"SELECT", "PRAGMA", "WITH", "ROLLBACK"})
_ERRORS = {
    "bug": ValueError("a bug"),
    "stick": StickError("nothing can be stored"),
    "fail": StepFailedError("broken"),
}
_FULL = sqlite3.OperationalError("database or disk is full")
_FULL.sqlite_errorcode = sqlite3.SQLITE_FULL


class CutError(BaseException):
    """The power is gone."""


class IdleError(BaseException):
    """The engine waits for a person."""


@dataclass
class AnyOrder:
    """One stick and its machine.

    `script` has what happens: after how many moments at the earliest, where, and what.
    """

    world: World
    plan: str
    script: Iterator[tuple[int, str, str]]
    edited: str = ""
    """What the user puts in place of the plan on the stick."""
    media: Media = field(init=False)
    bcache: Bcache = field(init=False)
    happened: set[str] = field(default_factory=set)
    """Kinds of what has happened."""
    request: str = ""
    """What the person asks for once the engine waits."""
    _gap: int = 0
    _place: str = ""
    """How the name of the place begins; empty: anywhere."""
    _act: str = ""
    _is_dead: bool = False
    _is_off: bool = False
    """Because the engine wanted it."""
    _is_killed: bool = False
    """The engine alone: the kernel goes on."""
    _polls: int = 0
    _full: int = 0
    """So many commits fail."""
    _late: int = 0
    """So many are made and fail all the same."""
    _is_refused: bool = False
    """The stick did not take something in this start."""
    _is_measured: bool = False
    """This start is a measured boot."""
    replays: int = 0
    """So often a list was read from a drive."""
    kept: set[str] = field(default_factory=set)
    """The starts of the machine whose replay was kept on KALTSTART."""
    _keeps_entry: bool = False
    """The loader does not take the boot entry at the next start."""
    _is_power_pressed: bool = False
    _swaps: bool = False
    _comes_late: str = ""
    """The drive that is not there yet when the machine is started next."""
    _comes_in: int = 0
    """After so many moments."""
    _counted: int = 0
    """The restarts that the campaign had counted when power went last."""
    _connection: sqlite3.Connection | None = None
    _parts: Mapping[tuple[int, str], int] = field(default_factory=dict)
    _samples: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        folder = self.world.path.parent
        self.media = Media(folder, self.tick, self._is_released)
        self.bcache = Bcache(folder, self.media, self._looking)
        self._next_act()

    @property
    def faults(self) -> list[str]:
        """What must not have happened."""
        return self.media.faults

    def is_stored(self, step_id: int, part: str) -> bool:
        """Whether it was committed before this start."""
        return (step_id, part) in self._parts

    # What happens

    def _next_act(self) -> None:
        self._gap, self._place, self._act = next(self.script, (-1, "", ""))

    def tick(self, where: str) -> None:
        """A moment at which anything may happen."""
        if self._is_dead:
            raise CutError
        self._comes_in -= 1
        if not self._comes_in:
            self._move_disk("return", [self._comes_late])
            self._comes_late = ""
        while self._act and self._gap == 0 and where.startswith(self._place):
            act = self._act
            self._next_act()
            self.media.log.append(f"{act} at {where}")
            self.happened.add(act.split()[0])
            self._happen(act)
        self._gap = max(0, self._gap - 1)

    def _tick_statement(self, sql: str) -> None:
        """Before a statement only power goes, or the stick becomes full."""
        if self._is_dead:
            raise CutError
        if self._gap or self._act.split(" ")[0] in {"cut", "full", "late"}:
            self.tick(sql)

    def _happen(self, act: str) -> None:
        kind, *words = act.split()
        match kind:
            case "cut" | "kill":
                self._is_killed = kind == "kill"
                self._is_dead = True
                raise CutError
            case "bug" | "stick" | "fail":
                raise _ERRORS[kind]
            case "full":
                self._full = int(words[0])
            case "late":
                self._late = int(words[0])
            case "key":
                self.world.key = True
            case "power-key":
                self._is_power_pressed = True
            case "entry-stays":
                self._keeps_entry = True
            case "vanish" | "return" | "dock" | "names" | "come-late":
                self._move_disk(kind, words)
            case "edit":
                (self.world.path.parent / "fat/plan.toml").write_text(self.edited)
            case _:
                self._ask(kind, words)

    def _move_disk(self, kind: str, words: Sequence[str]) -> None:
        if kind == "names":
            self._swaps = True
        elif kind == "come-late":
            self._comes_late = words[0]
        elif kind != "dock":
            disk = self.media.find(words[0])
            disk.is_here = kind == "return"
            if not disk.is_here:
                self.bcache.lose(disk)
        elif self.states():
            self.media.change_disk_in_dock()

    def _ask(self, kind: str, words: Sequence[str]) -> None:
        """What a person asks: of the first campaign, or that the one that waits goes on."""
        payload: dict[str, object] = {}
        if kind == "start":
            payload = {"plan_toml": self.plan}
        elif kind == "take-apart":
            payload = {"set_uuid": next(iter(self.bcache.find_arrays()), ("none",))[0]}
        elif kind != "stop":
            is_waiting = kind == "resume" and "paused" in self.states()
            payload["campaign_id"] = self.states().index("paused") + 1 if is_waiting else 1
        if kind.endswith("drive"):
            payload["drive_id"] = int(words[0])
        if kind == "pause-drive":
            payload["at_once"] = words[1] == "now"
        if kind == "skip-step":
            payload["step_id"] = int(words[0])
        with suppress(sqlite3.OperationalError), self._looking() as other:
            insert_request(other, kind, payload, at="2026-11-26T10:00:00Z", boot_id="b")

    @contextmanager
    def _looking(self) -> Iterator[sqlite3.Connection]:
        """Another program; not through what counts the engine's statements."""
        other = sqlite3.connect(self.world.path, autocommit=True, timeout=0.1)
        other.execute("PRAGMA synchronous = OFF")
        try:
            yield other
        finally:
            other.close()

    def states(self) -> list[str]:
        """Of all campaigns."""
        with self._looking() as other:
            return [state for (state,) in other.execute("SELECT state FROM campaign ORDER BY id")]

    def _is_released(self, serial: str) -> bool:
        """By a campaign that is under way, whatever the plan on the stick says.

        Or the user has an array dismantled that one has left.
        """
        with self._looking() as other:
            plans = other.execute(
                "SELECT plan_toml FROM campaign c WHERE state NOT IN ('done', 'paused') OR EXISTS"
                " (SELECT 1 FROM array_made a WHERE a.campaign_id = c.id"
                " AND a.state IN ('making', 'parting'))"
            ).fetchall()
        return any(f'erase = "{serial}"' in plan for (plan,) in plans)

    # The machine

    def start(self) -> str:
        """One start of the engine, or a measured boot, to its end: off, cut, idle or its error."""
        self._polls = 0
        self._is_refused = self._is_measured = self._is_killed = False
        try:
            if self.world.entry and not self._keeps_entry:
                self._measure()
            elif self.world.order and not self._keeps_entry:
                self._start_own_system()
            else:
                self.world.keeps_boot_next = bool(self.world.order)
                self._keeps_entry = False
                self._work()
        except CutError:
            end = "off" if self._is_off else "cut"
        except IdleError:
            end = "idle"
        except Exception as error:  # noqa: BLE001 - systemd starts the engine again
            end = f"{type(error).__name__}: {error}"
        else:
            end = "off"  # a measured boot does not wait for the end
        if self._connection:
            self._connection.close()
        self._check()
        self._end(end)
        self.media.log.append(f"== {end[:60]} {self.states()}")
        return end

    def _end(self, how: str) -> None:
        if self._is_killed and not self._is_measured:
            self.media.unlocked.clear()
            self._is_dead = False
        elif how in {"off", "cut"}:
            self._restart()
        elif self.bcache.members:
            self.faults.append("an array is left registered")

    def _work(self) -> None:
        connection = self.open_anew()
        appliance = Appliance(Status(), STICK, connection, DriveList(), self.world.host())
        engine._work_until_gone(appliance)

    def _measure(self) -> None:
        self._is_measured = True
        slot = int(self.world.entry.removeprefix("measure-"))
        self.world.entry = ""
        has_array = bool(self.world.handed_over) and self.bcache.start(self.world.handed_over)
        if has_array or any(each.slot == slot and each.is_here for each in self.media.disks):
            measured_boot.measure_boot(self.world.host(slot=slot))

    def _start_own_system(self) -> None:
        """It reports its start, unless the power goes before, and restarts the machine."""
        world = self.world
        token, world.order, world.boot_next = world.order, "", ""
        self.tick("own system")
        world.report = BootReport(
            token, "", 0x80, 0x80, f"own-{world.boot_id}", "Debian", _TIMES, "", None, False
        )
        self.tick("own report")

    def open_anew(self, *_: object, **__: object) -> sqlite3.Connection:
        """At each start. It is this program that goes on: nothing needs to reach a medium."""
        self._connection = open_database(self.world.path)
        self._connection.execute("PRAGMA synchronous = OFF")
        return self._connection

    def _restart(self) -> None:
        number = int(self.world.boot_id.removeprefix("boot-"))
        self.world.boot_id = f"boot-{number + 1}"
        self.world.kernel_started_at += self.world.now_s
        self.world.now_s = 1.0
        self.world.key = self._is_dead = self._is_off = self._is_power_pressed = False
        self.media.unlocked.clear()
        self.bcache.forget()
        if self._swaps:
            self.media.swap_names()
            self._swaps = False
        if self._comes_late:
            self._move_disk("vanish", [self._comes_late])
            self._comes_in = _LATE
        for each in self.media.disks:
            each.power_cycles += 1
            each.replays = 0

    def leave(self) -> None:
        """The engine asks for the power to go: it was counted, and no pause was granted.

        Or a person wants it.
        """
        if self._is_dead:
            raise CutError
        if self._is_power_pressed:
            if not self.states():
                self.go()
            return
        with self._looking() as other:
            (counted,) = other.execute("SELECT sum(power_actions) FROM campaign").fetchone()
            (promised,) = other.execute(
                "SELECT count(*) FROM campaign WHERE pause_asked_at IS NOT NULL"
            ).fetchone()
        # A measured boot goes back all the same: it was counted itself, and comes once.
        if counted <= self._counted and not (self._is_measured and self._is_refused):
            self.faults.append("power goes, and nothing was counted")
        if promised:
            self.faults.append("power goes, although a pause was granted")
        self._counted = counted

    def go(self) -> NoReturn:
        """It has gone."""
        self._is_off = self._is_dead = True
        raise CutError

    def sleep(self, seconds: float) -> None:
        """Time passes; where nothing else does, a person asks for something."""
        self.world.now_s += seconds
        self.tick("sleep")
        self._polls += 1
        if self.request and self._polls == 3:
            request, self.request = self.request, ""
            self._happen(request)
        if self._polls > _IDLE_POLLS:
            if self._is_power_pressed:
                self.faults.append("the power key is not heard")
            if not self._act:
                raise IdleError
            self._next_act()  # what it waits for does not come
            self._polls = 0

    def tell_time(self) -> float:
        """Time passes with each look at the clock."""
        self.world.now_s += 0.02
        return self.world.now_s

    def _check(self) -> None:
        """What was committed is there once; what is there is whole."""
        with self._looking() as other:
            parts = {
                (step_id, name): results
                for step_id, name, results in other.execute(
                    "SELECT step_id, name, results FROM part"
                )
            }
            figures = other.execute(
                "SELECT step_id, variant, count(*) FROM result WHERE metric = 'seconds'"
                " GROUP BY step_id, variant"
            ).fetchall()
            samples = frozenset(
                cycle_id for (cycle_id,) in other.execute("SELECT cycle_id FROM boot_sample")
            )
            replays = other.execute(
                "SELECT cycle_id, boot_s FROM boot_sample b JOIN cycle c ON c.id = b.cycle_id"
                " WHERE c.mode = 'replay' AND boot_s > ?",
                (_AGAIN_S,),
            ).fetchall()
            wrong = other.execute(
                "SELECT id, state, attempts FROM cycle c WHERE attempts NOT BETWEEN 0 AND 3 OR"
                " (state = 'done') <> EXISTS (SELECT 1 FROM boot_sample WHERE cycle_id = c.id)"
            ).fetchall()
        if lost := self._parts.items() - parts.items():
            self.faults.append(f"lost: {lost}")
        if {(step_id, name, 1) for step_id, name in parts} != set(figures):
            self.faults.append(f"parts {parts.keys()} have the figures {figures}")
        if replays:
            self.faults.append(f"of what had been read in the same boot already: {replays}")
        if len([state for state in self.states() if state != "done"]) > 1:
            self.faults.append("a campaign was begun beside another")
        if not self._samples <= samples or wrong:
            self.faults.append(f"samples {self._samples} are {samples}, boots: {wrong}")
        self._parts, self._samples = parts, samples
        self.bcache.check()

    def find_failed(self) -> list[str]:
        """Why steps have failed; not those that came to nothing three times, or for B's dock."""
        with self._looking() as other:
            reasons = other.execute("SELECT reason FROM step WHERE state = 'failed'").fetchall()
        known = ("abandoned after", "drive B cannot be told", "/dev/sdb (B) cannot be told")
        return [reason for (reason,) in reasons if not reason.startswith(known)]

    # Stand-ins for what is outside

    def take_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in for the machine wherever the engine reaches for it."""
        folder, world, media = self.world.path.parent, self.world, self.media
        open_database(world.path).close()
        for name in ("sda", "sdb", "sdd"):
            (folder / "block" / name).mkdir(parents=True)
            (folder / "block" / name / "stat").write_text(" ".join(["0"] * 17))
            (folder / "block" / name / "size").write_text("8000000\n")
        world.access = replace(
            world.access,
            find=media.look,
            find_settled=media.look,
            ask_identity=media.ask_identity,
            ask_scsi_identity=lambda _: None,
            read_power_cycles=media.read_power_cycles,
            read_ends=media.read_ends,
            read_content=media.read_content,
            read_file_system_uuid=media.read_file_system_uuid,
            read_superblock=self.bcache.read_superblock,
            unlocked=media.unlock,
        )
        world.clock = replace(
            world.clock,
            monotonic_s=self.tell_time,
            time_s=lambda: world.kernel_started_at + world.now_s,
            sleep=self.sleep,
        )
        for name in ("power_off", "reboot", "cut_power after the last write"):
            world.during[name] = self.leave
        for name in (
            *("arm_alarm", "clear_alarm", "arm_entry", "arm_installed"),
            *("disarm_entry", "cut_power"),
        ):
            world.during[name] = partial(self.tick, name)
        (world.run / "tui/ready").touch()
        for place, name, stand_in in (
            (connect._GuardedCursor, "execute", self._count_statements()),
            (WorldPower, "wait_for_the_end", lambda _: self.go()),
            (Keyboards, "is_power_pressed", lambda _: self._is_power_pressed),
            *self._list_steps(folder),
            *self._list_boots(),
            *self.bcache.list_stand_ins(),
            *self._list_stick(folder / "fat"),
        ):
            monkeypatch.setattr(place, name, stand_in)

    def _count_statements(self) -> Callable[..., sqlite3.Cursor]:
        execute: Callable[..., sqlite3.Cursor] = connect._GuardedCursor.execute

        def counted(cursor: sqlite3.Cursor, sql: str, parameters: object = (), /) -> sqlite3.Cursor:
            word = sql.split(maxsplit=1)[0]
            if word in _READS:
                if self._is_dead:
                    raise CutError
                return execute(cursor, sql, parameters)
            self._tick_statement(word)
            if self._full and word != "BEGIN":
                self._full -= 1
                self._is_refused = True
                raise _FULL
            found = execute(cursor, sql, parameters)
            if self._late and word == "COMMIT":
                self._late -= 1
                raise _FULL
            return found

        return counted

    def _list_steps(self, folder: Path) -> Iterator[tuple[object, str, object]]:
        media = self.media
        yield environment, "_held", media.hold
        yield environment, "mounted", media.mount
        yield environment, "make_file_system", media.make_file_system
        yield environment, "clear_holders", media.clear
        yield environment, "RAW", folder / "raw"
        yield ownership, "leave_mark", media.leave_mark
        yield attempt, "make_workload", lambda plan: AnyWork(self, plan)
        yield target, "_BLOCK", folder / "block"
        yield file_system, "FOLDER", folder / "bench"
        yield suppress_flush, "_BLOCK", folder / "class"
        yield suppress_flush, "_NOTES", folder / "flush-switches"
        yield queue, "copy_when_due", _nothing

    def _list_boots(self) -> Iterator[tuple[object, str, object]]:
        def find_root_disk(slot: int) -> str:
            self.tick("root")
            if self.media.array:
                return self.media.array.name
            return next(each.name for each in self.media.disks if each.slot == slot)

        yield install, "install_reference_os", self.media.install
        for module in (sample, measured_boot):
            yield module, "find_root_disk", find_root_disk
        yield sample, "_wait_for_startup", lambda: Startup(None, None, 2.0, 6.0, 12.5, 20.5)
        yield sample, "_load_sensors", _nothing
        yield sample, "read_kernel_errors", lambda _: ""
        yield sample, "mount_session_set", Path
        yield sample, "read_session_set", lambda _: 8 << 20
        yield sample, "_read_stats", lambda _: DiskStats(9000, 300 << 20, 0, 0)
        yield sample, "_wait_for_quiet", lambda *_: 30.0
        yield store_sample, "read_unit_times", lambda **_: ()
        yield measured_boot, "find_stick", lambda _: STICK
        yield measured_boot, "open_database", self.open_anew
        for name in ("mount_data", "mount_fat", "unmount_all", "copy_when_due"):
            yield measured_boot, name, _nothing
        yield replay, "read_extents", self._replay
        yield pending_replay, "save_pending", self._keep
        yield replay, "RAW", self.world.path.parent / "raw"

    def _keep(self, sample: pending_sample.PendingSample) -> None:
        pending_sample.save_pending(sample)
        self.kept.add(sample.boot_id)

    def find_lost(self) -> set[str]:
        """The starts of the machine whose replay was kept, and is not stored in the end."""
        with self._looking() as other:
            return self.kept - {
                boot_id for (boot_id,) in other.execute("SELECT boot_id FROM boot_sample")
            }

    def _replay(
        self, path: str, reads: ReadList, *, clock: Callable[[], float]
    ) -> tuple[DiskStats, ReplaySample, DiskStats]:
        disk = self.media.at(path)
        self.tick("replay")
        disk.replays += 1
        self.replays += 1
        took_s = 1 if disk.replays == 1 else 2 * _AGAIN_S
        times_ns = (int(took_s * 1e9), *[1] * (len(reads.extents) - 1))
        sample = ReplaySample(reads.sha256, clock(), 0, 0, times_ns)
        self.tick("replayed")
        return DiskStats(0, 0, 0, 0), sample, DiskStats(100, 1 << 20, 0, 0)

    def _list_stick(self, fat: Path) -> Iterator[tuple[object, str, object]]:
        @contextmanager
        def writable_fat() -> Iterator[Path]:
            self.tick("KALTSTART")
            yield fat

        def store_health(context: CampaignContext, *_: object) -> None:
            self.tick("health")
            context.tell("reading", 0, 0)

        def write_report(context: CampaignContext, campaign_id: int, **_: object) -> None:
            self.tick("report")
            record(context, "report", what="reports/1", campaign_id=campaign_id)

        fat.mkdir()
        for module in (start_records, pending_sample):
            yield module, "writable_fat", writable_fat
            yield module, "FAT", fat
        yield stick_plan, "_PLAN", fat / "plan.toml"
        yield engine, "store_health", store_health
        yield finish, "write_report", write_report
        yield finish, "copy_database", _nothing
        for name in ("keep_in_ram", "store_conditions"):
            yield engine, name, _nothing
        for name in ("store_crash", "close_stick", "show_trouble"):
            yield engine, name, _nothing
        yield Appliance, "_release_leftovers", lambda _: release_arrays(tell=ignore_progress)
        for name in ("close_guard", "note"):
            yield MachineDrives, name, _nothing
        for name in ("restore_keyboard", "publish"):
            yield Machine, name, _nothing


def _nothing(*_: object, **__: object) -> None:
    return


class AnyWork(Workload):
    """Two parts that write to a file system or read, or a verify that knows what it wrote."""

    def __init__(self, order: AnyOrder, plan: WorkloadPlan) -> None:
        self._order = order
        self._is_verify = isinstance(plan, VerifyPlan)
        self._writes = plan.writes

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        return ("write", "read", "read-cold") if self._is_verify else ("one", "two")

    @property
    @override
    def cold_parts(self) -> frozenset[str]:
        return frozenset({"read-cold"} if self._is_verify else ())

    @override
    def prepare(self, bench: Bench) -> None:
        self._order.tick("prepare")

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        order, media, step_id = self._order, self._order.media, int(bench.raw.name)
        if order.is_stored(step_id, part):
            order.faults.append(f"{part} of step {step_id} is done again")
        hand: Any = getattr(bench.progress, "__self__", None)
        for count in range(4):
            order.tick(f"{part} of step {step_id}")
            hand.ask(_nothing)  # who waits for it hears what people ask
            bench.progress("working", count, 4)
        if bench.array:
            self._use_array(bench.array, part)
        if not self._is_verify and self._writes:
            media.write(bench.device, part)
        elif part == "write":
            media.write(bench.device, part).pattern = step_id
        elif self._is_verify and (found := media.at(bench.device).pattern) != step_id:
            order.faults.append(f"{part} of step {step_id} finds what step {found} has written")
        return PartResult((Result(part, "seconds", 1.5, _COLD),), keep=_nothing)

    def _use_array(self, array: ArrayControl, part: str) -> None:
        self._order.bcache.check_read()
        if part == "two":
            array.empty_cache()
            self._order.bcache.check_read()

    @override
    def write_last(self, bench: Bench) -> None:
        self._order.media.write(bench.device, "write last")
