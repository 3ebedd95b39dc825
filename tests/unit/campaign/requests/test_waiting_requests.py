# SPDX-License-Identifier: Apache-2.0
"""Several requests wait at once: one that was refused meanwhile is never carried out."""

from pathlib import Path

import pytest

from appliance.campaign.context import pause
from appliance.campaign.requests.handlers import STOPPED, answer_beside_campaign
from appliance.campaign.status import Status
from appliance.service import engine
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.store.connect import open_database
from appliance.store.tables.requests import insert_request, select_recent_requests, update_request
from tests.unit.campaign.world import HDD, STICK, World

_PLAN = """\
version = 1
[campaign]
name = "rack 4"
[[drive]]
serial = "LAB-HDD-1"
erase = "LAB-HDD-1"
[[workload]]
kind = "surface"
"""


@pytest.fixture
def appliance(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """An engine beside a paused campaign; whatever runs is stopped by a key or a command."""
    monkeypatch.setattr("appliance.reference_os.install.root_bytes", lambda: 600_000_000)
    monkeypatch.setattr("appliance.campaign.start_records.FAT", tmp_path / "no-fat")
    monkeypatch.setattr(engine, "check_policy", lambda _: "")
    monkeypatch.setattr(engine, "note_start", lambda _: None)
    world.make_campaign([HDD], plan_toml=_PLAN, state="paused")

    def advance(self: Appliance, campaign_id: int) -> None:
        world.log.append(f"campaign {campaign_id} runs")
        # As the screen does four times a second while a campaign is using the machine.
        answer_beside_campaign(self.connection, self.host, running=())
        pause(self.context, campaign_id, STOPPED)

    monkeypatch.setattr(Appliance, "_advance", advance)
    return Appliance(Status(), STICK, open_database(world.path), DriveList(), world.host())


def _ask(appliance: Appliance, *kinds: str) -> list[tuple[str, str]]:
    """Ask for all at once, let the engine look once; how each was answered."""
    for kind in kinds:
        payload = {"plan_toml": _PLAN, "campaign_id": 1}
        insert_request(appliance.connection, kind, payload, at="2026-11-21", boot_id="boot-0")
    appliance._answer_requests()
    answered = select_recent_requests(appliance.connection, limit=len(kinds))
    return [(request.kind, request.state) for request in reversed(answered)]


@pytest.mark.parametrize(("first", "campaign_id"), [("start", 2), ("resume", 1)])
@pytest.mark.parametrize("second", ["start", "resume", "reboot", "poweroff"])
def test_what_was_refused_while_a_campaign_ran_is_not_done_after_it(
    appliance: Appliance, world: World, first: str, campaign_id: int, second: str
) -> None:
    answers = _ask(appliance, first, second)
    assert answers == [(first, "accepted"), (second, "refused")]
    assert [line for line in world.log if "runs" in line] == [f"campaign {campaign_id} runs"]
    assert not world.power_rows, "power stays"


@pytest.mark.parametrize(
    ("kind", "begins"), [("start", "check_policy"), ("resume", "resume_campaign")]
)
def test_what_is_withdrawn_while_it_begins_writes_to_no_drive(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch, kind: str, begins: str
) -> None:
    """Drives that answer slowly delay the answer for longer than `kaltstart run` waits."""
    begin = getattr(engine, begins)

    def withdraw(*arguments: object) -> object:
        (request,) = select_recent_requests(appliance.connection, limit=1)
        update_request(appliance.connection, request.id, "refused", "withdrawn", 5)
        return begin(*arguments)

    monkeypatch.setattr(engine, begins, withdraw)
    assert _ask(appliance, kind) == [(kind, "refused")]
    assert not [line for line in world.log if "runs" in line]
    world.campaign_id = 2 if kind == "start" else 1
    assert (world.campaign().state, world.campaign().reason) == (
        "paused",
        "the request was withdrawn",
    )


def test_requests_that_let_nothing_run_are_all_answered(appliance: Appliance) -> None:
    assert _ask(appliance, "stop", "keep-running", "stop") == [
        ("stop", "accepted"),
        ("keep-running", "refused"),
        ("stop", "accepted"),
    ]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("stop", "[" * 100_000),
        ("pause", '{"campaign_id": ' * 50_000),
        ("shell", '{"terminal": "\\ud800"}'),
        ("set-time", '{"at": "\\ud800"}'),
    ],
    ids=["nested", "nested objects", "half a character", "half a character in a time"],
)
def test_a_request_that_no_interface_makes_is_refused_and_ends_nothing(
    appliance: Appliance, kind: str, payload: str
) -> None:
    """While the engine waits, and at its start, where it would meet the same one each time."""
    for answer in (appliance._answer_requests, appliance._void_old_requests):
        number = insert_request(appliance.connection, kind, {}, at="2026-11-21", boot_id="boot-0")
        appliance.connection.execute(
            "UPDATE request SET payload = ? WHERE id = ?", (payload, number)
        )
        answer()
        (request,) = select_recent_requests(appliance.connection, limit=1)
        assert (request.id, request.state) == (number, "refused")
