# SPDX-License-Identifier: Apache-2.0
"""Progress and result of a drive's own self-test, from smartctl's JSON. Pure.

Shapes: smartmontools 7.4, ataprint.cpp, nvmeprint.cpp, scsiprint.cpp.
"""

from dataclasses import dataclass
from typing import Any

from appliance.drives.facts.health import find_complaint, parse_answer, part, rows, said
from appliance.errors import Blame
from appliance.phrases import N_

SMARTCTL = ["smartctl", "--json=c", "--capabilities", "--log=selftest"]
"""`name_device` belongs behind it. Reads only."""

NOT_THE_DRIVES = (
    "the drive has no self-test",
    "the drive is already running a self-test",
    "the self-test did not begin",
    "no sign that the self-test ran",
    "the self-test was ended early",
)
"""How a step begins to say why there is no result although nothing is wrong with the drive."""
# Behind a bridge that lets no question through it is unknown whether there is a self-test.
_UNASKABLE = ("Unknown USB bridge", "smartctl does not know what kind of drive")

_BAD_ANSWER = 0b111  # bad command line, open failed, a SMART command failed: smartctl(8)
_SECONDS_PER_MINUTE = 60
# At most: NVM Express base specification, "Short Device Self-Test"; SPC-4, "Short self-test".
_SHORT_S = 120.0
# Of the log that SCSI and NVMe drives keep: SPC-4 and the NVM Express base specification.
_LOG_ENTRIES = 20

type Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the drive's log."""

    kind: str
    passed: bool | None
    """None: it did not come to an end."""
    status: str
    """As smartctl puts it."""
    hours: int | None
    """The drive's power-on hours at its end."""
    lba: int | None = None
    """Where it failed first."""


@dataclass(frozen=True, slots=True)
class SelftestState:
    """What a drive says of its self-tests."""

    supported: bool | None
    """None: it shows when one is started."""
    running: bool = False
    percent: int | None = None
    """How much of the running one is done; None where the drive does not say."""
    entries: tuple[Entry, ...] = ()
    """Newest first."""
    last: Entry | None = None
    """How the last one ended, if the drive reports it beside its log, or its log is full."""
    estimate_s: tuple[float | None, float | None] = (None, None)
    """How long the short and the long one take, as the drive says."""
    reason: str = ""
    """Why the drive could not be asked."""


def name_device(path: str) -> list[str]:
    """The arguments that name the device to smartctl for a self-test: the whole drive.

    Asked for the log of one namespace, some NVMe drives see an invalid field; smartctl 7.5 asks for
    the whole drive's on its own (https://github.com/smartmontools/smartmontools/issues/217).
    """
    return ["--device=nvme,0xffffffff", path] if path.startswith("/dev/nvme") else [path]


def parse_selftest(text: str) -> SelftestState:
    """The state in the output of `SMARTCTL`."""
    data = parse_answer(text)
    complaint = find_complaint(data)
    if complaint:
        return SelftestState(None, reason=complaint)
    protocol = str(part(data, "device").get("protocol"))
    readers = {"ATA": _ata, "NVMe": _nvme, "SCSI": _scsi}
    if protocol not in readers:
        return SelftestState(None, reason="smartctl does not know what kind of drive it is")
    return readers[protocol](data)


def find_blame(reason: str) -> Blame:
    """Whose fault it is that a step of a self-test failed with `reason`."""
    is_excused = reason.startswith(NOT_THE_DRIVES) or any(text in reason for text in _UNASKABLE)
    return "none" if is_excused else "drive"


def find_refusal(text: str) -> str:
    """Why the drive did not begin its self-test, as `smartctl --test` said; empty if it did."""
    data = parse_answer(text)
    status = part(data, "smartctl").get("exit_status")
    if isinstance(status, int) and not status & _BAD_ANSWER:
        return ""
    return find_complaint(data) or said(data) or N_("the drive refused to test itself")


def _ata(data: Json) -> SelftestState:
    about = part(data, "ata_smart_data", "self_test")
    status = part(about, "status")
    value = status.get("value")
    # ATA/ATAPI command set, self-test execution status: 15 in the upper half while it runs.
    running = isinstance(value, int) and value >> 4 == 0xF
    remaining = status.get("remaining_percent")
    log = part(data, "ata_smart_self_test_log", "standard") or part(
        data, "ata_smart_self_test_log", "extended"
    )
    minutes = part(about, "polling_minutes")
    return SelftestState(
        supported=part(data, "ata_smart_data", "capabilities").get("self_tests_supported") is True,
        running=running,
        percent=100 - remaining if running and isinstance(remaining, int) else None,
        entries=tuple(_ata_entry(row) for row in rows(log, "table")),
        last=None if running or not status else _ata_entry({"status": status}),
        estimate_s=(_minutes(minutes.get("short")), _minutes(minutes.get("extended"))),
    )


def _minutes(value: object) -> float | None:
    return value * _SECONDS_PER_MINUTE if isinstance(value, int) and value else None


def _ata_entry(row: Json) -> Entry:
    status = part(row, "status")
    value = status.get("value")
    # 0 without error, 1 and 2 ended by the host, 3 to 8 some error.
    ended = value >> 4 if isinstance(value, int) else 1
    return Entry(
        kind=str(part(row, "type").get("string", "")),
        passed=None if ended in {1, 2, 0xF} else ended == 0,
        status=str(status.get("string", "")),
        hours=_whole(row.get("lifetime_hours")),
        lba=_whole(row.get("lba")),
    )


def _nvme(data: Json) -> SelftestState:
    log = part(data, "nvme_self_test_log")
    if not log:
        return SelftestState(supported=False)  # smartctl asks for it only where there is one
    running = bool(part(log, "current_self_test_operation").get("value"))
    entries = tuple(
        Entry(
            kind=str(part(row, "self_test_code").get("string", "")),
            # 5 to 7: an error; everything else ended it early.
            passed=_verdict(part(row, "self_test_result").get("value"), {5, 6, 7}),
            status=str(part(row, "self_test_result").get("string", "")),
            hours=_whole(row.get("power_on_hours")),
            lba=_whole(row.get("lba")),
        )
        for row in rows(log, "table")
    )
    return SelftestState(
        supported=True,
        running=running,
        percent=_whole(log.get("current_self_test_completion_percent")) if running else None,
        entries=entries,
        last=None if running else _newest_of_full(entries),
        estimate_s=(_SHORT_S, None),
    )


def _scsi(data: Json) -> SelftestState:
    table = [part(data, f"scsi_self_test_{number}") for number in range(_LOG_ENTRIES)]
    running = any(row.get("self_test_in_progress") is True for row in table)
    running |= part(data, "scsi_self_test_status").get("in_progress") is True
    seconds = data.get("scsi_extended_self_test_seconds")
    entries = tuple(
        Entry(
            kind=str(part(row, "code").get("string", "")),
            passed=_verdict(part(row, "result").get("value"), {3, 4, 5, 6, 7}),
            status=str(part(row, "result").get("string", "")),
            hours=_whole(part(row, "power_on_time").get("hours")),
            lba=_whole(part(row, "lba_first_failure").get("value")),
        )
        for row in table
        if row and row.get("self_test_in_progress") is not True
    )
    return SelftestState(
        supported=None,
        running=running,
        percent=_whole(part(data, "scsi_self_test_status").get("completion_percent")),
        entries=entries,
        last=None if running else _newest_of_full(entries),
        estimate_s=(_SHORT_S, float(seconds) if isinstance(seconds, int) and seconds else None),
    )


def _newest_of_full(entries: tuple[Entry, ...]) -> Entry | None:
    """What a log has that one more test need not change: 65535 hours are the most SCSI can say."""
    return entries[0] if len(entries) == _LOG_ENTRIES else None


def _verdict(value: object, failures: set[int]) -> bool | None:
    if value == 0:
        return True
    return False if value in failures else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
