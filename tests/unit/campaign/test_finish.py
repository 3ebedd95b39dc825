# SPDX-License-Identifier: Apache-2.0
"""The end of a campaign, with and without a report."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from appliance.campaign import finish as module
from appliance.campaign.finish import delete_report, finish, write_report
from appliance.campaign.log import record
from appliance.errors import RefusedError, StickError
from appliance.report.folder import held
from appliance.store.tables.campaigns import select_unreported_campaign
from appliance.units import format_size
from tests.unit.campaign.world import World


@pytest.fixture
def fat(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """KALTSTART, and a report that is one file."""

    @contextmanager
    def writable_fat() -> Iterator[Path]:
        yield tmp_path / "fat"

    def export_campaign(
        _: object, *, campaign_id: int, reports: Path, raw: Path, **__: object
    ) -> Path:
        assert reports.is_dir()
        assert raw.name == "raw"
        return reports / f"{campaign_id}-rack-4"

    (tmp_path / "fat").mkdir()
    monkeypatch.setattr(module, "writable_fat", writable_fat)
    monkeypatch.setattr("appliance.report.export.export_campaign", export_campaign)
    return tmp_path / "fat"


def settle(world: World) -> None:
    world.make_campaign()
    connection = world.context().connection
    connection.execute("UPDATE cycle SET state = 'done'")
    connection.execute("UPDATE cycle SET state = 'failed' WHERE position = 3")


def test_the_last_line_counts_what_there_is(world: World, fat: Path) -> None:
    settle(world)
    finish(world.context(), 1)
    assert world.campaign().state == "done"
    assert world.lines == [("campaign-done", {"id": 1, "samples": 3, "steps": 0, "failed": 1})]
    with world.looking() as connection:
        assert select_unreported_campaign(connection) is None
    assert world.events() == [
        ("campaign-done", "3 samples, 0 steps, 1 failed"),
        *(
            (("no-verdict", f"{drive}: nothing that the policy limits was measured on it"))
            for drive in ("LAB-HDD-1", "LAB-SSD-1")
        ),
        ("report", "reports/1-rack-4"),
    ]


@pytest.mark.parametrize(
    "error",
    [
        StickError("KALTSTART cannot be written"),
        OSError(28, "No space left on device"),
        ZeroDivisionError("a bug in the report"),
    ],
)
def test_without_room_for_a_report_the_campaign_is_done_all_the_same(
    world: World, fat: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def export_campaign(*_: object, **__: object) -> Path:
        assert world.campaign().state == "done"
        raise error

    settle(world)
    monkeypatch.setattr("appliance.report.export.export_campaign", export_campaign)
    finish(world.context(), 1)
    assert [event for event, _ in world.lines] == ["step-failed", "campaign-done"]
    assert world.lines[0][1] == {"id": 1, "kind": "report", "reason": str(error)}
    assert world.events()[-1] == ("report-failed", str(error))


def test_one_sample_is_no_plural_and_the_line_for_programs_keeps_its_words(
    world: World, fat: Path
) -> None:
    settle(world)
    world.context().connection.execute("UPDATE cycle SET state = 'failed' WHERE position > 0")
    finish(world.context(), 1)
    assert world.lines == [("campaign-done", {"id": 1, "samples": 1, "steps": 0, "failed": 3})]
    assert world.events()[0] == ("campaign-done", "1 sample, 0 steps, 3 failed")


def test_charted_boots_are_no_samples(world: World, fat: Path) -> None:
    world.make_campaign(charts="all")
    world.context().connection.execute("UPDATE cycle SET state = 'done'")
    finish(world.context(), 1)
    assert world.lines[-1] == ("campaign-done", {"id": 1, "samples": 4, "steps": 0, "failed": 0})


def test_a_report_cut_short_is_found_at_the_next_start(
    world: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def export_campaign(*_: object, **__: object) -> Path:
        raise KeyboardInterrupt  # the plug is pulled

    settle(world)
    context = world.context()
    record(context, "ready", version="1", firmware="uefi")  # as the engine does at each start
    with monkeypatch.context() as cut:
        cut.setattr("appliance.report.export.export_campaign", export_campaign)
        with pytest.raises(KeyboardInterrupt):
            finish(context, 1)
    with world.looking() as connection:
        assert select_unreported_campaign(connection) == 1
    finish(world.context(), 1)
    with world.looking() as connection:
        assert select_unreported_campaign(connection) is None


def test_a_file_in_the_folders_place_is_told(world: World, fat: Path) -> None:
    settle(world)
    (fat / "reports").touch()
    with pytest.raises(StickError, match="the folder reports cannot be made") as caught:
        write_report(world.context(), 1)
    assert caught.value.hint


def test_a_report_can_be_asked_for_again(world: World, fat: Path) -> None:
    settle(world)
    for _ in range(2):
        assert write_report(world.context(), 1) == "reports/1-rack-4"


def test_reports_that_another_command_writes_are_waited_for(world: World, fat: Path) -> None:
    settle(world)
    (fat / "reports").mkdir()
    with ExitStack() as command:
        command.enter_context(held(fat / "reports"))
        for act in (write_report, delete_report):
            with pytest.raises(StickError, match="another command is writing reports"):
                act(world.context(), 1)  # a person who asks for it gets the answer at once
        finish(world.context(), 1, wait=command.close)
    assert world.events()[-1] == ("report", "reports/1-rack-4")


def test_a_report_is_deleted_and_the_campaign_stays(
    world: World, fat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(world)
    with pytest.raises(RefusedError, match="campaign 1 has no report"):
        delete_report(world.context(), 1)
    with pytest.raises(RefusedError, match="there is no campaign 7"):
        delete_report(world.context(), 7)
    before = world.campaign()
    folder = fat / "reports/1-rack-4"
    folder.mkdir(parents=True)
    (folder / "results.csv").write_bytes(bytes(2000))
    whose = {"created_at": before.created_at, "plan_sha256": before.plan_sha256}
    (folder / "results.json").write_text(json.dumps({"campaign": whose, "events": []}))
    size = format_size(sum(path.stat().st_size for path in folder.iterdir()), decimals=1)
    answer = delete_report(world.context(), 1)
    assert answer == f"reports/1-rack-4 is deleted: {size} are free"
    assert world.events()[-1] == (
        "report-deleted", "reports/1-rack-4; the database keeps the campaign"
    )  # fmt: skip
    assert world.campaign() == before
