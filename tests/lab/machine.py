# SPDX-License-Identifier: Apache-2.0
"""One power-on of the machine under test: a QEMU process, its screen, keyboard and serial line."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab.console import ConsoleLine, parse_line, strip_escapes
from tests.lab.credentials import NO_INTERFACE, agent_credentials, hold_credentials
from tests.lab.devices import (
    chipset_for,
    nvme_slots,
    qemu_arguments,
    stick_devices,
    usb_controllers,
)
from tests.lab.drives import ModelledDrive, clock_of
from tests.lab.qmp import Qmp, QmpError, keys_for
from tests.lab.wake import OffClock, format_base, read_clock

FIRMWARES = ("uefi", "secureboot", "bios")
_OVMF = Path("/usr/share/OVMF")
_CODE = {"uefi": "OVMF_CODE_4M.fd", "secureboot": "OVMF_CODE_4M.secboot.fd"}
_VARS = {"uefi": "OVMF_VARS_4M.fd", "secureboot": "OVMF_VARS_4M.ms.fd"}
PROCESSOR = "max,erms=off,fsrm=off,fsrs=off,fsrc=off,fzrm=off"
"""All that QEMU can emulate but the promise that string instructions are quick. It takes them byte
by byte, and with a counted clock leaves its main loop for each of them."""
MACHINE_UUID = "2f3f61f7-6e4c-4b0e-9c1e-4b616c747374"
"""By which the appliance knows the machine again: all of the lab are one."""
PATIENCE_S = 1800
"""For whatever is awaited: far longer than it takes on a slow host beside other work. It ends tests
that hang, and measures nothing."""
_POLL_S = 0.2
_ENDED_S = 30
_SETTLE_TURNS = 40
_RESTART = {"reason": "guest-reset"}
"""Of QEMU's event SHUTDOWN, where a restart is held."""
_TAIL = 2000
"""Characters of the serial line that go with an error."""


@dataclass(frozen=True, slots=True)
class SerialLine:
    """A serial line of a running machine, by the files that QEMU keeps for it.

    A socket would lose characters: its buffer holds some 280 that were written one by one, and on
    a busy host its reader is late.
    """

    log: Path
    """What comes out of the machine is appended to it."""
    keys: Path
    """A FIFO: what is written to it goes into the machine."""

    def arguments(self, name: str) -> list[str]:
        """QEMU's, for a character device of this name."""
        return ["-chardev", f"file,id={name},path={self.log},append=on,input-path={self.keys}"]


class LabTimeoutError(Exception):
    """Something awaited did not come in time."""


class MachineOffError(Exception):
    """The machine went off while something was awaited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSetup:
    """What stays the same over all power-ons of one machine."""

    stick: Path
    serial_log: Path
    """Appended to by every power-on."""
    firmware: str = "uefi"
    variables: Path | None = None
    """Where firmware keeps its variables; made at the first power-on. Beside the log by default."""
    second_stick: Path | None = None
    stick_socket: Path | None = None
    """Where the stick is served, if not read from its file by QEMU (see `served_stick`)."""
    stick_port: str = "xhci"
    """What the stick is plugged into: one of `stick_faults.STICK_PORTS`."""
    second_line: Path | None = None
    """The log of the second serial line; without it there is none."""
    memory_mib: int = 2048
    display: str = ""
    """QEMU's display device with its options; by default its standard PCI one."""
    processors: int = 1
    """One is quickest where machines share two processors: an emulated one that waits for
    another takes time from both."""
    icount_shift: int | None = None
    """An instruction takes 2^shift ns of the machine's own time, however quick or busy the host is:
    for what is timed inside. Drives take their time by that clock, too. Costs nearly half more."""
    told: Path | None = None
    """A file for every byte that is written to I/O port 0xE9 inside. The serial line is shared by
    all, and a character may come out twice or not at all."""
    interface: bool = False
    """Whether the interface starts, as it does on the stick: for tests that look or type."""
    agent: str = ""
    """A script that runs inside, once the engine has started."""
    credentials: Mapping[str, str] = field(default_factory=dict)
    """More systemd credentials put in from outside, such as systemd.extra-unit.NAME.service."""
    interactive: bool = False
    """Serial line and QEMU's monitor on this terminal (Ctrl-A H for help)."""
    holds_restarts: bool = False
    """Whether it stops at each restart, before its firmware reads anything; see `wait_restart`."""

    @property
    def variable_store(self) -> Path:
        """The file with the firmware's variables."""
        return self.variables or self.serial_log.with_name("firmware-variables.fd")

    @property
    def all_credentials(self) -> dict[str, str]:
        """All that is put in from outside."""
        return {
            **({} if self.interface else NO_INTERFACE),
            **(agent_credentials(self.agent) if self.agent else {}),
            **self.credentials,
        }


def qemu_command(
    setup: MachineSetup,
    *,
    drives: Sequence[tuple[ModelledDrive, Path]],
    sockets: Path,
    hold: bool = False,
    state: Path | None = None,
    clock: str = "utc",
) -> list[str]:
    """The whole QEMU command line; `sockets` is a folder for qmp.sock, order.sock and FIFOs.

    With `hold` the engine waits for its order; with a `state` the machine goes on from that one.
    `clock` is what its clock shows, as `wake.format_base` has it; utc: the host's time.
    """
    secure = setup.firmware == "secureboot"
    words = [
        "qemu-system-x86_64", "-nodefaults", "-no-user-config",
        "-machine", f"{chipset_for(drives)},smm=on" if secure else chipset_for(drives),
        "-cpu", PROCESSOR,
        "-uuid", MACHINE_UUID,
        "-smp", str(setup.processors), "-m", str(setup.memory_mib),
        # The chipset's watchdog may reset the machine, as boards are wired.
        "-global", "ICH9-LPC.noreboot=false",
        *(["-vga", "none", "-device", setup.display] if setup.display else ["-vga", "std"]),
        "-display", "none", "-nic", "none",
        # When it has switched itself off it is stopped, so that its clock can be read.
        "-action", "shutdown=pause" + (",reboot=shutdown" if setup.holds_restarts else ""),
        "-qmp", f"unix:{sockets}/qmp.sock,server=on,wait=off",
    ]  # fmt: skip
    flash = "if=pflash,format=raw"
    if setup.firmware != "bios":
        words += [
            "-drive", f"{flash},unit=0,readonly=on,file={_OVMF / _CODE[setup.firmware]}",
            "-drive", f"{flash},unit=1,file={setup.variable_store}",
        ]  # fmt: skip
    if secure:
        words += ["-global", "driver=cfi.pflash01,property=secure,value=on"]
    if setup.interactive:
        log = f"logfile={setup.serial_log},logappend=on"
        words += ["-chardev", f"stdio,id=serial,mux=on,signal=off,{log}", "-mon", "chardev=serial"]
        words += ["-serial", "chardev:serial"]
    for name, line in list_lines(setup, sockets).items():
        words += [*line.arguments(name), "-serial", f"chardev:{name}"]
    words += _clock_arguments(setup, drives, clock)
    if hold or state:
        where = f"path={sockets}/order.sock,server=on,wait=off"
        # The fourth line: on the first two the appliance expects people.
        words += ["-chardev", f"socket,id=order,{where}"]
        words += ["-device", "isa-serial,chardev=order,index=3"]
        words += nvme_slots()
    if state:
        words += ["-incoming", f"file:{state}"]
    if setup.told:
        words += ["-debugcon", f"file:{setup.told}"]
    words += _stick_arguments(setup, drives)
    for name, content in (hold_credentials() if hold else setup.all_credentials).items():
        encoded = base64.b64encode(content.encode()).decode()
        words += ["-smbios", f"type=11,value=io.systemd.credential.binary:{name}={encoded}"]
    return words + qemu_arguments(drives)


def list_lines(setup: MachineSetup, sockets: Path) -> dict[str, SerialLine]:
    """The serial lines that have files, by the names of their character devices."""
    logs = {
        "serial": None if setup.interactive else setup.serial_log,
        "second": setup.second_line,
    }
    return {name: SerialLine(log, sockets / f"{name}.keys") for name, log in logs.items() if log}


def _stick_arguments(
    setup: MachineSetup, drives: Sequence[tuple[ModelledDrive, Path]]
) -> list[str]:
    """The USB controllers, and what is plugged in there at power-on for good."""
    words: list[str] = []
    usb_drives = any(drive.bus == "usb" for drive, _ in drives)
    for device in usb_controllers(setup.stick_port, usb_drives=usb_drives):
        words += ["-device", json.dumps(device)]
    sticks = [setup.stick, *([setup.second_stick] if setup.second_stick else [])]
    for number, stick in enumerate(sticks, 1):
        node = f"stick{number}"
        block: dict[str, object] = {
            # No flush: what QEMU wrote before it was killed is in the host's memory.
            "driver": "raw", "node-name": node, "cache": {"no-flush": True},
            "file": {"driver": "file", "filename": str(stick), "cache": {"no-flush": True}},
        }  # fmt: skip
        if number == 1 and setup.stick_socket is not None:
            server = {"type": "unix", "path": str(setup.stick_socket)}
            block = {
                "driver": "raw", "node-name": node, "file": {"driver": "nbd", "server": server},
            }  # fmt: skip
        words += ["-blockdev", json.dumps(block)]
        for device in stick_devices(setup.stick_port, node=node, number=number):
            words += ["-device", json.dumps(device)]
    return words


def _clock_arguments(
    setup: MachineSetup, drives: Sequence[tuple[ModelledDrive, Path]], clock: str
) -> list[str]:
    """Its clock; and where it has a time of its own, a monitor for each drive to read that at."""
    if setup.icount_shift is None:
        return ["-rtc", f"base={clock}", "-accel", "tcg,thread=multi"]
    # All clocks inside go by that time: an alarm in a minute is one of its minutes.
    words = ["-rtc", f"base={clock},clock=vm"]
    words += ["-accel", "tcg,thread=single", "-icount", f"shift={setup.icount_shift},sleep=on"]
    for _, socket in drives:
        words += ["-qmp", f"unix:{clock_of(socket)},server=on,wait=off"]
    return words


class Machine:
    """A running machine. Leaving the context cuts its power if it is still on."""

    def __init__(
        self,
        setup: MachineSetup,
        *,
        drives: Sequence[tuple[ModelledDrive, Path]] = (),
        hold: bool = False,
        state: Path | None = None,
        clock_s: float | None = None,
    ) -> None:
        """`clock_s` is what its clock shows, since the epoch; the host's time unless given.

        For `hold` and `state` see `saved`, which uses them.
        """
        self.setup = setup
        self.off_clock: OffClock | None = None
        """Its clock when it switched itself off; None while it is on, and if its power was cut."""
        self._clock = "utc" if clock_s is None else format_base(clock_s)
        self._hold = hold
        self._state = state
        self.text = ""
        """All it has said on the serial line since power-on, without escapes."""
        self._drives = drives
        self._can_stall = any(drive.faults.can_stall for drive, _ in drives)
        self._went_off = False
        self._folder = tempfile.TemporaryDirectory(prefix="kaltlab-", dir="/tmp")
        self._lines = list_lines(setup, Path(self._folder.name))
        self._keyboards: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._qmp: Qmp | None = None
        self._offset = 0
        self._tail = b""
        self._searched = 0
        self._started = 0.0

    def __enter__(self) -> Self:
        setup = self.setup
        if setup.firmware != "bios" and not setup.variable_store.exists():
            shutil.copyfile(_OVMF / _VARS[setup.firmware], setup.variable_store)
        setup.serial_log.touch()
        self._offset = setup.serial_log.stat().st_size
        command = qemu_command(
            setup,
            drives=self._drives,
            sockets=Path(self._folder.name),
            hold=self._hold,
            state=self._state,
            clock=self._clock,
        )
        for line in self._lines.values():
            line.log.touch()
            os.mkfifo(line.keys)
            # Without a writer QEMU would wait here, and read nothing more once the first one left.
            self._keyboards.append(os.open(line.keys, os.O_RDWR | os.O_CLOEXEC))
        errors = setup.serial_log.with_name("qemu.err")
        self._started = time.monotonic()
        with errors.open("ab") as stream:
            self._process = subprocess.Popen(
                # The machine must not outlive the lab, however that ends.
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=None if setup.interactive else subprocess.DEVNULL,
                stdout=None if setup.interactive else stream,
                stderr=stream,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        if self._qmp is not None:
            self._qmp.close()
        while self._keyboards:
            os.close(self._keyboards.pop())
        self._folder.cleanup()

    @property
    def age_s(self) -> float:
        """Seconds since power-on."""
        return time.monotonic() - self._started

    def processor_s(self) -> float:
        """Processor seconds that the machine has cost its host so far."""
        if self._process is None:
            return 0.0
        # The fields behind the command's name: utime and stime are the 14th and 15th of all.
        words = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def serial_line(self) -> SerialLine:
        """The first one, to be read and typed on."""
        return self._lines["serial"]

    @property
    def second_line(self) -> SerialLine:
        """The second one, where the machine has it."""
        return self._lines["second"]

    @property
    def order_socket(self) -> Path:
        """A unix socket where a machine that is held takes its order."""
        return Path(self._folder.name) / "order.sock"

    def is_on(self) -> bool:
        """Whether it has power, and has not switched itself off."""
        if self._process is None or self._process.poll() is not None:
            return False
        if not self._has_gone_off():
            return True
        # Of drives that may answer no more QEMU waits for what is under way before it stops;
        # a power supply does not.
        if not self._can_stall:
            with suppress(QmpError, subprocess.TimeoutExpired):
                self.off_clock = read_clock(self.qmp)
                self.qmp.execute("quit")
                self._process.wait(_ENDED_S)
        self.kill()
        self._went_off = True
        return False

    def _has_gone_off(self) -> bool:
        if self._qmp is None and not self._qmp_socket.exists():
            return False  # QEMU is about to start
        try:
            # A restart that is held is reported as one, too.
            return self.qmp.has_told("SHUTDOWN", reason="guest-shutdown")
        except QmpError:
            return False  # it has just ended, as will be seen

    def exit_code(self) -> int | None:
        """QEMU's exit code, once it is off: 0 after the guest powered off."""
        if self._went_off:
            return 0
        return self._process.poll() if self._process else None

    def kill(self) -> None:
        """Cut the power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def poll(self) -> list[ConsoleLine]:
        """The appliance's console lines that came since the last poll."""
        with self.setup.serial_log.open("rb") as log:
            log.seek(self._offset)
            new = log.read()
        self._offset += len(new)
        head, newline, self._tail = (self._tail + new).rpartition(b"\n")
        if not newline:
            return []
        complete = (head + newline).decode(errors="replace")
        self.text += strip_escapes(complete)
        found = (parse_line(line) for line in complete.splitlines())
        return [line for line in found if line is not None]

    def wait_for(self, pattern: str, *, timeout_s: float) -> re.Match[str]:
        """Wait until the serial line says `pattern`, behind what was found last time."""
        deadline = time.monotonic() + timeout_s
        wanted = re.compile(pattern, re.MULTILINE)
        while True:
            on = self.is_on()
            self.poll()
            said = self._said()
            match = wanted.search(said, self._searched)
            if match is not None:
                self._searched = match.end()
                return match
            if not on:
                raise MachineOffError(f"the machine went off before it said {pattern!r}")
            if time.monotonic() > deadline:
                raise LabTimeoutError(
                    f"no {pattern!r} within {timeout_s:.0f} s; the last it said:\n{said[-_TAIL:]}"
                )
            time.sleep(_POLL_S)

    def has_said(self, pattern: str) -> bool:
        """Whether the serial line has said `pattern` since power-on, as of the last poll."""
        return re.search(pattern, self._said(), re.MULTILINE) is not None

    def _said(self) -> str:
        # A prompt has no line end.
        return self.text + strip_escapes(self._tail.decode(errors="replace"))

    def wait_event(self, event: str, *, timeout_s: float) -> ConsoleLine:
        """Wait for a `kaltstart: EVENT` line."""
        self.wait_for(rf"kaltstart: {re.escape(event)}(?= |$)", timeout_s=timeout_s)
        start = self.text.rfind("\n", 0, self._searched) + 1
        self.wait_for(r"(?=\n)", timeout_s=PATIENCE_S)
        line = parse_line(self.text[start:].partition("\n")[0])
        if line is None:
            raise LabTimeoutError(f"the line with {event!r} is not one of the appliance's")
        return line

    def press_until(self, press: Callable[[], None], event: str) -> ConsoleLine:
        """Do that, such as to press a key, again and again until it leads to the line `event`.

        For what can be pressed for seconds only, as in a countdown: to see it may take longer.
        """
        deadline = time.monotonic() + PATIENCE_S
        while True:
            press()
            try:
                return self.wait_event(event, timeout_s=1)
            except LabTimeoutError:
                if time.monotonic() > deadline:
                    raise

    def listen(self, *, timeout_s: float) -> dict[str, str]:
        """All `KEY VALUE` lines the agent says from here on, up to its `end`."""
        said: dict[str, str] = {}
        while True:
            match = self.wait_for(r"lab-agent: (\S+) ?([^\r\n]*)[\r\n]", timeout_s=timeout_s)
            if match[1] == "end":
                return said
            said[match[1]] = match[2]

    def wait_off(self, *, timeout_s: float) -> None:
        """Wait until it has switched itself off."""
        deadline = time.monotonic() + timeout_s
        while self.is_on():
            if time.monotonic() > deadline:
                raise LabTimeoutError(f"still on after {timeout_s:.0f} s")
            time.sleep(_POLL_S)

    def wait_restart(self, *, timeout_s: float) -> None:
        """Wait until it restarts. It stops there until `let_restart`, or until its power is cut.

        Needs `holds_restarts`. However late this looks, nothing has been read since.
        """
        self.qmp.wait_event("SHUTDOWN", timeout_s=timeout_s, **_RESTART)

    def let_restart(self, *, hold_next: bool = True) -> None:
        """Let it go on after `wait_restart`; with `hold_next` it stops at its next restart, too."""
        if self.setup.firmware == "bios":
            # SeaBIOS has its code copied again, and restarts for that (qemu_prep_reset()).
            self._reset(hold_next=True)
            self.wait_restart(timeout_s=PATIENCE_S)
        self._reset(hold_next=hold_next)

    def _reset(self, *, hold_next: bool) -> None:
        # QEMU would hold this reset as well.
        self.qmp.execute("set-action", reboot="reset")
        self.qmp.execute("system_reset")
        self.qmp.wait_event("RESET", timeout_s=PATIENCE_S, guest=False)
        # Linux tries to restart in several ways, the next one before QEMU has stopped.
        while self.qmp.has_told("SHUTDOWN", **_RESTART):
            self.qmp.wait_event("SHUTDOWN", timeout_s=PATIENCE_S, **_RESTART)
        if hold_next:
            self.qmp.execute("set-action", reboot="shutdown")
        self.qmp.execute("cont")

    def screenshot(self, path: Path) -> Path:
        """Save what the VGA console shows, as PNG or PPM by the file's name."""
        self.qmp.execute("screendump", filename=str(path.absolute()), format=path.suffix[1:])
        return path

    def settled_screenshot(self, path: Path, *, unlike: bytes = b"") -> bytes:
        """The same, taken when two in a row are alike; returns the file's content.

        `unlike` is what was to be seen before: it must have gone.
        """
        before = now = b""
        for _ in range(_SETTLE_TURNS):
            now = self.screenshot(path).read_bytes()
            if now == before and now != unlike:
                break
            before = now
            time.sleep(1)
        return now

    def press(self, *chords: str, pause_s: float = 0.1) -> None:
        """Press keys by QEMU's names, one after the other: "ret", "down", "ctrl-q"."""
        for chord in chords:
            keys = [{"type": "qcode", "data": key} for key in chord.split("-")]
            self.qmp.execute("send-key", keys=keys)
            time.sleep(pause_s)

    def type(self, text: str) -> None:
        """Type text as on a US keyboard."""
        for chord in keys_for(text):
            self.press("-".join(chord))

    def press_power_button(self) -> None:
        """Ask for an orderly power-off, as the button on the case does."""
        self.qmp.execute("system_powerdown")

    @property
    def qmp(self) -> Qmp:
        """QEMU's control connection."""
        if self._qmp is None:
            if self._process is None or self._process.poll() is not None:
                raise QmpError("the machine is off")
            self._qmp = Qmp(self._qmp_socket)
        return self._qmp

    @property
    def _qmp_socket(self) -> Path:
        return Path(self._folder.name) / "qmp.sock"
