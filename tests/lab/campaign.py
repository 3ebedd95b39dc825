# SPDX-License-Identifier: Apache-2.0
"""The operator's loop: power on, watch the console, power on again, until the campaign has ended.

Knows the appliance only by its contract: console lines, the plan, the stick's partitions.
"""

import shutil
import sqlite3
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.lab.console import ConsoleLine
from tests.lab.drives import DEFAULT_DRIVES, DriveBay, ModelledDrive
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.qmp import QmpError
from tests.lab.saved import restored
from tests.lab.served_stick import ServedStick
from tests.lab.stick import get_database, get_report, make_stick, put_file
from tests.lab.stick_faults import StickFaults, new_seed, parse_stick_faults
from tests.lab.wake import OffClock

REPO = Path(__file__).resolve().parents[2]
IMAGE = REPO / "build/kaltstart.raw"
_POLL_S = 0.5
_LAST_WORDS = "systemd-shutdown[1]: Unable to finalize remaining DM devices"
"""Of each power-off: its root cannot be released. What follows is the kernel's.

That resets the controllers, and QEMU completes the requests of a drive before it resets one: from
here on it is QEMU that would wait for a silent drive, not Linux.
"""
_LEAVINGS = (
    "serial.log", "stick.raw", "stick-2.raw", "kaltstart.sqlite", "kaltstart.sqlite-journal",
    "report", "drives", "failure.png", "firmware-variables.fd", "qemu.err", "stick.err",
    "stick.stats.json",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cut:
    """Power cut (QEMU is killed), once, when its condition holds; then power comes back.

    Either the `nth` console line `event` of the whole run, or in power-on `power_on` what its
    serial line says, the regular expression `says`, or `after_s` of it; with both `event` and
    `after_s`: that long after the line.
    """

    event: str = ""
    nth: int = 1
    power_on: int = 0
    says: str = ""
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the operator waits before calling it a failure, in seconds."""

    first_line_s: float = PATIENCE_S
    """From power-on to the first `kaltstart:` line."""
    between_lines_s: float = PATIENCE_S
    """Installing onto several drives happens between two lines."""
    off_after_done_s: float = PATIENCE_S / 2
    total_s: float = 4 * PATIENCE_S
    power_ons: int = 0
    """0: what the plan may need at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of a campaign in the lab."""

    out: Path
    plan: str | None
    image: Path = IMAGE
    drives: Sequence[ModelledDrive] = DEFAULT_DRIVES
    firmware: str = "uefi"
    limits: Limits = Limits()
    cuts: Sequence[Cut] = ()
    """For one in the middle of a drive's work see the fault `cut@bootN+SIZE`."""
    second_stick: bool = False
    stick_port: str = "xhci"
    stick_faults: StickFaults | None = None
    """By default it loses by chance what was not flushed where there are cuts, and nothing else."""
    processors: int = 1
    icount_shift: int | None = None
    interactive: bool = False
    agent: str = ""
    """A script that runs inside, at each power-on."""
    interface: bool = False
    say: Callable[[str], None] = print
    on_line: Callable[[ConsoleLine, Machine], None] | None = None
    """Called with each console line while the machine runs."""
    silences: Mapping[str, Cut] = field(default_factory=dict)
    """By a drive's serial number, the line at which it stops answering. It answers again when the
    power has gone. For one that stops in the middle of its work see the fault `stall@afterSIZE`."""
    prepare_stick: Callable[[Path], None] | None = None
    """Called with the stick's file before the first power-on."""
    from_start: bool = False
    """Whether the first power-on is one; otherwise the saved machine goes on (see `saved`)."""
    wake: str = "alarm"
    """One of `wake.WAKES`: what switches the machine on again after it switched itself off."""
    wakes: Mapping[int, str] = field(default_factory=dict)
    """The same of single power-ons, by their numbers."""
    pauses: int = 0
    """So many pauses are for the script inside to end; at the next one everything is over."""
    await_off: bool = False
    """Let the machine go off at the end; otherwise its plug is pulled behind its last word, when
    everything is stored."""


@dataclass(frozen=True, slots=True)
class BootTime:
    """One row of the view `boot_times`."""

    drive_serial: str
    drive_role: str
    cycle: int
    power: str
    cold_proof: str
    cold_reason: str
    valid: int
    charted: int
    boot_s: float | None
    session_s: float | None
    read_bytes: int | None
    wake_skew_s: float | None
    trained: int


@dataclass(slots=True)
class Result:
    """What a run led to."""

    out: Path
    outcome: str = "running"
    """done | refused | paused | off | timeout | too many power-ons"""
    reason: str = ""
    lines: list[ConsoleLine] = field(default_factory=list)
    power_ons: int = 0
    cuts_made: int = 0
    seconds: float = 0.0
    database: Path | None = None
    report: Path | None = None
    stats: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    """What reached each drive, by its name, one element per QEMU process."""
    unflushed: list[int] = field(default_factory=list)
    """Writes that the stick had not been told to flush, at the end of each power-on."""

    @property
    def ok(self) -> bool:
        """Whether the campaign ended without a failed sample."""
        done = self.lines_of("campaign-done")
        return self.outcome == "done" and done[-1].fields.get("failed") == "0"

    def lines_of(self, event: str) -> list[ConsoleLine]:
        """All console lines of one kind."""
        return [line for line in self.lines if line.event == event]

    def written_bytes(self, name: str) -> float:
        """Bytes written to a drive in the whole run."""
        return sum(one["write_bytes"] + one["trim_bytes"] for one in self.stats[name])

    def boot_times(self) -> list[BootTime]:
        """The samples in the stick's database, oldest campaign and cycle first."""
        if self.database is None:
            return []
        with closing(sqlite3.connect(self.database)) as connection:
            connection.row_factory = sqlite3.Row
            rows = connection.execute(
                "SELECT drive_serial, drive_role, cycle, power, cold_proof, cold_reason,"
                " valid, charted, boot_s, session_s, read_bytes, wake_skew_s, trained"
                " FROM boot_times"
                " ORDER BY campaign_id, drive_serial, charted, cycle"
            ).fetchall()
        return [BootTime(**dict(row)) for row in rows]


def run_campaign(trial: Trial) -> Result:
    """Play the operator until the campaign ends, and collect what it left.

    An interrupt ends the machine first, then what is stored by then is collected.
    """
    prepare_out(trial.out)
    stick = make_stick(trial.image, trial.out / "stick.raw")
    second = make_stick(trial.image, trial.out / "stick-2.raw") if trial.second_stick else None
    if trial.plan is not None:
        put_file(stick, "plan.toml", trial.plan)
    if trial.prepare_stick is not None:
        trial.prepare_stick(stick)
    setup = MachineSetup(
        stick=stick,
        serial_log=trial.out / "serial.log",
        firmware=trial.firmware,
        second_stick=second,
        stick_port=trial.stick_port,
        processors=trial.processors,
        icount_shift=trial.icount_shift,
        agent=trial.agent,
        interface=trial.interface,
        interactive=trial.interactive,
    )
    result = Result(trial.out)
    faults = trial.stick_faults
    if faults is None and (trial.cuts or any(drive.faults.cuts for drive in trial.drives)):
        faults = any_loss()
    with ExitStack() as stack:
        # When the processes of machine, stick and drives have ended; if a signal ended them, too.
        stack.callback(_copy_results, stick, result)
        bay = stack.enter_context(DriveBay(trial.drives, folder=trial.out / "drives"))
        served = stack.enter_context(ServedStick(stick, faults)) if faults else None
        if served is not None:
            setup = replace(setup, stick_socket=served.socket)
        operator = _Operator(trial, setup, bay, result)
        if faults is not None:
            operator.mark(describe_stick(faults))
        operator.work()
    # Their accounts are complete now.
    if served is not None:
        result.unflushed = served.stats()["cuts"]
    result.stats = {drive.name: bay.stats(drive) for drive in bay.drives}
    return result


def _copy_results(stick: Path, result: Result) -> None:
    result.database = get_database(stick, result.out)
    result.report = get_report(stick, result.out / "report")


def any_loss(seed: int | None = None) -> StickFaults:
    """A stick that loses what was not flushed, in a way that follows from the seed."""
    seed = new_seed() if seed is None else seed
    way = ("forget-unflushed", "forget-unflushed some", "forget-unflushed torn")[seed % 3]
    return parse_stick_faults([way], seed=seed)


def describe_stick(faults: StickFaults) -> str:
    """What to say of the stick, so that a failure can be repeated."""
    return f"stick: faults = {list(faults.texts)}, seed = {faults.seed}"


def prepare_out(out: Path) -> None:
    """Make the out folder, without what an earlier run left in it."""
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()) and not (out / "serial.log").exists():
        raise FileExistsError(f"{out} holds something else; name a new or empty folder")
    for name in _LEAVINGS:
        path = out / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    (out / "serial.log").touch()


def power_on_limit(plan: str | None) -> int:
    """How often a plan may need the power button: three attempts for each boot, charts included."""
    try:
        data = tomllib.loads(plan or "")
        cycles = int(data.get("boot", {}).get("cycles", 10))
        return 5 + 6 * max(1, len(data.get("drive", []))) * (cycles + 2)
    except (tomllib.TOMLDecodeError, ValueError, AttributeError, TypeError):
        return 10


class _Operator:
    """The person with the power button."""

    def __init__(self, trial: Trial, setup: MachineSetup, bay: DriveBay, result: Result) -> None:
        self._trial = trial
        self._setup = setup
        self._bay = bay
        self._result = result
        self._cuts = list(trial.cuts)
        self._silences = dict(trial.silences)
        self._may_be_silent = any(drive.faults.can_stall for drive in trial.drives)
        self._started = time.monotonic()
        self._on_finish = _on_finish(trial.plan)
        self._off_clock: OffClock | None = None
        self._ahead_s = 0.0
        """How far the machine's clock was ahead of the host's at the last power-on."""

    def work(self) -> None:
        result = self._result
        limit = self._trial.limits.power_ons or power_on_limit(self._trial.plan)
        while result.outcome == "running":
            if result.power_ons >= limit:
                self._end("too many power-ons", f"{limit} power-ons did not end the campaign")
                break
            result.power_ons += 1
            drives = self._bay.attached(power_on=result.power_ons)
            self.mark(f"power on {result.power_ons}")
            with self._power_on(drives) as machine:
                self._watch(machine)
                self._off_clock = machine.off_clock
                if result.outcome in {"paused", "refused", "timeout"}:
                    self._picture(machine)
                if machine.is_on() and self._trial.await_off:
                    self._switch_off(machine)
        result.seconds = time.monotonic() - self._started

    def _power_on(
        self, drives: Sequence[tuple[ModelledDrive, Path]]
    ) -> AbstractContextManager[Machine]:
        if self._result.power_ons == 1 and not self._trial.from_start:
            return restored(self._setup, image=self._trial.image, drives=drives)
        now_s = time.time()
        wake = self._trial.wakes.get(self._result.power_ons, self._trial.wake)
        start_s = (
            now_s + self._ahead_s
            if self._off_clock is None
            else self._off_clock.find_start_s(now_s=now_s, wake=wake)
        )
        self._ahead_s = start_s - now_s
        return Machine(self._setup, drives=drives, clock_s=start_s)

    def _watch(self, machine: Machine) -> None:
        """Follow one power-on until the machine is off, cut off, or everything is over."""
        limits, result = self._trial.limits, self._result
        lines_here = 0
        last_line = time.monotonic()
        while True:
            on = machine.is_on()
            for line in machine.poll():
                lines_here += 1
                last_line = time.monotonic()
                self._take(line, machine)
            now = time.monotonic()
            if result.outcome != "running":
                return
            if not on:
                if machine.exit_code() != 0:
                    self._end("off", f"QEMU ended with code {machine.exit_code()}; see qemu.err")
                return
            if self._cut_now(machine):
                return
            self._silence()
            self._end_silence(machine)
            silent_limit_s = limits.between_lines_s if lines_here else limits.first_line_s
            if self._trial.interactive:
                silent_limit_s = limits.total_s
            if now - last_line > silent_limit_s:
                self._end("timeout", f"no line from the appliance for {silent_limit_s:.0f} s")
            elif now - self._started > limits.total_s:
                self._end("timeout", f"not done after {limits.total_s / 60:.0f} min")
            time.sleep(_POLL_S)

    def _take(self, line: ConsoleLine, machine: Machine) -> None:
        self._result.lines.append(line)
        if not self._trial.interactive:  # the serial line is on this terminal already
            self._trial.say(f"  {machine.age_s:6.1f} s  {line.text}")
        if self._trial.on_line is not None:
            self._trial.on_line(line, machine)
        reason = line.fields.get("reason", "")
        if line.event == "campaign-done":
            self._end("done", "")
        elif line.event == "campaign-paused":
            if len(self._result.lines_of(line.event)) > self._trial.pauses:
                self._end("paused", reason)
        elif line.event == "refused" and "id" not in line.fields:
            # With an id it is one drive of a running campaign, which goes on.
            self._end("refused", reason)

    def _cut_now(self, machine: Machine) -> bool:
        cut = next((each for each in self._cuts if self._holds(each, machine)), None)
        if cut is not None:
            self._cuts.remove(cut)
        elif not self._bay.waits_for_cut():
            return False
        self._result.cuts_made += 1
        self.mark("power cut")
        machine.kill()
        return True

    def _silence(self) -> None:
        """Have the drives stop answering whose time has come."""
        for serial, when in tuple(self._silences.items()):
            if len(self._result.lines_of(when.event)) >= when.nth:
                del self._silences[serial]
                self._bay.stop_answering(serial)
                self.mark(f"{serial} stops answering")

    def _end_silence(self, machine: Machine) -> None:
        """Once Linux waits for no drive any more."""
        if self._may_be_silent and _LAST_WORDS in machine.text:
            self._bay.answer_again()

    def _holds(self, cut: Cut, machine: Machine) -> bool:
        if cut.power_on and self._result.power_ons != cut.power_on:
            return False
        if cut.says:
            return machine.has_said(cut.says)
        if not cut.event:
            return machine.age_s >= cut.after_s
        if len(self._result.lines_of(cut.event)) < cut.nth:
            return False
        if cut.after_s:
            # From now on it is a matter of time in this power-on.
            self._cuts[self._cuts.index(cut)] = Cut(
                power_on=self._result.power_ons, after_s=machine.age_s + cut.after_s
            )
            return False
        return True

    def _switch_off(self, machine: Machine) -> None:
        """Let it switch itself off after its last word, press the button, then pull the plug.

        A person at its serial line switches it off.
        """
        limits, interactive = self._trial.limits, self._trial.interactive
        patience_s = limits.total_s if interactive else limits.off_after_done_s
        deadline = time.monotonic() + patience_s
        goes_off = self._result.outcome == "done" and self._on_finish == "poweroff"
        pressed = goes_off or interactive
        while machine.is_on() and time.monotonic() < deadline:
            for line in machine.poll():
                self._result.lines.append(line)
            self._end_silence(machine)
            if not pressed:
                pressed = True
                try:
                    machine.press_power_button()
                except QmpError:
                    break
            time.sleep(_POLL_S)
        if machine.is_on():
            self.mark(f"still on {patience_s:.0f} s later; power cut")

    def _picture(self, machine: Machine) -> None:
        try:
            machine.screenshot(self._trial.out / "failure.png")
        except QmpError as error:
            self._trial.say(f"lab: no picture of the screen: {error}")

    def _end(self, outcome: str, reason: str) -> None:
        self._result.outcome = outcome
        self._result.reason = reason

    def mark(self, what: str) -> None:
        """Note it on the terminal and in the serial line's log."""
        seconds = time.monotonic() - self._started
        self._trial.say(f"lab: {what} ({seconds:.0f} s)")
        with self._setup.serial_log.open("a") as log:
            log.write(f"\nlab: {what}\n")


def _on_finish(plan: str | None) -> str:
    try:
        return str(tomllib.loads(plan or "").get("campaign", {}).get("on_finish", "tui"))
    except (tomllib.TOMLDecodeError, AttributeError):
        return "tui"
