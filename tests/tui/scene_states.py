# SPDX-License-Identifier: Apache-2.0
"""What an engine is at in the scenes: each function brings one there."""

from dataclasses import replace

import pytest

from appliance.campaign.drives.leftover_arrays import _FOREIGN, _OURS
from appliance.drives.model import Drive
from appliance.errors import PlanError
from appliance.phrases import N_, Phrase
from appliance.plan.read import parse_plan
from appliance.store.tables.pause_and_skip import update_pause_asked
from tests.tui.drive_answers import (
    ANSWERED,
    ASKING,
    DISK_DETAILS,
    DISK_HEALTH,
    SILENT,
    DriveAnswers,
)
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, NO_SERIAL, SSHD, STICK, VALID_PLAN
from tests.tui.measured import add_array_steps, add_field_test, add_steps


def idle(engine: FakeEngine) -> None:
    engine.say()


def show_hostile(engine: FakeEngine) -> None:
    engine.show_drives(EVIL)


def show_asked(engine: FakeEngine) -> None:
    asked = {HDD: ANSWERED, SSHD: SILENT, NO_SERIAL: ASKING, STICK: ASKING}
    engine.show_drives(HDD, SSHD, NO_SERIAL, STICK, asked=asked, looking=True)


def show_known(engine: FakeEngine) -> None:
    """An empty drive, one with a history, and one that Linux cannot use."""
    bare = replace(SSHD, path="/dev/sdd", serial="Z1Z0ABCD", model="HUS724040ALS640", size_bytes=0)
    empty = replace(DISK_DETAILS, partition_table="", file_systems=(), findings=())
    sectors = Phrase(_SECTORS, count=520)
    asked = {
        HDD: ANSWERED,
        NO_SERIAL: DriveAnswers(details=empty, health=replace(DISK_HEALTH, temperature_celsius=57)),
        bare: DriveAnswers(details=replace(empty, findings=(sectors,))),
    }
    engine.show_drives(HDD, SSHD, NO_SERIAL, STICK, bare, asked=asked, looking=False)
    boots: dict[Drive, list[float | None]] = {HDD: [31.2, 30.9, 30.1], SSHD: [21.0, 14.2, 14.0]}
    engine.add_campaign("incoming, rack 4", state="done", boots=boots)
    judged = engine.add_campaign("acceptance", state="done", cycles=0, boots={HDD: []})
    engine.add_step(judged, "surface", HDD)
    engine.judge(judged, HDD, "accept with remarks", "8 sectors are pending")


_SECTORS = (
    "its sectors hold {count} bytes, as in disk arrays: before it can be tested it has to be "
    "formatted to 512 or 4096 on another machine (sg_format --format --size=512), which erases it"
)


def show_field_test(engine: FakeEngine) -> None:
    add_field_test(engine)


def show_valid_plan(engine: FakeEngine) -> None:
    engine.say(plan=VALID_PLAN)


def show_bad_plan(engine: FakeEngine) -> None:
    text = (
        'version = 1\n[campaign]\nnmae = "x"\n[[drive]]\nserial = "A"\nerase = "A"\n\n[boot]\n'
        'cycles = "many…"\n'
    )
    with pytest.raises(PlanError) as caught:
        parse_plan(text)
    engine.say(
        plan=VALID_PLAN
        | {
            "state": "invalid",
            "summary": "",
            "problems": [*map(str, caught.value.problems)],
        }
    )


def run_campaign(engine: FakeEngine) -> None:
    engine.add_campaign("older", state="done", cycles=1, boots={SSHD: [46.0]})
    campaign_id = engine.add_campaign(
        "incoming, rack 4",
        boots={HDD: [106.2, 106.1, None], SSHD: [46.12, 28.2], NO_SERIAL: [24.1, 24.3]},
    )
    for cycle in range(1, 8):
        engine.add_event("cycle-done", drive="W761CPRN", cycle=cycle, seconds="28.200")
    engine.add_event(
        "cycle-failed", level="error", drive="WD-WX41A47H2291", cycle=3, what="it hung"
    )
    engine.say(
        phase="running",
        message="Campaign",
        campaign_id=campaign_id,
        next="power off, wake at 03:31:00, boot 3 of W761CPRN",
    )


def count_down(engine: FakeEngine) -> None:
    run_campaign(engine)
    engine.count_down("power-off", 7)


def prepare_drives(engine: FakeEngine) -> None:
    run_campaign(engine)
    engine.say(
        phase="preparing",
        message=Phrase(N_("Writing {what}"), what="WD-WX41A47H2291"),
        campaign_id=2,
        progress={"label": "WD-WX41A47H2291", "done_bytes": 1_200_000_000, "total_bytes": 2 << 30},
        next="cycle 1 after all drives are written",
    )


def _step(
    position: int,
    of: int,
    kind: str,
    device: str,
    *,
    part: str = "",
    number: int = 0,
    parts: int = 0,
) -> dict[str, object]:
    """Where a campaign is; without a part the step is being prepared."""
    return {
        "position": position,
        "of": of,
        # The first campaign's: its rows are numbered as they are placed.
        "step_id": position,
        "kind": kind,
        "device": device,
        "part": part,
        "part_number": number,
        "parts": parts,
    }


def run_step(engine: FakeEngine) -> None:
    campaign_id = add_steps(engine)
    engine.time_step(campaign_id, 1, HDD.serial, seconds=1500.0)
    engine.add_event("step-start", kind="lottery", device="W761CPRN", attempt=1)
    engine.say(
        phase="running",
        message=Phrase(
            N_("{kind} on {device}: {what}"), kind="lottery", device="W761CPRN", what="direct"
        ),
        campaign_id=campaign_id,
        step=_step(6, 7, "lottery", "W761CPRN", part="direct", number=3, parts=5),
        progress={
            "label": "direct: ticket 41 of 100",
            "done_bytes": 4_299_161_600,
            "total_bytes": 10_485_760_000,
        },
        next="step 7: sql on W761CPRN",
        temperatures={"W761CPRN": 38.0},
    )


def run_steps_at_once(engine: FakeEngine) -> None:
    """A scan of each drive; one of them is not asked for its temperature."""
    campaign_id = add_steps(engine)
    slices = _step(6, 7, "surface", HDD.serial, part="033", number=34, parts=101)
    selftest = _step(7, 7, "selftest", "W761CPRN", part="long", number=1, parts=1)
    progress = {"label": "surface: slice 34 of 100", "done_bytes": 3 << 30, "total_bytes": 5 << 30}
    engine.say(
        phase="running",
        message=Phrase(N_("{count} drives are tested"), count=2),
        campaign_id=campaign_id,
        step=slices,
        steps=[
            slices | {"progress": progress},
            selftest
            | {"progress": {"label": "self-test; percent", "done_bytes": 40, "total_bytes": 100}},
        ],
        progress=progress,
        temperatures={HDD.serial: 38.0},
    )


def run_step_to_pause(engine: FakeEngine) -> None:
    run_step(engine)
    update_pause_asked(engine.connection, 1)


def prepare_step(engine: FakeEngine) -> None:
    campaign_id = add_steps(engine)
    engine.say(
        phase="running",
        message="sql on W761CPRN",
        campaign_id=campaign_id,
        step=_step(7, 7, "sql", "W761CPRN"),
        progress={"label": "making ext4", "done_bytes": 0, "total_bytes": 0},
    )


def show_steps_and_boots(engine: FakeEngine) -> None:
    add_steps(engine, boots={HDD: [106.2, 106.1], SSHD: [46.12, 28.2]})


def show_steps(engine: FakeEngine) -> None:
    add_steps(engine)


def _left_behind(kind: str) -> Phrase:
    whose = Phrase(_OURS[kind], backing=HDD.serial, cache=NO_SERIAL.wwn, id=3)
    return Phrase(N_("{what}, left behind: dismantle it here"), what=whose)


OURS: dict[str, object] = {
    "set_uuid": "6b616c74-0000-4000-8000-0000000000aa",
    "role": "backing",
    "ours": True,
    "campaign_id": 3,
    "explanation": _left_behind("backing"),
}
FOREIGN: dict[str, object] = {
    "set_uuid": "11111111-2222-4333-8444-555555555555",
    "role": "cache",
    "ours": False,
    "campaign_id": None,
    "explanation": Phrase(_FOREIGN["cache"]),
}


def show_left_behind(engine: FakeEngine) -> None:
    """An array of ours on two drives, and half of a foreign one."""
    cache: dict[str, object] = {"role": "cache", "explanation": _left_behind("cache")}
    engine.show_drives(
        HDD, SSHD, NO_SERIAL, arrays={HDD: OURS, NO_SERIAL: OURS | cache, SSHD: FOREIGN}
    )
    engine.say()


def run_array_step(engine: FakeEngine) -> None:
    campaign_id = add_array_steps(engine, boots=[61.4, 28.3])
    engine.say(
        phase="running",
        message="lottery on array",
        campaign_id=campaign_id,
        step=_step(8, 8, "lottery", "array", part="cold", number=1, parts=2),
        progress={"label": "cold: ticket 12 of 100", "done_bytes": 12, "total_bytes": 100},
    )


def make_array(engine: FakeEngine) -> None:
    run_array_step(engine)
    engine.say(
        phase="running",
        message="lottery on array",
        campaign_id=1,
        step=_step(8, 8, "lottery", "array"),
        progress={"label": "making the array: registering sda", "done_bytes": 0, "total_bytes": 0},
    )


def show_array_results(engine: FakeEngine) -> None:
    add_array_steps(engine)


def show_array_boots(engine: FakeEngine) -> None:
    add_array_steps(engine, boots=[61.4, 28.3])


def pause(engine: FakeEngine) -> None:
    said = "stopped by a key or a command"
    engine.add_campaign("incoming", state="paused", reason=said, boots={HDD: [106.2]})
    engine.say()


def refuse(engine: FakeEngine) -> None:
    engine.say(
        phase="refused",
        message="two sticks",
        error={
            "message": "two Kaltstart sticks are plugged in: /dev/sdc and /dev/sdd",
            "hint": "remove one of them and restart",
            "exit_code": 5,
        },
    )
