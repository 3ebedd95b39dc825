# SPDX-License-Identifier: Apache-2.0
"""Record which blocks a drive is asked for in a boot of the system that is on it.

One file for any Linux with systemd and Python 3.8: copied from KALTSTART, it needs nothing beside
it and imports nothing of Kaltstart. The kernel's block events are switched on by a small unit, with
nothing but a shell, and read when start-up has finished; then the unit removes itself. Nothing is
written to the drive that its system does not write anyway, but for the unit and the list.

The appliance takes the pure functions from here for its own reference boots.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterable, NamedTuple, Sequence

LIST_VERSION = 1
MAX_READS = 200_000
MAX_READ_BYTES = 16 << 20
MERGE_BYTES = 128 << 10
"""Neighbours are joined up to the kernel's default read-ahead (`VM_READAHEAD_PAGES`)."""
EVENTS = ("block_rq_issue", "block_rq_requeue")
TRACEFS = Path("/sys/kernel/tracing")

_SECTOR = 512  # of the events, whatever the drive's block is (include/trace/events/block.h)
_HEAD = "# kaltstart-reads"

# TP_printk of block_rq, which block_rq_issue is, and of block_rq_requeue in
# include/trace/events/block.h: device, rwbs, bytes, command, sector, sectors. Linux 6.11 and newer
# put the I/O priority behind them.
_EVENT = re.compile(
    r"\bblock_rq_(issue|requeue): (\d+),(\d+) (\S+) (?:\d+ )?\([^)]*\) (\d+) \+ (\d+) "
)
_LOST = re.compile(r"^(?:overrun|dropped events): (\d+)$", re.MULTILINE)

_BLOCKS = Path("/sys/class/block")
UNIT = "kaltstart-record-boot.service"
_UNITS = Path("/etc/systemd/system")
_PROGRAM = Path("/etc/kaltstart-record-boot.py")
_INSTANCE = TRACEFS / "instances/kaltstart"
_BY_COMMAND_LINE = TRACEFS / "events/block/block_rq_issue/enable"
_DEFAULT_LIST = "/var/tmp/kaltstart-boot.csv"  # noqa: S108 - its name is root's to choose
_BUFFER_BYTES = 128 << 20
_MOST_MORE_S = 600
_MIN_SYSTEMD = 240  # `is-system-running --wait`


class RecordError(Exception):
    """Why nothing can be recorded, and what to do."""


class Read(NamedTuple):
    """One read, by its place on the whole drive."""

    offset_bytes: int
    length_bytes: int


def parse_events(text: str, *, device: str) -> tuple[Read, ...]:
    """The reads that were given to `device` (major:minor), in their order. Pure.

    `text` is tracefs's `trace`. Sectors are the whole drive's: a request has left its partition
    behind. One that the drive sent back is given to it again, and counts once.
    """
    reads: list[Read] = []
    for line in text.splitlines():
        match = _EVENT.search(line)
        if not match or f"{match[2]}:{match[3]}" != device or not match[4].startswith("R"):
            continue
        read = Read(int(match[5]) * _SECTOR, int(match[6]) * _SECTOR)
        if match[1] == "issue":
            reads += [read] if read.length_bytes else []
        elif read in reads[-64:]:  # no queue of a drive that sends back is longer
            del reads[len(reads) - 1 - reads[::-1].index(read)]
    return tuple(reads)


def merge_reads(reads: Iterable[Read]) -> tuple[Read, ...]:
    """Reads that follow each other without a gap as one, in the same order. Pure."""
    merged: list[Read] = []
    for read in reads:
        last = merged[-1] if merged else Read(0, 0)
        joined = last.length_bytes + read.length_bytes
        if last.offset_bytes + last.length_bytes == read.offset_bytes and joined <= MERGE_BYTES:
            merged[-1:] = [Read(last.offset_bytes, joined)]
        else:
            merged.append(read)
    return tuple(merged)


def count_lost(stats: Iterable[str]) -> int:
    """How many events found no room, by the `stats` of each processor's buffer. Pure."""
    return sum(int(count) for text in stats for count in _LOST.findall(text))


def format_list(reads: Sequence[Read], *, about: str) -> str:
    """A list as `trace = FILE` replays it; `about` is for people. Pure. Raises RecordError.

    Its head has the version, and how many reads and bytes follow: a list that was cut off shows.
    """
    if not reads:
        raise RecordError("the boot has read nothing from the drive")
    if len(reads) > MAX_READS:
        raise RecordError(f"the boot has {len(reads)} reads; a list has at most {MAX_READS}")
    if (most := max(read.length_bytes for read in reads)) > MAX_READ_BYTES:
        raise RecordError(f"a read has {most} bytes; a list's have at most {MAX_READ_BYTES}")
    size_bytes = sum(read.length_bytes for read in reads)
    note = " ".join(about.split())
    head = f"{_HEAD} version={LIST_VERSION} reads={len(reads)} bytes={size_bytes}\n# {note}\n"
    return head + "".join(f"{read.offset_bytes},{read.length_bytes}\n" for read in reads)


def check_head(line: str, reads: int, size_bytes: int) -> str:
    """What is wrong with a list that begins with `line` and has these reads; or empty. Pure.

    A list that was not recorded has no such head, and nothing to be compared with.
    """
    if not line.startswith(_HEAD):
        return ""
    fields = dict(word.partition("=")[::2] for word in line[len(_HEAD) :].split())
    if fields.get("version") != str(LIST_VERSION):
        return f"is of another version; this program knows version {LIST_VERSION}"
    counts = (str(reads), str(size_bytes))
    if (fields.get("reads"), fields.get("bytes")) != counts:
        return f"does not fit the reads that follow: they are {reads} with {size_bytes} bytes"
    return ""


def read_trace(folder: Path) -> tuple[str, int]:
    """The recorded events below `folder`, and how many were lost. Raises OSError."""
    stats = [path.read_text() for path in sorted(folder.glob("per_cpu/cpu*/stats"))]
    return (folder / "trace").read_text(errors="replace"), count_lost(stats)


# On the machine whose boot is recorded ------------------------------------------------------------


def find_disk(named: str) -> str:
    """The kernel's name of the drive that a person named. Raises RecordError."""
    try:
        path = Path(named).resolve(strict=True)
    except OSError as error:
        raise RecordError(f"{named}: {error.strerror}; name a drive such as /dev/sda") from error
    block = _BLOCKS / path.name
    if not path.is_block_device() or not block.exists():
        raise RecordError(f"{named} is no drive; name one such as /dev/sda")
    if (block / "partition").exists():
        whole = block.resolve().parent.name
        raise RecordError(f"{named} is a partition of /dev/{whole}; name the whole drive")
    if not (block / "device").exists():
        parts = " ".join(f"/dev/{part.name}" for part in sorted(block.glob("slaves/*")))
        hint = f"; name what it is made of: {parts}" if parts else ""
        raise RecordError(f"{named} is no drive of its own{hint}")
    return path.name


def _find_lasting_name(disk: str) -> str:
    """A name that is the same after the restart: kernel names may be given in another order."""
    by_id = Path("/dev/disk/by-id")
    links = sorted(by_id.iterdir()) if by_id.is_dir() else []
    return next((str(link) for link in links if link.resolve().name == disk), f"/dev/{disk}")


def format_unit(*, disk: str, target: str, more_s: int, processors: int) -> str:
    """The unit that records the next boot. Pure.

    Only the shell runs before start-up has finished: Python's own files are not to be in the list.
    """
    buffer_kb = max(1024, _BUFFER_BYTES // 1024 // processors)
    begin = "; ".join(
        (
            f"[ -d {TRACEFS}/events ] || mount -t tracefs nodev {TRACEFS}",
            f"mkdir -p {_INSTANCE}",
            f"cd {_INSTANCE}",
            "echo 0 > tracing_on",
            f"echo {buffer_kb} > buffer_size_kb",
            "echo global > trace_clock",
            *(
                f"echo 'rwbs ~ \"R*\"' > events/block/{event}/filter; "
                f"echo 1 > events/block/{event}/enable"
                for event in EVENTS
            ),
            "echo 1 > tracing_on",
        )
    )
    program = f"{_quote(sys.executable or 'python3')} {_PROGRAM}"
    end = "; ".join(
        (
            "timeout 1800 systemctl is-system-running --wait > /dev/null",
            f"sleep {more_s}",
            f"echo 0 > {_INSTANCE}/tracing_on",
            # By the kernel's command line, from the kernel's first moment on.
            f"if [ $(cat {_BY_COMMAND_LINE}) = 1 ]; then echo 0 > {TRACEFS}/tracing_on; fi",
            f"exec {program} --collect --of {_quote(disk)} --to {_quote(target)}",
        )
    )
    # This Python may be gone by then: an environment in a home, or an upgrade before the restart.
    remove = f"systemctl disable {UNIT}; rm -f {_UNITS / UNIT} {_PROGRAM}"
    cancel = f"[ ! -e {_PROGRAM} ] || {program} --cancel || {{ {remove}; }}"
    return f"""\
[Unit]
Description=Kaltstart: record what this boot reads
DefaultDependencies=no
Before=sysinit.target shutdown.target
Conflicts=shutdown.target
[Service]
ExecStartPre=/bin/sh -e -c {_escape(begin)}
ExecStart=/bin/sh -c {_escape(end)}
# Also where it could not begin, or the machine went off before its end: it is done once.
ExecStopPost=/bin/sh -c {_escape(cancel)}
[Install]
WantedBy=sysinit.target
"""


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _escape(script: str) -> str:
    """A script as one word of ExecStart=, in which systemd replaces nothing."""
    for special, plain in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        script = script.replace(special, plain)
    return f'"{script}"'


def _install(named: str, target: str, more_s: int) -> None:
    disk = find_disk(named)
    _check_machine()
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    _PROGRAM.write_text(Path(__file__).read_text())
    unit = format_unit(
        disk=_find_lasting_name(disk),
        target=os.path.abspath(target),  # noqa: PTH100 - a link's own name is meant
        more_s=more_s,
        processors=os.cpu_count() or 1,
    )
    (_UNITS / UNIT).write_text(unit)
    _run("systemctl", "daemon-reload")
    _run("systemctl", "enable", UNIT)
    print(f"The next boot's reads from /dev/{disk} will be in {target}. Restart this machine now.")
    print("This is done once. To change your mind: the same program with --cancel.")


def _check_machine() -> None:
    if os.geteuid():
        raise RecordError("this needs root: run it with sudo")
    if not Path("/run/systemd/system").is_dir():
        raise RecordError("this machine does not run systemd; see the manual for blktrace")
    version = re.search(r"\d+", _run("systemctl", "--version"))
    if version is None or int(version[0]) < _MIN_SYSTEMD:
        raise RecordError(f"systemd is older than {_MIN_SYSTEMD}; see the manual for blktrace")
    if not (TRACEFS / "events").is_dir():
        try:
            _run("mount", "-t", "tracefs", "nodev", str(TRACEFS))
        except RecordError as error:
            raise RecordError(f"this kernel shows no events (tracefs): {error}") from error
    for event in EVENTS:
        if not (TRACEFS / "events/block" / event).is_dir():
            raise RecordError(f"this kernel lacks the event {event} (CONFIG_BLK_DEV_IO_TRACE)")


def _collect(named: str, target: str) -> None:
    """Write what was recorded, and leave nothing else behind."""
    try:
        disk = find_disk(named)
        block = _BLOCKS / disk
        is_whole = _BY_COMMAND_LINE.read_text().strip() == "1"
        text, lost = read_trace(TRACEFS if is_whole else _INSTANCE)
        if lost:
            raise RecordError(f"{lost} events found no room: the list would have gaps")
        reads = merge_reads(parse_events(text, device=(block / "dev").read_text().strip()))
        size_bytes = int((block / "size").read_text()) * _SECTOR
        at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: UP017  # Python 3.8 has no datetime.UTC
        since = "the kernel's start" if is_whole else "the unit's start"
        about = f"{named}, {size_bytes} bytes, Linux {os.uname().release}, {at}, since {since}"
        fresh = Path(f"{target}.new")
        # Never through a link: /var/tmp is everybody's.
        fresh.unlink(missing_ok=True)
        with fresh.open("x") as out:
            out.write(format_list(reads, about=about))
        fresh.replace(target)
        print(f"{target}: {len(reads)} reads", flush=True)
    finally:
        _remove()


def _remove() -> None:
    if (_UNITS / UNIT).exists():
        _run("systemctl", "disable", UNIT)
        (_UNITS / UNIT).unlink()
    if _PROGRAM.exists():
        _PROGRAM.unlink()
    if _INSTANCE.is_dir():
        for event in EVENTS:
            (_INSTANCE / "events/block" / event / "enable").write_text("0")
        _INSTANCE.rmdir()


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise RecordError(f"{command[0]} is not on this machine") from error
    except subprocess.CalledProcessError as error:
        raise RecordError(f"{' '.join(command)}: {error.stderr.strip()}") from error
    return done.stdout


def _parse_seconds(text: str) -> int:
    if not (text.isdigit() and int(text) <= _MOST_MORE_S):
        raise argparse.ArgumentTypeError(f"must be 0 to {_MOST_MORE_S} seconds, not {text}")
    return int(text)


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="record-boot.py",
        description="Record what the next boot of this machine reads from a drive, for Kaltstart's"
        ' [boot] mode = "replay", trace = FILE. Exit codes: 0 done, 1 it cannot be recorded.',
    )
    parser.add_argument("--of", metavar="DRIVE", help="the drive it starts from: /dev/sda")
    parser.add_argument(
        "--to", metavar="FILE", default=_DEFAULT_LIST, help=f"the list; default {_DEFAULT_LIST}"
    )
    parser.add_argument(
        "--more",
        metavar="SECONDS",
        type=_parse_seconds,
        default=0,
        help="record so long after start-up has finished, for a desktop: 0 to 600",
    )
    parser.add_argument("--cancel", action="store_true", help="remove the unit; record nothing")
    parser.add_argument("--collect", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.of and not options.cancel:
        parser.error("name the drive with --of")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Install the unit; or, started by the unit, write the list."""
    options = _parse_arguments(arguments)
    try:
        if options.cancel:
            _remove()
        elif options.collect:
            _collect(options.of, options.to)
        else:
            _install(options.of, options.to, options.more)
    except (RecordError, OSError) as error:
        print(f"record-boot.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
