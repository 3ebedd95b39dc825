# SPDX-License-Identifier: Apache-2.0
"""What is read of the machine, and its clock."""

import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.machine.clock import pack_rtc_time, parse_time
from appliance.machine.facts import (
    StickPlace,
    find_images,
    parse_cpuinfo,
    parse_is_virtual,
    parse_versions,
    read_fixed,
    read_machine,
    read_space,
)

_NOW_S = 1_795_328_640.0  # 2026-11-22 06:24:00 UTC
_GUID = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
_CPUINFO = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Processor @  2.60GHz
flags\t\t: fpu vme rdrand hypervisor lahf_lm
bogomips\t: 5200.00
power management:

processor\t: 1
model name\t: Intel(R) Xeon(R) Processor @  2.60GHz

"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def stick(tmp_path: Path) -> StickPlace:
    return StickPlace(
        disk="sdc",
        data_partition="sdc6",
        data=tmp_path,
        fat=tmp_path / "gone",
        model="SanDisk Ultra",
        serial="4C53",
    )


def test_all_is_read(tmp_path: Path, stick: StickPlace) -> None:
    write(
        tmp_path,
        {
            "proc/cpuinfo": _CPUINFO,
            "proc/meminfo": "MemTotal:        4030012 kB\nMemFree:         123456 kB\n",
            "proc/sys/kernel/osrelease": "6.12.57+deb13-amd64\n",
            "sys/class/dmi/id/sys_vendor": "QEMU\n",
            "sys/class/dmi/id/product_name": "Standard PC (Q35 + ICH9, 2009)\n",
            "sys/class/dmi/id/board_vendor": "QEMU\n",
            "sys/class/dmi/id/board_name": "Q35\n",
            "sys/class/dmi/id/bios_version": "2025.02-8\n",
            "sys/class/dmi/id/bios_date": "06/01/2025\n",
            "sys/class/rtc/rtc0/since_epoch": f"{int(_NOW_S) + 90}\n",
            "sys/class/rtc/rtc0/wakealarm": f"{int(_NOW_S) + 90 + 605}\n",
            "sys/class/block/sdc/ro": "1\n",
            "sys/class/block/sdc/device/ioerr_cnt": "0x1f\n",
            "sys/fs/ext4/sdc6/errors_count": "2\n",
        },
    )
    fixed = read_fixed(
        firmware="uefi",
        versions={"fio": "3.39-1"},
        sys=tmp_path / "sys",
        proc=tmp_path / "proc",
    )
    assert (fixed.vendor, fixed.model, fixed.serial) == (
        "QEMU",
        "Standard PC (Q35 + ICH9, 2009)",
        "",
    )
    assert (fixed.board, fixed.is_virtual) == ("QEMU Q35", True)
    assert fixed.firmware_version == "2025.02-8 06/01/2025"
    assert (fixed.processor, fixed.processors) == ("Intel(R) Xeon(R) Processor @ 2.60GHz", 2)
    assert fixed.ram_bytes == 4030012 * 1024
    assert fixed.versions == {"Linux": "6.12.57+deb13-amd64", "fio": "3.39-1"}
    facts = read_machine(stick, keyboard="de", language="en", sys=tmp_path / "sys", now_s=_NOW_S)
    assert facts.at == "2026-11-22 06:24"
    assert (facts.clock_ahead_s, facts.can_wake, facts.alarm_in_s) == (90, True, 600)
    assert facts.stick_read_only
    assert (facts.stick_errors, facts.data_errors) == (31, 2)
    assert facts.data is not None
    assert 0 < facts.data.free_bytes <= facts.data.total_bytes
    assert facts.fat is None


def test_a_machine_that_tells_nothing_is_no_error(tmp_path: Path, stick: StickPlace) -> None:
    fixed = read_fixed(firmware="bios", versions={}, sys=tmp_path, proc=tmp_path)
    assert (fixed.processor, fixed.processors, fixed.ram_bytes) == ("", 0, 0)
    assert (fixed.secure_boot, fixed.board, fixed.is_virtual) == ("not supported", "", False)
    facts = read_machine(stick, keyboard="us", language="en", sys=tmp_path, now_s=0.0)
    assert (facts.clock_ahead_s, facts.can_wake, facts.alarm_in_s) == (None, False, None)
    assert (facts.stick_errors, facts.data_errors, facts.stick_read_only) == (None, None, False)


@pytest.mark.parametrize(
    ("secure", "setup", "said"),
    [(1, 0, "on"), (0, 0, "off"), (0, 1, "setup mode")],
)
def test_secure_boot_is_the_fifth_byte(secure: int, setup: int, said: str, tmp_path: Path) -> None:
    folder = tmp_path / "firmware/efi/efivars"
    folder.mkdir(parents=True)
    for name, value in (("SecureBoot", secure), ("SetupMode", setup)):
        (folder / f"{name}-{_GUID}").write_bytes(b"\x06\0\0\0" + bytes([value]))
    fixed = read_fixed(firmware="uefi", versions={}, sys=tmp_path, proc=tmp_path)
    assert fixed.secure_boot == said


def test_an_odd_processor_has_no_name() -> None:
    assert parse_cpuinfo("processor : 0\nisa : rv64\n") == ("", 1)


def test_only_the_flag_itself_tells_of_a_hypervisor() -> None:
    assert parse_is_virtual(_CPUINFO)
    assert not parse_is_virtual(_CPUINFO.replace(" hypervisor", " vmx"))
    assert not parse_is_virtual(_CPUINFO.replace("flags", "vmx flags"))


def test_space_that_cannot_be_asked_is_none(tmp_path: Path) -> None:
    assert read_space(tmp_path / "gone") is None


def test_versions_are_lines_of_two_words() -> None:
    assert parse_versions("fio 3.39-1\nbcache-tools 1.0.8-5\nodd\n\n") == {
        "fio": "3.39-1",
        "bcache-tools": "1.0.8-5",
    }


def test_a_time_is_taken_as_utc_or_refused() -> None:
    assert parse_time(" 2026-11-22 06:24 ") == datetime(2026, 11, 22, 6, 24, tzinfo=UTC)
    for wrong in ("", "06:24", "2026-13-01 00:00", "22.11.2026 06:24"):
        with pytest.raises(ValueError, match="write it as"):
            parse_time(wrong)


def test_the_hardware_clock_counts_months_from_0_and_years_from_1900() -> None:
    packed = pack_rtc_time(datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC))
    assert struct.unpack("9i", packed)[:6] == (58, 59, 23, 31, 0, 126)
    assert len(packed) == 0x24  # the size that the request's number carries


def test_images_are_known_by_the_names_that_a_release_gives_them() -> None:
    newest, older, oldest = (
        f"kaltstart-{version}-amd64.img.xz" for version in ("0.10.0", "0.9", "0.1.0")
    )
    other = ("kaltstart-0.2.0-amd64.img", "kaltstart-0.2.0-amd64.img.xz.part", "SHA256SUMS")
    assert find_images([oldest, *other, newest, older]) == (newest, older, oldest)
    assert find_images(["KALTSTART-0.1.0-AMD64.IMG.XZ"]) == ("KALTSTART-0.1.0-AMD64.IMG.XZ",)
    assert find_images([]) == ()
