# SPDX-License-Identifier: Apache-2.0
"""Plans against the drives that are here: what is refused, in one line each."""

from dataclasses import replace

import pytest

from appliance.drives.model import Drive
from appliance.plan.machine_rules import find_conflicts, find_doubtful_releases
from appliance.plan.model import Plan
from appliance.plan.read import parse_plan

HDD = Drive(
    path="/dev/sda",
    serial="LAB-HDD-1",
    wwn="0x5000000000000001",
    model="hdd",
    firmware="1",
    size_bytes=4_000_000_000,
    rotational=True,
    transport="sata",
    logical_block_bytes=512,
    physical_block_bytes=4096,
)
SSD = replace(HDD, path="/dev/sdb", serial="LAB-SSD-1", wwn="0x5000000000000002", rotational=False)
STICK = replace(HDD, path="/dev/sdc", serial="STICK-1", wwn="0x5000000000000003", removable=True)
HERE = (HDD, SSD, STICK)


def conflicts(
    *keys: str, drives: tuple[Drive, ...] = HERE, stick: Drive | None = STICK, root_bytes: int = 0
) -> tuple[str, ...]:
    """Of a plan with one drive per text of `keys`; `=X` means serial and release X."""
    tables = []
    for each in keys:
        table = f'serial = "{each[1:]}"\nerase = "{each[1:]}"' if each[0] == "=" else each
        tables.append(f"[[drive]]\n{table}\n")
    plan = parse_plan(f"version = 1\nboot = {{}}\n{''.join(tables)}")
    found = find_conflicts(plan, drives, stick=stick, root_bytes=root_bytes)
    return tuple(map(str, found))


def test_a_plan_that_fits() -> None:
    assert conflicts("=LAB-HDD-1", "=LAB-SSD-1") == ()
    both = f'serial = "{HDD.serial}"\nwwn = "{HDD.wwn}"\nerase = "{HDD.serial}"'
    by_wwn = f'wwn = "{SSD.wwn}"\nerase = "{SSD.wwn}"'
    assert conflicts(both, by_wwn) == ()
    assert conflicts("=LAB-HDD-1", stick=None) == ()


def test_an_absent_drive_and_what_is_here_instead() -> None:
    (line,) = conflicts("=lab-hdd-1")
    assert line == (
        'drive "lab-hdd-1" is not here; here are "LAB-HDD-1" (/dev/sda, 4.0 GB), '
        '"LAB-SSD-1" (/dev/sdb, 4.0 GB)'
    )
    assert conflicts("=A", drives=(STICK,)) == ('drive "A" is not here; no drive is',)


def test_a_drive_without_identity_matches_nothing() -> None:
    nameless = replace(HDD, serial="", wwn="")
    assert conflicts("=A", drives=(nameless, STICK)) == (
        'drive "A" is not here; here is one without serial or WWN (/dev/sda, 4.0 GB)',
    )


def test_two_drives_with_one_serial() -> None:
    twin = replace(SSD, serial=HDD.serial)
    (line,) = conflicts("=LAB-HDD-1", drives=(HDD, twin, STICK))
    assert line == (
        'drive "LAB-HDD-1" is ambiguous: /dev/sda and /dev/sdb report the same serial; '
        "take out all but one, or only read the one you mean and name it by its WWN alone: "
        'wwn = "0x5000000000000001" or wwn = "0x5000000000000002"'
    )
    (line,) = conflicts("=lab-hdd-1", drives=(HDD, twin, STICK))
    assert line.endswith(
        'here are "LAB-HDD-1" (WWN "0x5000000000000001", /dev/sda, 4.0 GB), '
        '"LAB-HDD-1" (WWN "0x5000000000000002", /dev/sdb, 4.0 GB)'
    )


def test_a_drive_that_can_only_be_read_is_refused_before_anything_begins() -> None:
    twins = (
        replace(HDD, twins=("/dev/sdb",)),
        replace(SSD, serial=HDD.serial, twins=("/dev/sda",)),
    )
    (line,) = conflicts(f'wwn = "{HDD.wwn}"\nerase = "{HDD.wwn}"', drives=(*twins, STICK))
    assert line == (
        f'drive "{HDD.wwn}" (/dev/sda) shows the same identity as /dev/sdb, so nothing is written '
        "to it; take out all but one, or give it only tests that read"
    )
    text = 'version = 1\n[[drive]]\nwwn = "{}"\n[[workload]]\nkind = "surface"\n'
    only_read = parse_plan(text.format(HDD.wwn))
    assert find_conflicts(only_read, (*twins, STICK), stick=STICK, root_bytes=0) == ()


def test_a_wwn_does_not_help_to_tell_twins_apart() -> None:
    twin = replace(SSD, serial=HDD.serial)
    both = f'serial = "{HDD.serial}"\nwwn = "{HDD.wwn}"\nerase = "{HDD.serial}"'
    assert "is ambiguous" in conflicts(both, drives=(HDD, twin, STICK))[0]


def test_two_drives_with_one_wwn() -> None:
    twin = replace(SSD, wwn=HDD.wwn)
    by_wwn = f'wwn = "{HDD.wwn}"\nerase = "{HDD.wwn}"'
    assert "report the same WWN" in conflicts(by_wwn, drives=(HDD, twin))[0]


def test_the_stick_is_never_a_drive() -> None:
    line = 'drive "STICK-1" is the stick this runs from; it is never a drive to test'
    assert conflicts("=STICK-1") == (line,)
    assert conflicts("=STICK-1", drives=(HDD, SSD)) == (line,)
    twin = replace(HDD, serial=STICK.serial)
    assert conflicts("=STICK-1", drives=(twin, STICK)) == (line,)
    assert "is the stick" in conflicts(f'wwn = "{STICK.wwn}"\nerase = "{STICK.wwn}"')[0]


def test_serial_and_wwn_must_belong_together() -> None:
    both = f'serial = "{HDD.serial}"\nwwn = "{SSD.wwn}"\nerase = "{HDD.serial}"'
    assert conflicts(both) == (
        f'drive "LAB-HDD-1" reports WWN "{HDD.wwn}", the plan says "{SSD.wwn}"',
    )
    assert "reports no WWN" in conflicts(both, drives=(replace(HDD, wwn=""),))[0]


def test_one_drive_under_two_names() -> None:
    by_wwn = f'wwn = "{HDD.wwn}"\nerase = "{HDD.wwn}"'
    assert conflicts("=LAB-HDD-1", by_wwn) == (
        "/dev/sda is named twice in the plan, by serial and by WWN",
    )


def test_a_drive_in_use() -> None:
    busy = replace(HDD, mountpoints=("/mnt/a\x1b", "[SWAP]"), holders=("md0 (raid1)",))
    assert conflicts("=LAB-HDD-1", drives=(busy, STICK)) == (
        r'drive "LAB-HDD-1" (/dev/sda) is mounted at "/mnt/a\x1b", "[SWAP]"',
        'drive "LAB-HDD-1" (/dev/sda) is in use by md0 (raid1)',
    )


def test_a_drive_too_small_for_the_system() -> None:
    assert conflicts("=LAB-HDD-1", root_bytes=3_600_000_000) == ()
    assert conflicts("=LAB-HDD-1", root_bytes=4_000_000_000) == (
        'drive "LAB-HDD-1" holds 4.0 GB; the boot test needs about 4.3 GB',
    )


def test_a_drive_that_is_read_only_for_now_is_no_conflict() -> None:
    """All drives are, until they are released."""
    assert conflicts("=LAB-HDD-1", drives=(replace(HDD, read_only=True), STICK)) == ()


PROTECTED = replace(HDD, read_only=True, write_protected=True)


def test_a_drive_that_forbids_writing_itself_is_refused_before_anything_begins() -> None:
    (line,) = conflicts("=LAB-HDD-1", "=LAB-SSD-1", drives=(PROTECTED, SSD, STICK))
    assert line == (
        'drive "LAB-HDD-1" (/dev/sda) is write-protected by the drive itself; look for a switch '
        "on it or on its case and plug it in again, or give it only tests that read"
    )


@pytest.mark.parametrize(("on", "refused"), [("LAB-SSD-1", 0), ("LAB-HDD-1", 1)])
def test_it_may_stand_beside_a_drive_that_is_written_to(on: str, refused: int) -> None:
    plan = parse_plan(
        'version = 1\n[[drive]]\nserial = "LAB-HDD-1"\nerase = "LAB-HDD-1"\n'
        '[[drive]]\nserial = "LAB-SSD-1"\nerase = "LAB-SSD-1"\n'
        '[[workload]]\nkind = "surface"\n'
        f'[[workload]]\nkind = "verify"\nsize = "64M"\non = ["{on}"]\n'
    )
    assert len(find_conflicts(plan, (PROTECTED, SSD, STICK), stick=STICK)) == refused


@pytest.mark.parametrize(
    ("removable", "why"), [(True, "has no medium"), (False, "reports no capacity: it is not ready")]
)
def test_a_drive_without_capacity_is_refused_with_the_reason(*, removable: bool, why: str) -> None:
    empty = replace(HDD, size_bytes=0, removable=removable)
    (line,) = conflicts("=LAB-HDD-1", drives=(empty, STICK))
    assert line.startswith(f'drive "LAB-HDD-1" (/dev/sda) {why}')


def test_the_empty_slots_of_a_card_reader_do_not_stand_for_its_card() -> None:
    slot = replace(HDD, path="/dev/sdx", size_bytes=0, removable=True)
    assert conflicts("=LAB-HDD-1", drives=(slot, HDD, STICK)) == ()


def test_the_drives_of_an_array_are_written_to_whatever_runs_on_it() -> None:
    plan = parse_plan(
        'version = 1\n[array]\n[[drive]]\nserial = "LAB-HDD-1"\nerase = "LAB-HDD-1"\n'
        'role = "backing"\n'
        '[[drive]]\nserial = "LAB-SSD-1"\nerase = "LAB-SSD-1"\nrole = "cache"\n'
        '[[workload]]\nkind = "surface"\non = "array"\n'
    )
    (line,) = map(str, find_conflicts(plan, (PROTECTED, SSD, STICK), stick=STICK))
    assert "is write-protected by the drive itself" in line


def test_what_a_lottery_reads_of_a_bare_drive_begins_at_whole_mebibytes() -> None:
    tickets = ", ".join(f"f{number} = 1" for number in range(300))
    plan = parse_plan(
        'version = 1\n[[drive]]\nserial = "LAB-HDD-1"\n[[workload]]\nkind = "lottery"\n'
        f'filesystem = "none"\nfile_size = "4K"\ntickets = {{ {tickets} }}\n'
    )
    fits = replace(HDD, size_bytes=300 << 20)
    assert find_conflicts(plan, (fits,), stick=STICK) == ()
    small = replace(HDD, size_bytes=(300 << 20) - 4096)
    (line,) = map(str, find_conflicts(plan, (small,), stick=STICK))
    assert line == 'drive "LAB-HDD-1" holds 315 MB; workload 1 (lottery) needs about 315 MB'


def test_every_conflict_is_reported_in_the_plans_order() -> None:
    lines = conflicts("=STICK-1", "=GONE\\u001B", "=LAB-HDD-1")
    assert [line.split(" is ")[0] for line in lines] == ['drive "STICK-1"', r'drive "GONE\x1b"']


_DOCKED = replace(
    HDD,
    serial="0123456789ABCDEF",
    enclosure_serial="0123456789ABCDEF",
    serial_doubt="is the dock's",
)
_NUMBER = 'serial = "0123456789ABCDEF"'


def test_a_number_of_a_dock_releases_no_drive_without_its_model_and_size() -> None:
    (line,) = conflicts("=0123456789ABCDEF", drives=(_DOCKED, STICK))
    assert line == (
        'drive "0123456789ABCDEF": is the dock\'s; to release it add model = "hdd" and '
        "size = 4000000000 beside erase, if this is the drive you mean"
    )
    named = f'{_NUMBER}\nerase = "0123456789ABCDEF"\nmodel = "hdd"\nsize = 4000000000'
    assert conflicts(named, drives=(_DOCKED, STICK)) == ()


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"model": "other"}, 'is a "other", the plan says "hdd"'),
        ({"size_bytes": 4_000_000_512}, "has 4000000512 bytes, the plan says 4000000000"),
    ],
)
def test_another_disk_in_the_dock_is_not_the_one_that_was_released(
    there: dict[str, str | int], said: str
) -> None:
    named = f'{_NUMBER}\nerase = "0123456789ABCDEF"\nmodel = "hdd"\nsize = 4000000000'
    (line,) = conflicts(named, drives=(replace(_DOCKED, **there), STICK))  # type: ignore[arg-type]
    assert line.endswith(said)


def test_the_number_of_an_enclosure_is_no_drives() -> None:
    housed = replace(HDD, enclosure_serial="152D00539000")
    (line,) = conflicts("=152D00539000", drives=(housed, STICK))
    assert line == (
        'drive "152D00539000" is no drive but the enclosure of "LAB-HDD-1"; name the drive'
    )


def test_a_released_drive_in_doubt_is_never_started_automatically() -> None:
    text = f"version = 1\nboot = {{}}\n[[drive]]\n{_NUMBER}\n"
    plan = parse_plan(text + 'erase = "0123456789ABCDEF"\n')
    (line,) = find_doubtful_releases(plan, (_DOCKED, STICK))
    assert "does not start automatically" in line
    read = "version = 1\n[[drive]]\n" + _NUMBER + '\n[[workload]]\nkind = "surface"\n'
    assert find_doubtful_releases(parse_plan(read), (_DOCKED, STICK)) == ()


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        ("nvme", "; if they are namespaces of one NVMe drive, it cannot be tested"),
        ("sas", "; if they are the two actuators of one SAS drive, it cannot be tested"),
        ("sata", ""),
    ],
)
def test_parts_of_one_drive_are_refused_and_it_is_said_why(transport: str, said: str) -> None:
    pair = [replace(each, serial="S", transport=transport) for each in (HDD, SSD)]
    (line,) = conflicts("=S", drives=(*pair, STICK))
    assert f"report the same serial; take out all but one{said}, or only read" in line


@pytest.mark.parametrize(
    ("rest", "refused"),
    [
        ("[boot]\n", True),
        ('[boot]\nmode = "replay"\n', False),
        ('[[workload]]\nkind = "verify"\n', False),
    ],
)
def test_a_drive_with_two_paths_is_not_booted_from(rest: str, refused: bool) -> None:  # noqa: FBT001
    dual = replace(HDD, other_paths=("/dev/sdd",))
    other = replace(HDD, path="/dev/sdd", main_path=HDD.path)
    plan = parse_plan(f'version = 1\n[[drive]]\nserial = "LAB-HDD-1"\nerase = "LAB-HDD-1"\n{rest}')
    found = [str(each) for each in find_conflicts(plan, (dual, other, STICK), stick=STICK)]
    assert [("take out the cable" in each) for each in found] == [True] * refused


def _installed(*drives: Drive) -> tuple[str, ...]:
    """Conflicts of a plan that starts the HDD's own system, with these drives here."""
    table = '[[drive]]\nserial = "LAB-HDD-1"\nstart = "LAB-HDD-1"\n'
    plan = parse_plan(f'version = 1\n{table}[boot]\npath = "installed"\n')
    return tuple(map(str, find_conflicts(plan, drives, stick=STICK, root_bytes=1 << 40)))


def test_no_drive_may_be_here_that_is_not_released_for_the_started_system() -> None:
    assert _installed(HDD, STICK) == (), "nor is anything to fit on it"
    sibling = replace(STICK, path="/dev/sdd", serial="S-2", partition_labels=("KALTSTART",))
    assert _installed(HDD, STICK, sibling, replace(SSD, size_bytes=0, removable=True)) == ()
    (line,) = _installed(HDD, STICK, replace(SSD, size_bytes=0))
    assert line.startswith('drive "LAB-SSD-1" (/dev/sdb) is not in the plan'), "it may spin up"
    (line,) = _installed(HDD, SSD, STICK)
    assert line.startswith('drive "LAB-SSD-1" (/dev/sdb) is not in the plan')
    assert "unplug it" in line


def _both_installed() -> Plan:
    """A plan that starts the systems of both drives."""
    tables = "".join(
        f'[[drive]]\nserial = "{each.serial}"\nstart = "{each.serial}"\n' for each in (HDD, SSD)
    )
    return parse_plan(f'version = 1\n{tables}[boot]\npath = "installed"\n')


def test_copies_of_one_system_are_not_started_beside_each_other() -> None:
    """Their partitions have the same UUIDs: the firmware and the system take either."""
    plan = _both_installed()
    uuids = ("0f0f0f0f-0001-4000-8000-000000000001", "0f0f0f0f-0001-4000-8000-000000000002")
    first, copy = replace(HDD, partition_uuids=uuids), replace(SSD, partition_uuids=uuids[:1])
    (line,) = map(str, find_conflicts(plan, (first, copy, STICK), stick=STICK))
    assert '"LAB-HDD-1" (/dev/sda) and "LAB-SSD-1" (/dev/sdb)' in line
    assert "unplug" in line
    other = replace(SSD, partition_uuids=uuids[1:])
    assert find_conflicts(plan, (replace(HDD, partition_uuids=uuids[:1]), other), stick=None) == ()


def test_a_clone_with_new_partition_uuids_is_not_started_beside_its_original() -> None:
    """By root=UUID= the loader of one drive mounts the other's file system."""
    plan = _both_installed()
    first = replace(HDD, partition_uuids=("a",), file_system_uuids=("1b2c-3d4e", "0f-root"))
    clone = replace(SSD, partition_uuids=("b",), file_system_uuids=("5f6a-7b8c", "0f-root"))
    (line,) = map(str, find_conflicts(plan, (first, clone, STICK), stick=STICK))
    assert '"LAB-HDD-1" (/dev/sda) and "LAB-SSD-1" (/dev/sdb)' in line
    assert "file system" in line
    assert "unplug" in line
    other = replace(clone, file_system_uuids=("5f6a-7b8c",))
    assert find_conflicts(plan, (first, other, STICK), stick=STICK) == ()
    # One line for a full copy, whose partitions tell already.
    copy = replace(clone, partition_uuids=("a",))
    assert len(find_conflicts(plan, (first, copy, STICK), stick=STICK)) == 1


def test_a_number_that_other_drives_have_does_not_release_a_start() -> None:
    (line,) = _installed(replace(HDD, serial_doubt="it is an enclosure's"), STICK)
    assert "beside start, if this is the drive you mean" in line
