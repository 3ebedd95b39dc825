# SPDX-License-Identifier: Apache-2.0
"""Two drives, two campaigns, two sticks beside each other: in words, or refused with a reason."""

import csv
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import PlanError
from appliance.report.ratios import compare_campaigns, say_ratio
from appliance.report.sides import read_sides
from appliance.samples.model import Ticket
from appliance.statistics.ratio import find_ratio
from appliance.store.connect import open_database
from appliance.store.maintenance.merge import merge_database
from appliance.store.read.campaign import select_campaign, select_earlier
from appliance.store.tables import steps as store
from appliance.store.tables.conditions import find_changes, insert_conditions
from appliance.store.tables.events import insert_event
from tests.report.database import Disk, add_campaign, make_boots, make_database
from tests.report.pages_read import export, words_of
from tests.report.states import BALLAST, BYPASS, NOT_DROPPED, Setup
from tests.report.workloads import add_results, add_step, make_results

SLOW = Disk("A", "disk", boots=make_boots(54.0, 55.0, 54.5, 54.2, 54.8, 54.4))
FAST = Disk("B", "disk", boots=make_boots(27.9, 28.1, 27.8, 28.3, 28.0, 28.2))
STEADY = [50.0, 50.5, 49.6, 50.2, 49.9, 50.1]
MOVING = Disk("C", "disk", boots=make_boots(90.0, 80.0, 70.0, 60.0, 50.0, 40.0))
_PLAN = """version = 1
[boot]
boot_set = "{boot_set}"
[[workload]]
kind = "sql"
seed = {seed}
data_size = "{data_size}"
"""
_PHASES = ("recovery", "indexes", "wide_update", "string_updates", "select")


def _compare(connection: sqlite3.Connection, *asked: str, although: Sequence[str] = ()) -> str:
    sides = []
    for text in asked:
        number, _, drive = text.partition(":")
        sides.append((select_campaign(connection, campaign_id=int(number)), drive))
    return "\n".join(compare_campaigns(*sides, although=although))


@pytest.mark.parametrize("serial", ["A", "array"])
def test_two_drives_of_one_name_are_two(tmp_path: Path, serial: str) -> None:
    """The plan names them by their WWNs; of the array nothing is known here.

    Each has its own settings.
    """
    wwns = ("0x5000000000000001", "0x5000000000000002")
    twins = [
        replace(disk, serial=serial, wwn=wwn) for disk, wwn in zip((SLOW, FAST), wwns, strict=True)
    ]
    connection = make_database(tmp_path / "twins.sqlite", disks=twins)
    for drive_id, link in ((1, "3.0 Gb/s"), (2, "6.0 Gb/s")):
        insert_conditions(connection, 1, drive_id, find_changes({}, {"link": link}))
    found = read_sides(select_campaign(connection, campaign_id=1))
    assert [dict(side.settings) for side in found] == [{"Link": "3.0 Gb/s"}, {"Link": "6.0 Gb/s"}]
    assert {side.identity: [samples.values for samples in side.samples] for side in found} == {
        wwns[0]: [(54.0, 55.0, 54.5, 54.2, 54.8, 54.4)],
        wwns[1]: [(27.9, 28.1, 27.8, 28.3, 28.0, 28.2)],
    }


def _add_sql(
    connection: sqlite3.Connection,
    seconds: float,
    *,
    setup: Setup = BALLAST,
    hit: float = 0.2,
    campaign: int = 1,
) -> None:
    """A SQL test on drive A."""
    (position,) = connection.execute("SELECT count(*) FROM step").fetchone()
    step = add_step(connection, "sql", "A", position=position)
    connection.execute("UPDATE step SET campaign_id = ? WHERE id = ?", (campaign, step))
    for phase in _PHASES:
        rows = make_results(phase, setup, app=1e9, hit=hit, seconds=seconds / 5)
        add_results(connection, step, rows)
    add_results(connection, step, make_results("total", setup, seconds=seconds))


@pytest.fixture
def two(tmp_path: Path) -> sqlite3.Connection:
    """Two campaigns of drive A; the second one is a day later."""
    connection = make_database(tmp_path / "two.sqlite", disks=[SLOW, FAST, MOVING])
    again = Disk("A", "disk", boots=make_boots(*STEADY))
    add_campaign(connection, name="again", disks=[again], created_at="2026-11-22T03:20:00.123Z")
    return connection


def _plan(
    connection: sqlite3.Connection,
    campaign: int,
    *,
    boot_set: str = "256M",
    seed: int = 1,
    data_size: str = "512M",
) -> None:
    plan = _PLAN.format(boot_set=boot_set, seed=seed, data_size=data_size)
    connection.execute("UPDATE campaign SET plan_toml = ? WHERE id = ?", (plan, campaign))


@pytest.mark.parametrize(
    ("ones", "others", "said"),
    [
        (
            [54.0, 55.0, 54.5, 54.2, 54.8],
            [28.0, 28.1, 27.9, 28.2, 27.8],
            "1.95 times faster, 1.92 to 1.97",
        ),
        (
            [28.0, 28.1, 27.9, 28.2, 27.8],
            [54.0, 55.0, 54.5, 54.2, 54.8],
            "1.95 times slower, 1.92 to 1.97",
        ),
        (
            [27.9, 28.1, 27.8, 28.3, 28.0],
            [28.0, 28.2, 27.7, 28.1, 27.9],
            "no difference larger than 2 % can be seen",
        ),
        (
            [1.0, 2.0, 3.0, 4.0],
            [1.0, 2.0, 3.0, 4.0],
            "no difference larger than 4.0 times can be seen",
        ),
        ([178.0], [82.0], "2.17 times faster"),
        ([5.0], [5.0], "equally fast"),
        ([1000.0] * 4, [10.0] * 4, "100 times faster, 100 to 100"),
    ],
)
def test_a_ratio_in_words(ones: list[float], others: list[float], said: str) -> None:
    found = find_ratio(ones, others)
    assert found is not None
    assert say_ratio(found) == said


def test_two_drives_of_a_campaign(two: sqlite3.Connection) -> None:
    assert _compare(two, "1:B", "1:A") == (
        "campaign 1, B against campaign 1, A:\n"
        "  settled boots: 1.94 times faster, 1.92 to 1.96 (28.050 s against 54.450 s; n = 6 and 6;"
        " cold start unproven)."
    )


def test_two_campaigns_compare_each_drive_that_is_in_both(two: sqlite3.Connection) -> None:
    said = _compare(two, "2", "1")
    assert said.startswith("campaign 2, A against campaign 1, A:\n  settled boots: 1.09 times")
    assert said.count("against campaign") == 1


def test_two_sticks_are_compared_once_they_are_merged(
    two: sqlite3.Connection, tmp_path: Path
) -> None:
    other = make_database(tmp_path / "other.sqlite", disks=[Disk("Z", "x", boots=FAST.boots)])
    other.close()
    counts = merge_database(two, tmp_path / "other.sqlite", room_bytes=1 << 40)
    assert counts.campaigns == 1
    assert "campaign 3, Z against campaign 2, A:\n  settled boots: 1.78 times faster" in _compare(
        two, "3", "2"
    )


def test_settings_that_differ_between_two_campaigns_are_said(
    two: sqlite3.Connection, tmp_path: Path
) -> None:
    (drive,) = two.execute("SELECT id FROM drive WHERE serial = 'A'").fetchone()

    def note(campaign: int, owner: int | None, **values: str) -> None:
        insert_conditions(two, campaign, owner, find_changes({}, values))

    for campaign, policy in ((1, "max_performance"), (2, "min_power")):
        note(campaign, drive, link_power_policy=policy, link="6.0 Gb/s", location=f"bay {campaign}")
    note(1, None, kernel_options="quiet", memory_corrected="4")
    assert "conditions" not in _compare(two, "1:A", "1:B")
    link = "Power saving of its SATA link min_power against max_performance"
    assert f"\n  measured under other conditions: {link}." in _compare(two, "2", "1")
    note(2, None, kernel_options="quiet mitigations=off", memory_corrected="9")
    kernel = "Kernel options mitigations=off against no others"
    said = f"measured under other conditions: {kernel}; {link}."
    assert said in _compare(two, "2", "1")
    assert said in words_of(export(two, tmp_path, campaign_id=2))


def test_boots_that_have_not_settled_are_not_compared(two: sqlite3.Connection) -> None:
    said = _compare(two, "1:C", "1:A")
    assert "settled boots: not compared: the boots of C have not settled." in said
    # Both sides lack the same: it is said once.
    assert "the boots of C have not settled." in _compare(two, "1:C", "1:C")
    assert "settled; the boots" not in _compare(two, "1:C", "1:C")


def test_which_campaign_of_a_drive_has_not_settled_is_said(two: sqlite3.Connection) -> None:
    """One serial number on both sides: the drive's name alone does not tell them apart."""
    add_campaign(two, name="short", disks=[Disk("A", "disk", boots=make_boots(50.0))])
    add_campaign(two, name="shorter", disks=[Disk("A", "disk", boots=make_boots(49.0))])
    third = "in campaign 3 the boots of A have not settled"
    assert f"not compared: {third}." in _compare(two, "1", "3")
    assert f"not compared: {third}." in _compare(two, "3", "1")
    both = f"not compared: {third}; in campaign 4 the boots of A have not settled."
    assert both in _compare(two, "3", "4")


@pytest.mark.parametrize(
    ("changed", "allowance", "told"),
    [
        ({"seed": 2}, "seed", "seed 1 against 2"),
        ({"data_size": "1G"}, "size", "data_size 536870912 against 1073741824"),
    ],
)
def test_another_seed_or_size_is_refused_unless_asked_for(
    two: sqlite3.Connection, changed: dict[str, str], allowance: str, told: str
) -> None:
    _plan(two, 1)
    _plan(two, 2, **changed)  # type: ignore[arg-type]  # a table of keys
    _add_sql(two, 100.0)
    _add_sql(two, 80.0, campaign=2)
    said = _compare(two, "1:A", "2:A")
    assert f"SQL, all phases: not compared for the sake of {allowance}: {told}." in said
    said = _compare(two, "1:A", "2:A", although=[allowance])
    assert "SQL, all phases: 1.25 times slower (100.000 s against 80.000 s; one value" in said
    assert f"although {told}" in said


def test_a_default_that_is_written_down_changes_nothing(two: sqlite3.Connection) -> None:
    _plan(two, 1)
    two.execute(
        "UPDATE campaign SET plan_toml = ? WHERE id = 2",
        ('version = 1\n[boot]\ncycles = 9\n[[workload]]\nkind = "sql"\n',),
    )
    _add_sql(two, 100.0)
    _add_sql(two, 80.0, campaign=2)
    said = _compare(two, "1:A", "2:A")
    assert "not compared" not in said
    assert "page cache began cold, proven; RAM answered 20 %" in said


def test_another_boot_set_and_another_image_are_refused(two: sqlite3.Connection) -> None:
    _plan(two, 1)
    _plan(two, 2, boot_set="512M")
    assert "for the sake of size: boot_set 268435456 against 536870912" in _compare(two, "1", "2")
    _plan(two, 2)
    for campaign, version in ((1, "0.1.0"), (2, "0.2.0")):
        two.execute(
            "UPDATE event SET detail = ? WHERE campaign_id = ? AND event = 'campaign-start'",
            (f"Kaltstart {version}", campaign),
        )
    assert "for the sake of image: Kaltstart 0.1.0 against 0.2.0" in _compare(two, "1", "2")
    assert "times slower, " in _compare(two, "1", "2", although=["image"])


@pytest.mark.parametrize(
    ("setup", "hit", "told"),
    [
        (NOT_DROPPED, 0.2, "the state of the page cache is not proven"),
        (BYPASS, 0.0, "page cache began cold, proven against bypass, proven"),
        (BALLAST, 0.6, "RAM answered 20 % against 60 %"),
    ],
)
def test_another_cache_state_is_refused(
    two: sqlite3.Connection, setup: Setup, hit: float, told: str
) -> None:
    _plan(two, 1)
    _plan(two, 2)
    _add_sql(two, 100.0)
    _add_sql(two, 80.0, campaign=2, setup=setup, hit=hit)
    said = _compare(two, "1:A", "2:A")
    assert "SQL, all phases: not compared for the sake of cache:" in said
    assert told in said


def test_runs_of_the_same_test_are_one_series(two: sqlite3.Connection) -> None:
    _plan(two, 1)
    _plan(two, 2)
    for seconds in (100.0, 101.0, 102.0, 100.5):
        _add_sql(two, seconds)
        _add_sql(two, seconds / 2, campaign=2)
    assert "SQL, all phases: 2.00 times slower, 1.96 to 2.04" in _compare(two, "1:A", "2:A")


def test_medians_that_differ_otherwise_than_the_values_are_called_so(
    two: sqlite3.Connection,
) -> None:
    """Two groups on each side: the one median lies in the fast group, the other in the slow one."""
    for number in range(40):
        _add_sql(two, (100.0 if number < 22 else 300.0) + number / 100)
        _add_sql(two, (104.0 if number < 18 else 330.0) + number / 100, campaign=2)
    _plan(two, 1)
    _plan(two, 2)
    said = _compare(two, "1:A", "2:A")
    assert "SQL, all phases: 1.10 times faster, 1.04 to 1.10 (100.195 s against 330.195 s," in said
    assert "s, medians that differ by another factor than most of the values; n = 40" in said


def test_first_touches_of_a_lottery_have_an_interval(two: sqlite3.Connection) -> None:
    for serial, factor in (("A", 1.0), ("B", 3.0)):
        step = add_step(two, "lottery", serial, position=20 + ord(serial))
        for name in "abcde":
            rows = make_results(f"direct/{name}", BYPASS, app=2e8, rate_bytes_s=1e8)
            add_results(two, step, rows)
        tickets = [
            Ticket(
                "direct", "bypass", 5 * (nth - 1) + number, name, nth, 10**8,
                (1 + number / 100) / factor, 0, 10**8, 0,
            )
            for nth in (1, 2)
            for number, name in enumerate("abcde", start=1)
        ]  # fmt: skip
        store.insert_tickets(two, step, tickets)
    said = _compare(two, "1:B", "1:A")
    assert "lottery, direct, first touches: 3.00 times faster, 2.9" in said
    assert "n = 5 and 5" in said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("1:X", "2"), "campaign 1 has no figures of drive X"),
        (("1", "1"), "which drives to compare is ambiguous"),
        (("7", "1"), "there is no campaign 7"),
    ],
)
def test_what_cannot_be_paired_is_an_error(
    two: sqlite3.Connection, asked: tuple[str, str], said: str
) -> None:
    with pytest.raises(PlanError, match=said):
        _compare(two, *asked)


def test_a_report_holds_its_drives_against_each_other_and_against_before(
    two: sqlite3.Connection, tmp_path: Path
) -> None:
    words = words_of(export(two, tmp_path))
    assert "B against A, settled boots : 1.94 times faster, 1.92 to 1.96 (28.050 s" in words
    assert "Two drives or campaigns: the ratio is the median of the quotients" in words
    assert "against itself" not in words
    rows = select_campaign(two, campaign_id=2)
    earlier = select_earlier(two, rows)
    assert earlier is not None
    assert earlier.campaign.id == 1


def test_a_drive_that_has_become_slower_is_remarked(tmp_path: Path) -> None:
    connection = open_database(tmp_path / "slower.sqlite")
    for day, times in ((21, (27.9, 28.1, 27.8, 28.3, 28.0)), (22, (33.9, 34.1, 33.8, 34.3, 34.0))):
        disk = Disk("A", "disk", boots=make_boots(*times))
        at = f"2026-11-{day}T03:20:00.123Z"
        add_campaign(connection, disks=[disk], created_at=at)
    words = words_of(export(connection, tmp_path, campaign_id=2))
    assert "in campaign 1, settled boots : 1.21 times slower, 1.20 to 1.23 (34.000 s" in words
    page = next((tmp_path / "r").glob("2-*/report.html")).read_text()
    assert '<li class="remark"><strong>A against itself in campaign 1' in page


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ([50.4, 49.8, 50.0, 50.3, 49.5, 50.2], "About 5 more boots of each"),
        (
            [48.5, 51.4, 49.0, 51.8, 48.4, 51.6, 48.2, 51.5] * 3,
            "They vary too much for 1 % to be seen",
        ),
        ([60.0, 60.4, 59.8, 60.0, 60.3, 60.2], ""),
        ([50.0, 50.1, 50.0, 50.1, 50.0, 50.1], ""),
    ],
)
def test_where_nothing_is_seen_it_is_said_how_many_boots_would_show_it(
    tmp_path: Path, other: list[float], said: str
) -> None:
    even = [50.0, 50.1, 50.0, 50.1, 50.0, 50.1]
    one = even if other == even else STEADY
    disks = [Disk("A", "disk", boots=make_boots(*one)), Disk("B", "disk", boots=make_boots(*other))]
    connection = make_database(tmp_path / "more.sqlite", disks=disks)
    told = _compare(connection, "1:A", "1:B")
    if said:
        assert "no difference larger than" in told
        assert said in told
    else:
        assert "of each" not in told
    connection.close()


_DOCK, _DOUBT = "0123456789ABCDEF", "the serial number is the USB bridge's or dock's"


def test_a_clock_that_was_set_back_does_not_make_a_later_campaign_an_earlier_one(
    tmp_path: Path,
) -> None:
    """Of what this stick ran itself the order is known, whatever the machine's clock said."""
    connection = open_database(tmp_path / "clock.sqlite")
    for year, times in ((2026, (27.9, 28.1, 27.8, 28.3)), (1970, (33.9, 34.1, 33.8, 34.3))):
        disk = Disk("A", "disk", boots=make_boots(*times))
        number = add_campaign(connection, disks=[disk], created_at=f"{year}-01-01T00:00:09.123Z")
        for campaign_id, event in ((None, "ready"), (number, "campaign-done")):
            insert_event(
                connection,
                campaign_id=campaign_id,
                boot_id=f"boot-{year}",
                monotonic_s=9.0,
                level="info",
                event=event,
                detail="",
            )
    earlier = select_earlier(connection, select_campaign(connection, campaign_id=2))
    assert earlier is not None
    assert earlier.campaign.id == 1
    assert select_earlier(connection, select_campaign(connection, campaign_id=1)) is None
    connection.execute("UPDATE event SET boot_id = 'of another stick' WHERE event = 'ready'")
    earlier = select_earlier(connection, select_campaign(connection, campaign_id=1))
    assert earlier is not None, "of two that came from elsewhere the times alone are known"


def _in_dock(
    connection: sqlite3.Connection, *, models: Sequence[str], sizes: Sequence[int], doubt: str = ""
) -> None:
    """Two campaigns of what shows one serial number and no WWN, slower the second time."""
    for number, (model, size, times) in enumerate(
        zip(
            models,
            sizes,
            ((27.9, 28.1, 27.8, 28.3, 28.0), (33.9, 34.1, 33.8, 34.3, 34.0)),
            strict=True,
        ),
        start=1,
    ):
        disk = Disk(_DOCK, model, boots=make_boots(*times), size_bytes=size)
        add_campaign(connection, disks=[disk], created_at=f"2026-11-2{number}T03:20:00.123Z")
        connection.execute(
            "UPDATE campaign_drive SET released_model = ?, released_size_bytes = ?,"
            " serial_doubt = ? WHERE campaign_id = ?",
            (model, size, doubt, number),
        )


@pytest.mark.parametrize(
    ("models", "sizes", "doubt", "is_same"),
    [
        (("WD10EZEX", "WD10EZEX"), (10**12, 10**12), "", True),
        (("WD10EZEX", "ST4000DM004"), (10**12, 10**12), "", False),
        (("WD10EZEX", "WD10EZEX"), (10**12, 4 * 10**12), "", False),
        (("WD10EZEX", "WD10EZEX"), (10**12, 10**12), _DOUBT, False),
    ],
)
def test_only_what_is_surely_the_same_drive_is_held_against_itself(
    tmp_path: Path,
    models: Sequence[str],
    sizes: Sequence[int],
    doubt: str,
    *,
    is_same: bool,
) -> None:
    connection = open_database(tmp_path / "dock.sqlite")
    _in_dock(connection, models=models, sizes=sizes, doubt=doubt)
    said = words_of(export(connection, tmp_path, campaign_id=2))
    assert ("against itself in campaign 1" in said) == is_same
    assert (select_earlier(connection, select_campaign(connection, campaign_id=2)) is None) == (
        not is_same
    )
    assert (_DOUBT in said) == bool(doubt)


def test_a_number_in_doubt_is_said_in_the_tables_too(tmp_path: Path) -> None:
    connection = open_database(tmp_path / "dock.sqlite")
    _in_dock(connection, models=("WD", "ST"), sizes=(10**12, 4 * 10**12), doubt=_DOUBT)
    folder = export(connection, tmp_path, campaign_id=1)
    (first, *_) = csv.DictReader((folder / "results.csv").read_text().splitlines())
    assert first["serial_doubt"] == _DOUBT
    (drive,) = json.loads((folder / "results.json").read_text())["drives"]
    assert (drive["serial_doubt"], drive["model"], drive["size_bytes"]) == (_DOUBT, "WD", 10**12)


def test_an_array_is_held_against_one_of_the_same_drives_only(tmp_path: Path) -> None:
    connection = open_database(tmp_path / "arrays.sqlite")
    for day, (cache, times) in enumerate(
        (("S1", STEADY), ("S2", STEADY), ("S2", [each * 2 for each in STEADY])), start=1
    ):
        disks = [
            Disk("B", "backing", role="backing", boots=make_boots(*times)),
            Disk(cache, "cache", role="cache"),
        ]
        add_campaign(connection, disks=disks, created_at=f"2026-11-2{day}T03:20:00.123Z")
    assert "against itself" not in words_of(export(connection, tmp_path, campaign_id=2))
    said = words_of(export(connection, tmp_path, campaign_id=3))
    assert "array against itself in campaign 2" in said
    assert "2.00 times slower" in said
