# SPDX-License-Identifier: Apache-2.0
"""The program that records a boot's reads: the kernel's lines, the list, and the unit."""

import ast
import sys
from pathlib import Path

import pytest

from appliance import record_boot
from appliance.record_boot import (
    LIST_VERSION,
    MAX_READS,
    MERGE_BYTES,
    Read,
    RecordError,
    count_lost,
    find_disk,
    format_list,
    format_unit,
    merge_reads,
    parse_events,
)
from appliance.samples.read_list import ReadExtent, TraceError, parse_trace

# Lines of Linux 6.12 with the I/O priority, and one of 6.1 without it; the fourth is of a task with
# a hostile name, the last one what the drive had no room for.
_EVENTS = """\
# tracer: nop
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
         systemd-1       [000] ...1.     3.101000: block_rq_issue: 8,0 R 4096 () 2048 + 8 none,0,0 [systemd]
    kworker/0:1H-61      [001] ...1.     3.102000: block_rq_issue: 8,0 RA 131072 () 2056 + 256 none,0,0 [kworker/0:1H]
 (udev-worker)-120       [001] ...1.     3.103000: block_rq_issue: 8,16 R 4096 () 0 + 8 none,0,0 [(udev-worker)]
      8,0 R () -121      [001] ...1.     3.104000: block_rq_issue: 8,0 WS 4096 () 99 + 8 none,0,0 [x]
            cat-122      [000] ...1.     3.105000: block_rq_issue: 8,0 RM 16384 () 409600 + 32 [cat]
            cat-122      [000] ...1.     3.105100: block_rq_requeue: 8,0 RM () 409600 + 32 none,0,0 [0]
            cat-122      [000] ...1.     3.106000: block_rq_issue: 8,0 RM 16384 () 409600 + 32 none,0,0 [cat]
      smartctl-130       [000] ...1.     3.107000: block_rq_issue: 8,0 N 512 (85 08 0e 00) 0 + 0 none,0,0 [smartctl]
"""  # noqa: E501
_READS = (Read(2048 * 512, 4096), Read(2056 * 512, 131072), Read(409600 * 512, 16384))


def test_of_the_events_a_drives_own_reads_are_taken_in_their_order() -> None:
    assert parse_events(_EVENTS, device="8:0") == _READS
    assert parse_events(_EVENTS, device="8:16") == (Read(0, 4096),)
    assert parse_events(_EVENTS, device="259:0") == ()


def test_neighbours_are_joined_up_to_a_read_ahead() -> None:
    small = [Read(at * 4096, 4096) for at in range(40)]
    assert merge_reads(small) == (Read(0, MERGE_BYTES), Read(MERGE_BYTES, 8 * 4096))
    apart = (Read(8192, 4096), Read(4096, 4096), Read(0, 4096))
    assert merge_reads(apart) == apart
    assert merge_reads([]) == ()


def test_a_list_is_what_a_trace_replays() -> None:
    text = format_list(_READS, about="disk\nwith a line break")
    assert text.startswith(f"# kaltstart-reads version={LIST_VERSION} reads=3 bytes=151552\n# disk")
    found = parse_trace(text, name="boot.csv")
    assert found.extents == tuple(ReadExtent(*each) for each in _READS)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("409600", "819200"), ""),  # the place of a read is not counted
        (("version=1", "version=2"), "is of another version; this program knows version 1"),
        (("209715200,16384\n", ""), "they are 2 with 135168 bytes"),
        (("209715200,16384", "209715200,8192"), "they are 3 with 143360 bytes"),
        (("reads=3", "reads"), "does not fit the reads that follow"),
    ],
)
def test_a_list_that_is_not_whole_is_refused(change: tuple[str, str], told: str) -> None:
    text = format_list(_READS, about="").replace(*change)
    if not told:
        parse_trace(text, name="boot.csv")
        return
    with pytest.raises(TraceError) as caught:
        parse_trace(text, name="boot.csv")
    assert caught.value.problems[0].startswith("boot.csv, line 1: ")
    assert told in str(caught.value)


def test_what_no_list_can_hold_is_an_error() -> None:
    with pytest.raises(RecordError, match="read nothing"):
        format_list([], about="")
    with pytest.raises(RecordError, match=f"{MAX_READS + 1} reads; a list has at most"):
        format_list([Read(0, 512)] * (MAX_READS + 1), about="")
    with pytest.raises(RecordError, match="bytes; a list's have at most"):
        format_list([Read(0, 32 << 20)], about="")


def test_lost_events_are_counted_over_all_processors() -> None:
    stats = "entries: 5\noverrun: {}\ncommit overrun: 0\nbytes: 1\ndropped events: {}\n"
    assert count_lost([stats.format(0, 0), stats.format(0, 0)]) == 0
    assert count_lost([stats.format(3, 0), stats.format(1, 2)]) == 6


def test_until_start_up_has_finished_only_the_shell_runs() -> None:
    unit = format_unit(
        disk="/dev/disk/by-id/ata-It's 100%", target="/var/tmp/$b.csv", more_s=5, processors=4
    )
    begin, end = (line for line in unit.splitlines() if line.startswith("ExecStart"))
    (cancel,) = (line for line in unit.splitlines() if line.startswith("ExecStopPost="))
    assert "/etc/kaltstart-record-boot.py --cancel ||" in cancel
    assert "python" not in begin
    assert "echo 32768 > buffer_size_kb" in begin
    assert r"echo 'rwbs ~ \"R*\"' > events/block/block_rq_issue/filter" in begin
    waits, collects = end.split("exec ")
    assert "if [ $$(cat /sys/kernel/tracing/events/block/block_rq_issue/enable) = 1 ]" in waits
    assert "is-system-running --wait" in waits
    assert "sleep 5" in waits
    assert "echo 0 > /sys/kernel/tracing/instances/kaltstart/tracing_on" in waits
    # systemd replaces % and $, and the shell joins what is in quotes.
    assert r"--of '/dev/disk/by-id/ata-It'\\''s 100%%' --to '/var/tmp/$$b.csv'" in collects


def test_a_drive_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="No such file or directory; name a drive"):
        find_disk(str(tmp_path / "sda"))
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="is no drive; name one such as /dev/sda"):
        find_disk(str(tmp_path / "file"))


@pytest.mark.parametrize("is_whole", [False, True])
def test_the_list_is_of_the_longer_recording(
    *, is_whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By the kernel's command line the events are on at the top too, from its first moment.
    instance = tmp_path / "instances/kaltstart"
    for folder, lines in ((tmp_path, _EVENTS), (instance, "".join(_EVENTS.splitlines(True)[:4]))):
        (folder / "per_cpu/cpu0").mkdir(parents=True)
        (folder / "per_cpu/cpu0/stats").write_text("overrun: 0\ndropped events: 0\n")
        (folder / "trace").write_text(lines)
    enable = tmp_path / "enable"
    enable.write_text(f"{is_whole:d}\n")
    block = tmp_path / "block/sda"
    block.mkdir(parents=True)
    (block / "dev").write_text("8:0\n")
    (block / "size").write_text("7814037168\n")
    removed: list[bool] = []
    monkeypatch.setattr(record_boot, "TRACEFS", tmp_path)
    monkeypatch.setattr(record_boot, "_INSTANCE", instance)
    monkeypatch.setattr(record_boot, "_BY_COMMAND_LINE", enable)
    monkeypatch.setattr(record_boot, "_BLOCKS", tmp_path / "block")
    monkeypatch.setattr(record_boot, "find_disk", lambda _: "sda")
    monkeypatch.setattr(record_boot, "_remove", lambda: removed.append(True))
    words = ["--collect", "--of", "/dev/sda", "--to", str(tmp_path / "boot.csv")]
    # /var/tmp is world-writable: a link that someone has put there is not written through.
    (tmp_path / "theirs").write_text("as it was")
    (tmp_path / "boot.csv.new").symlink_to(tmp_path / "theirs")
    assert record_boot.main(words) == 0
    text = (tmp_path / "boot.csv").read_text()
    assert (tmp_path / "theirs").read_text() == "as it was"
    assert "/dev/sda, 4000787030016 bytes, Linux " in text
    assert text.splitlines()[1].endswith(
        "since the kernel's start" if is_whole else "since the unit's start"
    )
    assert len(parse_trace(text, name="boot.csv").extents) == (3 if is_whole else 1)
    # What found no room leaves no list, and no unit either.
    (tmp_path / "boot.csv").unlink()
    for folder in (tmp_path, instance):
        (folder / "per_cpu/cpu0/stats").write_text("overrun: 3\ndropped events: 0\n")
    assert record_boot.main(words) == 1
    assert not (tmp_path / "boot.csv").exists()
    assert len(removed) == 2


def test_bad_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for words, told in (
        ([], "name the drive with --of"),
        (["--of", "/dev/sda", "--more", "601"], "must be 0 to 600 seconds, not 601"),
    ):
        with pytest.raises(SystemExit):
            record_boot.main(words)
        assert told in capsys.readouterr().err


def test_it_runs_alone_and_on_an_old_python() -> None:
    path = Path(record_boot.__file__)
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    imported = {
        (each.module if isinstance(each, ast.ImportFrom) else each.names[0].name) or ""
        for each in ast.walk(tree)
        if isinstance(each, ast.Import | ast.ImportFrom)
    }
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_a_shutdown_before_its_end_stops_the_unit_and_so_removes_it() -> None:
    """Without default dependencies nothing else has it stopped, and ExecStopPost= would not run."""
    unit = record_boot.format_unit(disk="/dev/sda", target="/var/tmp/b", more_s=0, processors=1)
    assert "DefaultDependencies=no\n" in unit
    assert "Conflicts=shutdown.target\n" in unit
    assert "shutdown.target" in unit.partition("Before=")[2].partition("\n")[0]
