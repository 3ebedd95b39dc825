# SPDX-License-Identifier: Apache-2.0
"""An engine made of files: real JSON and a real database in a folder, and answers on demand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance.campaign.status import write_json
from appliance.drives.model import Drive
from appliance.drives.safety import explain_no_capacity
from appliance.event_texts import tell
from appliance.machine.keyboard import LAYOUTS
from appliance.machine.language import LANGUAGES
from appliance.phrases import N_, Phrase
from appliance.samples.model import Result, Ticket
from appliance.store.connect import open_database
from appliance.store.tables.events import insert_phrases
from appliance.store.tables.requests import Request, select_recent_requests, update_request
from appliance.store.tables.steps import (
    ArrayCondition,
    insert_results,
    insert_tickets,
    select_steps,
)
from appliance.store.tables.verdicts import Depth, LimitRow, Verdict, insert_verdict
from tests.tui.drive_answers import DriveAnswers
from tui.port import Port

_STATUS: dict[str, Any] = {
    "phase": "idle",
    "message": "Ready",
    "campaign_id": None,
    "countdown": None,
    "progress": None,
    "step": None,
    "next": "",
    "error": None,
    "plan": {
        "state": "absent",
        "name": "",
        "problems": [],
        "autostart": False,
        "summary": "",
        "toml": "",
    },
    "kaltstart_version": "0.1.0",
    "firmware": "uefi",
    "can_wake": True,
}

MACHINE: dict[str, Any] = {
    "at": "2026-11-22 06:24",
    "vendor": "LENOVO",
    "model": "20L5CTO1WW",
    "serial": "PF-1A2B3C",
    "firmware": "uefi",
    "firmware_version": "N24ET61W (1.36 ) 10/13/2020",
    "secure_boot": "off",
    "processor": "Intel(R) Core(TM) i5-8350U CPU @ 1.70GHz",
    "processors": 8,
    "ram_bytes": 16_650_117_120,
    "clock_ahead_s": 0,
    "can_wake": True,
    "alarm_in_s": None,
    "wake": None,
    "stick_model": "SanDisk Ultra",
    "stick_serial": "4C530001231120117142",
    "stick_read_only": False,
    "stick_errors": 0,
    "data_errors": 0,
    "data": {"free_bytes": 13_100_000_000, "total_bytes": 14_200_000_000},
    "fat": {"free_bytes": 118_000_000, "total_bytes": 134_000_000},
    "keyboard": "us",
    "language": "en",
    "languages": LANGUAGES,
    "layouts": {name: layout.title for name, layout in LAYOUTS.items()},
    "versions": {
        "Linux": "6.12.57+deb13-amd64",
        "Kaltstart": "0.1.0",
        "database schema": "5",
        "bcache-tools": "1.0.8-5+b2",
        "fio": "3.39-1",
        "smartmontools": "7.4-3",
        "systemd": "257.13-1~deb13u1",
    },
    "images": [],
}


class FakeEngine:
    """The engine's side of the two folders."""

    def __init__(self, folder: Path) -> None:
        self.run = folder / "run"
        self.data = folder / "data"
        self.block = folder / "block"
        self.clock_s = 1000.0
        self.language = "en"
        self.manual: Path | None = None
        """None: the one that is shipped."""
        (self.run / "tui").mkdir(parents=True)
        self.data.mkdir()
        self.connection = open_database(self.data / "kaltstart.sqlite")

    def port(self) -> Port:
        """The interface's side."""
        return Port(
            run=self.run,
            data=self.data,
            block=self.block,
            terminal="tty1",
            manual=self.manual,
            clock=lambda: self.clock_s,
        )

    def count(
        self, device: str, *, read_bytes: int, read_ios: int, wait_ms: int = 0, busy_ms: int = 0
    ) -> None:
        """The kernel's counters of one drive."""
        folder = self.block / device
        folder.mkdir(parents=True, exist_ok=True)
        stat = [read_ios, 0, read_bytes // 512, wait_ms, *[0] * 5, busy_ms, *[0] * 7]
        (folder / "stat").write_text(" ".join(map(str, stat)))

    def say(self, **status: object) -> None:
        """Write status.json."""
        self._write("status.json", _STATUS | status)

    def count_down(self, purpose: str = "autostart", remaining_s: int = 10) -> None:
        """A countdown as the engine shows it."""
        then = Phrase(N_("start campaign {name}"), name="incoming")
        self.say(
            phase="countdown",
            message=then,
            next=then,
            countdown={"purpose": purpose, "remaining_s": remaining_s},
        )

    def show_drives(
        self,
        *drives: Drive,
        arrays: Mapping[Drive, dict[str, object]] | None = None,
        asked: Mapping[Drive, DriveAnswers] | None = None,
        looking: bool | None = None,
        unlisted: Sequence[Mapping[str, object]] = (),
    ) -> None:
        """Write drives.json: the stick and what is mounted are not offered.

        A drive that is not in `asked` is without the keys about that, as an older engine wrote it;
        so is the list where `looking` is not given.
        """
        rows = []
        for drive in drives:
            offered = not drive.mountpoints and drive.size_bytes > 0
            reason = "" if offered else "this is the Kaltstart stick itself"
            if not drive.size_bytes:
                reason = explain_no_capacity(drive)
            array = (arrays or {}).get(drive)
            row = asdict(drive) | {"offered": offered, "reason": reason, "array": array}
            rows.append(row | (asked[drive].to_keys() if asked and drive in asked else {}))
        more = {} if looking is None else {"looking": looking}
        self._write("drives.json", {"drives": rows, "unlisted": [*unlisted], **more})

    def show_machine(self, **more: object) -> None:
        """Write machine.json."""
        self._write("machine.json", MACHINE | {"language": self.language} | more)

    def requests(self) -> list[Request]:
        """Everything that was asked for, in order."""
        return list(reversed(select_recent_requests(self.connection, limit=100)))

    def answer(self, state: str, answer: str) -> None:
        """Answer what is open."""
        for request in self.requests():
            if request.state == "new":
                update_request(self.connection, request.id, state, answer, 0)

    def add_campaign(
        self,
        name: str,
        *,
        state: str = "running",
        reason: str = "",
        cycles: int = 3,
        boots: dict[Drive, list[float | None]],
        roles: Mapping[Drive, str] | None = None,
    ) -> int:
        """A campaign with `cycles` planned boots per drive; a time of None is a failed boot."""
        campaign_id = self._insert(
            "campaign",
            name=name,
            plan_toml="",
            plan_sha256="",
            state=state,
            reason=reason,
            on_finish="tui",
            max_power_actions=99,
            max_attempts=3,
            created_at="2026-11-21T03:20:00.123Z",
            finished_at="2026-11-21T05:00:00.000Z" if state == "done" else None,
        )
        for slot, (drive, times) in enumerate(boots.items()):
            drive_id = self._insert_drive(drive)
            self._insert(
                "campaign_drive",
                campaign_id=campaign_id,
                drive_id=drive_id,
                role=(roles or {}).get(drive, "target"),
                released=1,
                slot=slot,
            )
            # The boots of an array belong to its backing drive.
            own_cycles = 0 if (roles or {}).get(drive) == "cache" else cycles
            for cycle in range(1, own_cycles + 1):
                self._insert_cycle(campaign_id, drive_id, slot, cycle, times[cycle - 1 : cycle])
        return campaign_id

    def plan_campaign(self, campaign_id: int, toml: str, *, installed: bool = False) -> None:
        """What it was started with; `installed`: the reference OS is on all its drives."""
        self.connection.execute(
            "UPDATE campaign SET plan_toml = ? WHERE id = ?", (toml, campaign_id)
        )
        if installed:
            self.connection.execute(
                "UPDATE campaign_drive SET installed_at = '2026-11-21T03:25:00.000Z'"
                " WHERE campaign_id = ?",
                (campaign_id,),
            )

    def add_step(
        self,
        campaign_id: int,
        kind: str,
        drive: Drive | None,
        *,
        state: str = "done",
        reason: str = "",
        results: tuple[Result, ...] = (),
        tickets: tuple[Ticket, ...] = (),
        workload_index: int = 0,
        array: ArrayCondition | None = None,
    ) -> int:
        """The next step of a campaign, and what it measured; without a drive on the array."""
        position = len(select_steps(self.connection, campaign_id))
        device = drive.identity if drive else "array"
        step_id = self._insert(
            "step",
            campaign_id=campaign_id,
            position=position,
            kind=kind,
            drive_id=self._insert_drive(drive) if drive else None,
            device=device,
            state=state,
            reason=reason,
            workload_index=workload_index,
        )
        insert_results(self.connection, step_id, device, results, array=array)
        insert_tickets(self.connection, step_id, tickets)
        return step_id

    def time_step(self, campaign_id: int, step_id: int, device: str, *, seconds: float) -> None:
        """How long a step was at work, in a campaign that has a plan."""
        self.connection.execute(
            "UPDATE campaign SET plan_toml = ? WHERE id = ?",
            ("[[workload]]\nkind = 'lottery'\n", campaign_id),
        )
        self.connection.execute(
            "INSERT INTO activity_sample VALUES (?, ?, ?, 0, 0, 0, 0, 0, NULL)",
            (step_id, device, seconds),
        )

    def add_power_off(self, step_id: int, drive: Drive, *, cold_proof: str) -> None:
        """The power was off in the middle of a step."""
        self._insert(
            "power_off",
            step_id=step_id,
            drive_id=self._insert_drive(drive),
            part="read-cold",
            manner="abrupt",
            boot_id="b",
            left_at="2026-11-21T03:40:00.000Z",
            cold_proof=cold_proof,
        )

    def judge(
        self,
        campaign_id: int,
        drive: Drive,
        verdict: Verdict,
        reasons: str,
        *,
        depth: Depth = "surface read",
        read_percent: float = 100.0,
        limits: Sequence[LimitRow] = (),
    ) -> None:
        """A verdict, and the limits behind it."""
        insert_verdict(
            self.connection,
            campaign_id=campaign_id,
            drive_id=self._insert_drive(drive),
            drive_class="",
            verdict=verdict,
            reasons=reasons,
            depth=depth,
            read_percent=read_percent,
            limits=limits,
        )

    def add_event(
        self, event: str, detail: str = "", *, level: str = "info", **fields: object
    ) -> None:
        """One line of the log, by its fields; by its `detail` alone as of an earlier version."""
        self._insert(
            "event",
            campaign_id=None,
            at="2026-11-21T03:20:07.000Z",
            monotonic_s=1.0,
            boot_id="b",
            level=level,
            event=event,
            detail=tell(event, fields) if fields else detail,
            fields=json.dumps(fields) if fields else None,
        )
        insert_phrases(self.connection, None, fields)

    def _insert_drive(self, drive: Drive) -> int:
        found = self.connection.execute(
            "SELECT id FROM drive WHERE serial = ? AND wwn = ?", (drive.serial, drive.wwn)
        ).fetchone()
        if found is not None:
            return int(found[0])
        return self._insert(
            "drive",
            serial=drive.serial,
            wwn=drive.wwn,
            model=drive.model,
            firmware=drive.firmware,
            size_bytes=drive.size_bytes,
            rotational=int(drive.rotational),
            transport=drive.transport,
            logical_block_bytes=512,
            physical_block_bytes=512,
            first_seen="2026-11-21T03:20:00.000Z",
            last_seen="2026-11-21T03:20:00.000Z",
        )

    def _insert_cycle(
        self, campaign_id: int, drive_id: int, slot: int, cycle: int, time: list[float | None]
    ) -> None:
        state = "planned" if not time else "failed" if time[0] is None else "done"
        cycle_id = self._insert(
            "cycle",
            campaign_id=campaign_id,
            drive_id=drive_id,
            position=cycle * 100 + slot,
            cycle=cycle,
            charted=0,
            power="cold",
            state=state,
            reason="did not come back within 3 attempts" if state == "failed" else "",
        )
        if state == "done":
            self._insert(
                "boot_sample",
                cycle_id=cycle_id,
                boot_id="b",
                at="2026-11-21T03:30:00.000Z",
                boot_s=time[0],
                kernel_s=1.0,
                initrd_s=2.0,
                userspace_s=3.0,
                session_s=4.0,
                read_bytes=1 << 28,
                read_ios=9000,
                cold_proof="proven" if cycle > 1 else "unproven",
                cold_reason="" if cycle > 1 else "no counter before",
                page_cache="cold",
                valid=1,
            )

    def _insert(self, table: str, **values: object) -> int:
        cursor = self.connection.execute(
            f"INSERT INTO {table} ({', '.join(values)})"  # noqa: S608  # names are from above
            f" VALUES ({', '.join('?' * len(values))})",
            tuple(values.values()),
        )
        return cursor.lastrowid or 0

    def _write(self, name: str, content: Mapping[str, object]) -> None:
        write_json(self.run / name, content)
