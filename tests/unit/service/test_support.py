# SPDX-License-Identifier: Apache-2.0
"""What is kept for the search for a fault, and that it stays small."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance.errors import StepFailedError, StickError
from appliance.run import Finished
from appliance.service import support
from appliance.service.support import store_crash, write_bundle
from appliance.store.connect import open_database
from appliance.store.tables.events import insert_event

_LOG = "[    1.234567] kaltstart kernel: a line\n"


@pytest.fixture
def stick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both its partitions, and /run."""
    for name in ("data", "fat", "run"):
        (tmp_path / name).mkdir()

    @contextmanager
    def writable_fat() -> Iterator[Path]:
        yield tmp_path / "fat"

    def run(command: Sequence[str], **_: object) -> Finished:
        if command[0] == "dmesg":
            raise StepFailedError("dmesg failed with code 1")
        (lines,) = [word for word in command if word.startswith("--lines=")]
        return Finished(tuple(command), 0, _LOG * int(lines.partition("=")[2]), "")

    monkeypatch.setattr(support, "run", run)
    monkeypatch.setattr(support, "writable_fat", writable_fat)
    monkeypatch.setattr(support, "RUN", tmp_path / "run")
    monkeypatch.setattr(support, "DATA", tmp_path / "data")
    monkeypatch.setattr(support, "CRASHES", tmp_path / "data/crashes")
    monkeypatch.setattr(support, "DATABASE", tmp_path / "data/kaltstart.sqlite")
    monkeypatch.setattr(support, "MIN_FREE_BYTES", 0)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == tmp_path / "data")
    return tmp_path


def _crash(said: str) -> None:
    try:
        raise ValueError(said)
    except ValueError as error:
        store_crash(error)


def test_a_crash_leaves_what_led_to_it_and_the_end_of_the_journal(stick: Path) -> None:
    _crash("no such thing")
    text = (stick / "data/crashes/crash-1.txt").read_text()
    assert "in _crash" in text
    assert "ValueError: no such thing" in text
    assert text.endswith(_LOG)


def test_only_the_newest_crashes_are_kept_and_each_is_small(stick: Path) -> None:
    for number in range(12):
        _crash(f"{number}" * 500_000)
    found = sorted(stick.glob("data/crashes/*"))
    assert [path.name for path in found] == [
        "crash-10.txt",
        "crash-11.txt",
        "crash-12.txt",
        "crash-8.txt",
        "crash-9.txt",
    ]
    assert all(path.stat().st_size <= 256 << 10 for path in found)


@pytest.mark.parametrize("why", ["no room", "not mounted", "read-only"])
def test_a_crash_that_cannot_be_kept_is_no_second_one(
    stick: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "no room":
        monkeypatch.setattr(support, "MIN_FREE_BYTES", 1 << 70)
    elif why == "not mounted":
        monkeypatch.setattr(support, "DATA", stick / "elsewhere")
    else:
        (stick / "data/crashes").write_text("no folder")
    _crash("no such thing")
    assert not list(stick.glob("*/crashes/*"))


def test_the_log_of_this_start_is_written_to_kaltstart(stick: Path) -> None:
    connection = open_database(stick / "data/kaltstart.sqlite")
    for number in (1, 2):
        insert_event(
            connection,
            campaign_id=None,
            boot_id="boot-1",
            monotonic_s=12.34,
            level="warning",
            event="guarded",
            detail=f"D-{number} was writable",
        )
    connection.close()
    (stick / "run/status.json").write_text('{"phase": "idle"}')
    _crash("no such thing")
    assert write_bundle() == stick / "fat/support-1"
    folder = write_bundle()
    assert folder == stick / "fat/support-2"
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    assert texts["journal.txt"].endswith(_LOG)
    assert texts["kernel.txt"] == "dmesg failed with code 1\n"
    assert [line.split(" ", maxsplit=1)[1] for line in texts["events.txt"].splitlines()] == [
        "boot-1 +12.3 s warning guarded: D-1 was writable",
        "boot-1 +12.3 s warning guarded: D-2 was writable",
    ]
    assert texts["status.json"] == '{"phase": "idle"}'
    assert "cannot be read" in texts["drives.json"]
    assert "no such thing" in texts["crash-1.txt"]


def test_a_damaged_database_does_not_keep_the_log(stick: Path) -> None:
    (stick / "data/kaltstart.sqlite").write_bytes(b"not a database" * 1000)
    folder = write_bundle()
    assert (folder / "events.txt").read_text().startswith("the events cannot be read: ")
    assert (folder / "journal.txt").exists()


def test_kaltstart_without_room_is_trouble(stick: Path) -> None:
    (stick / "fat").rmdir()
    with pytest.raises(StickError, match="cannot be written to KALTSTART"):
        write_bundle()
