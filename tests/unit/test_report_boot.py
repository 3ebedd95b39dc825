# SPDX-License-Identifier: Apache-2.0
"""The program for a drive's own system: orders and reports, and the unit that it installs."""

from pathlib import Path

import pytest

from appliance import report_boot
from appliance.report_boot import (
    MAX_REPORT_BYTES,
    BootReport,
    Order,
    ReportError,
    format_order,
    format_report,
    format_unit,
    parse_order,
    parse_report,
)

ORDER = Order("3f9a00c1d2e3f405", 0x80, 3, "0f0f0f0f-0001-4000-8000-000000000001")
TIMES = "\n".join(f"{name}=123456789" for name in report_boot.PROPERTIES)
REPORT = BootReport(
    ORDER.token,
    "",
    0x80,
    0x80,
    "11111111-2222-4333-8444-555555555555",
    "Debian GNU/Linux 13",
    TIMES,
    " ".join(["4294967295"] * 17),
    1732576000.25,
    False,
)


@pytest.mark.parametrize("order", [ORDER, ORDER._replace(back=None)])
def test_an_order_comes_back_as_it_went(order: Order) -> None:
    assert parse_order(format_order(order)) == order


@pytest.mark.parametrize("text", ["", "2 3f9a 0080 0003 x", format_order(ORDER)[:-1], "\0\0"])
def test_what_is_no_order_is_refused(text: str) -> None:
    with pytest.raises(ReportError, match="no order of version 1"):
        parse_order(text)


@pytest.mark.parametrize(
    "report",
    [
        REPORT,
        REPORT._replace(stopped=True, started_at_s=None, booted=None),
        BootReport("3f9a", "the disk is gone", None, None, "", "", "", "", None, False),
    ],
)
def test_a_report_comes_back_as_it_went(report: BootReport) -> None:
    there = parse_report(format_report(report))
    assert there._replace(times="") == report._replace(times="")
    assert (
        there.times.split()
        == (report.times or "\n".join(f"{name}=" for name in report_boot.PROPERTIES)).split()
    )


def test_no_report_is_larger_than_firmware_keeps() -> None:
    long = REPORT._replace(error="x" * 5000, system="Linux\n" * 100)
    assert len(format_report(long).encode()) < MAX_REPORT_BYTES


_ENDLESS = format_report(REPORT).replace("started_at_s=1732576000.250", "started_at_s=inf")


@pytest.mark.parametrize(
    "text", ["", "kaltstart=2", "kaltstart=1\ntoken=3f9a", "\xff\n=\n", _ENDLESS]
)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ReportError):
        parse_report(text)


def test_the_unit_does_nothing_without_an_order() -> None:
    condition = f"ConditionPathExists=/sys/firmware/efi/efivars/{report_boot.ORDER_VARIABLE}"
    assert condition in format_unit("/usr/bin/python3").splitlines()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its firmware's variables are files here, and commands are noted."""
    monkeypatch.setattr(report_boot, "_EFIVARS", tmp_path)
    monkeypatch.setattr(report_boot, "_unprotect", lambda _: None)
    monkeypatch.setattr(report_boot, "_is_key_pressed", lambda _: False)
    monkeypatch.setattr(report_boot, "_LAST", tmp_path / "last", raising=False)
    monkeypatch.setattr(report_boot, "_collect", lambda _: REPORT)
    monkeypatch.setattr(
        report_boot, "_run", lambda *words: (tmp_path / "run").write_text(str(words))
    )
    (tmp_path / report_boot.ORDER_VARIABLE).write_bytes(b"\7\0\0\0" + format_order(ORDER).encode())
    (tmp_path / f"Boot0003-{report_boot._GLOBAL_GUID}").write_bytes(b"\7\0\0\0stick")
    return tmp_path


def _read(machine: Path, name: str) -> bytes:
    return (machine / name).read_bytes()[4:]


def test_an_order_is_one_report_and_one_restart(machine: Path) -> None:
    assert report_boot.main(["--report"]) == 0
    assert parse_report(_read(machine, report_boot.REPORT_VARIABLE).decode()) == REPORT
    assert _read(machine, f"BootNext-{report_boot._GLOBAL_GUID}") == b"\3\0"
    assert (machine / "run").read_text() == "('systemctl', 'reboot')"
    (machine / "run").unlink()
    assert report_boot.main(["--report"]) == 1, "the order is gone"
    assert not (machine / "run").exists()


def test_firmware_that_keeps_the_order_is_not_restarted(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_boot, "_remove_variable", lambda _: None)
    assert report_boot.main(["--report"]) == 1
    assert not (machine / "run").exists()


def test_an_order_that_the_firmware_brings_back_is_not_followed_again(machine: Path) -> None:
    order = (machine / report_boot.ORDER_VARIABLE).read_bytes()
    assert report_boot.main(["--report"]) == 0
    (machine / "run").unlink()
    for name in (report_boot.REPORT_VARIABLE, f"BootNext-{report_boot._GLOBAL_GUID}"):
        (machine / name).unlink()
    (machine / report_boot.ORDER_VARIABLE).write_bytes(order)
    assert report_boot.main(["--report"]) == 1
    assert not (machine / "run").exists()
    # The next attempt has a token of its own.
    another = order.replace(ORDER.token.encode(), b"3f9b")
    (machine / report_boot.ORDER_VARIABLE).write_bytes(another)
    assert report_boot.main(["--report"]) == 0
    assert (machine / "run").exists()


def test_a_key_stops_the_restart_and_is_reported(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_boot, "_is_key_pressed", lambda _: True)
    assert report_boot.main(["--report"]) == 0
    assert parse_report(_read(machine, report_boot.REPORT_VARIABLE).decode()).stopped
    assert not (machine / "run").exists()


def test_figures_that_cannot_be_read_are_reported_as_that(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Order) -> BootReport:
        raise OSError("no such partition")

    monkeypatch.setattr(report_boot, "_collect", fail)
    assert report_boot.main(["--report"]) == 0
    report = parse_report(_read(machine, report_boot.REPORT_VARIABLE).decode())
    assert (report.token, report.error) == (ORDER.token, "no such partition")
    assert (machine / "run").exists(), "it returns, and the appliance says why there is no sample"


def test_a_system_that_does_not_restart_asks_a_person(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: str) -> str:
        raise ReportError("systemctl reboot: Unit reboot.target is masked.")

    said: list[str] = []
    monkeypatch.setattr(report_boot, "_run", fail)
    monkeypatch.setattr(report_boot, "_say", said.append)
    assert report_boot.main(["--report"]) == 1
    assert "restart it by hand" in said[-1]
    assert (machine / report_boot.REPORT_VARIABLE).exists(), "what it reported stays"
    assert _read(machine, f"BootNext-{report_boot._GLOBAL_GUID}") == b"\3\0", "and the way back"


def test_an_entry_that_is_gone_is_not_started(machine: Path) -> None:
    (machine / f"Boot0003-{report_boot._GLOBAL_GUID}").unlink()
    assert report_boot.main(["--report"]) == 0
    assert not (machine / f"BootNext-{report_boot._GLOBAL_GUID}").exists()


def test_what_is_installed_is_removed_whole(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, ...]] = []

    def run(*words: str) -> str:
        asked.append(words)
        return "systemd 257 (257.13-1)"

    monkeypatch.setattr(report_boot, "_run", run)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    for name in ("_SYSTEMD", "_UNITS"):
        monkeypatch.setattr(report_boot, name, machine)
    monkeypatch.setattr(report_boot, "_PROGRAM", machine / "program.py")
    assert report_boot.main(["--install"]) == 0
    assert "only in a start that Kaltstart has asked for" in " ".join(
        capsys.readouterr().out.split()
    )
    assert f"{machine}/program.py --report" in (machine / report_boot.UNIT).read_text()
    assert ("systemctl", "enable", report_boot.UNIT) in asked
    (machine / "last").write_text(ORDER.token)
    assert report_boot.main(["--remove"]) == 0
    assert not (machine / "last").exists()
    assert not (machine / report_boot.UNIT).exists()
    assert not (machine / "program.py").exists()
    assert ("systemctl", "disable", report_boot.UNIT) in asked


@pytest.mark.parametrize(
    ("missing", "why"), [("_SYSTEMD", "does not run systemd"), ("_EFIVARS", "UEFI firmware")]
)
def test_a_machine_that_cannot_report_is_told_why(
    machine: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    missing: str,
    why: str,
) -> None:
    monkeypatch.setattr(report_boot, "_run", lambda *_: "systemd 257")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    for name in ("_SYSTEMD", "_UNITS"):
        monkeypatch.setattr(report_boot, name, machine)
    monkeypatch.setattr(report_boot, missing, machine / "absent")
    assert report_boot.main(["--install"]) == 1
    assert why in capsys.readouterr().err
    assert not (machine / report_boot.UNIT).exists()


@pytest.mark.parametrize(
    ("root", "disk"),
    [
        ("/dev/sda2", ""),
        ("/dev/sdb2", "sdb"),
        ("/dev/dm-0", "sdb"),
        ("/dev/md126p2", ""),
        ("overlay", ""),
        ("volatile", "sdb"),
        ("rpool/ROOT/debian", ""),
    ],
)
def test_a_system_with_its_root_on_another_drive_has_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str, disk: str
) -> None:
    """As of two drives whose file systems or volume groups go by one name."""
    for name in ("sda/sda1", "sda/sda2", "sdb/sdb2"):
        (tmp_path / "devices" / name).mkdir(parents=True)
        (tmp_path / "devices" / name / "partition").touch()
    (tmp_path / "devices/sda/stat").write_text("1 2 3")
    (tmp_path / "devices/dm-0/slaves").mkdir(parents=True)
    (tmp_path / "devices/dm-0/slaves/sdb2").symlink_to(tmp_path / "devices/sdb/sdb2")
    for name, part in (("md126/slaves", "sda/sda2"), ("md126/md126p2", "")):
        (tmp_path / "devices" / name).mkdir(parents=True)
        if part:
            (tmp_path / "devices" / name / "sda2").symlink_to(tmp_path / "devices" / part)
    (tmp_path / "devices/md126/md126p2/partition").touch()
    for folder in ("class", "by-partuuid"):
        (tmp_path / folder).mkdir()
    for name in ("sda/sda1", "sda/sda2", "sdb/sdb2", "dm-0", "md126/md126p2"):
        link = tmp_path / "class" / Path(name).name
        link.symlink_to(tmp_path / "devices" / name)
    (tmp_path / "by-partuuid" / ORDER.esp_partuuid).symlink_to(tmp_path / "sda1")
    (tmp_path / "sda1").touch()
    (tmp_path / "mounts").write_bytes(
        b"22 1 0:21 / /proc rw - proc proc rw\n"
        b"30 1 0:30 / / rw,relatime shared:1 - btrfs %s rw\n"
        b"31 30 0:31 / /media/M\xfcll\x0cand\xc2\x85 rw - ext4 /dev/sdz rw\n" % root.encode()
    )
    (tmp_path / f"BootCurrent-{report_boot._GLOBAL_GUID}").write_bytes(b"\6\0\0\0\x80\0")
    monkeypatch.setattr(report_boot, "_EFIVARS", tmp_path)
    monkeypatch.setattr(report_boot, "_BLOCKS", tmp_path / "class")
    monkeypatch.setattr(report_boot, "_BY_PARTUUID", tmp_path / "by-partuuid")
    monkeypatch.setattr(report_boot, "_MOUNTS", tmp_path / "mounts")
    if root == "volatile":
        (tmp_path / "sdb2").touch()
        (tmp_path / "volatile-root").symlink_to(tmp_path / "sdb2")
    monkeypatch.setattr(report_boot, "_VOLATILE_ROOT", tmp_path / "volatile-root", raising=False)
    monkeypatch.setattr(report_boot, "_run", lambda *_: "FinishTimestampMonotonic=1")
    monkeypatch.setattr(report_boot, "_find_start_s", lambda: None)
    if disk:
        with pytest.raises(ReportError, match=f"its root file system is on {disk}, another drive"):
            report_boot._collect(ORDER)
    else:
        assert report_boot._collect(ORDER).stat == "1 2 3"


@pytest.mark.parametrize(
    ("noted", "is_known"),
    [
        ("t 1732576000250000\n", True),
        ("t 1732575999000000\n", True),
        ("t 1732572400250000\n", False),
        ("", False),
    ],
)
def test_a_hardware_clock_that_was_set_meanwhile_tells_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: str, *, is_known: bool
) -> None:
    """As a system does that asks the network for the time."""
    (tmp_path / "since_epoch").write_text("1732576030\n")
    monkeypatch.setattr(report_boot, "_RTC", tmp_path / "since_epoch")
    monkeypatch.setattr(report_boot, "_run", lambda *_: noted)
    monkeypatch.setattr("time.monotonic", lambda: 30.25)
    assert report_boot._find_start_s() == (1732575999.75 if is_known else None)
