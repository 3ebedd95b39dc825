# SPDX-License-Identifier: Apache-2.0
"""Which drives get the reference OS, and what a failure leaves behind."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from appliance.campaign.boots import install as module
from appliance.campaign.boots.install import prepare
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.context import CampaignContext
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.drives.model import Drive
from appliance.drives.serial_number import BRIDGE
from appliance.drives.unlock import Unlocked
from appliance.errors import KaltstartError, RefusedError, StepFailedError, StickError
from appliance.plan.model import ArrayPlan
from appliance.progress import Progress
from appliance.reference_os.install import root_partuuid
from appliance.store.tables.campaigns import CampaignDriveRow
from appliance.workloads.drive_content import Signature, parse_content
from tests.unit.campaign.world import HDD, SSD, STICK, World, install_uuid

PLAN = """
version = 1
[[drive]]
serial = "LAB-HDD-1"
erase = "LAB-HDD-1"
[boot]
boot_set = "8M"
"""


class Installer:
    """In the place of `install_reference_os`: notes each call; `errors` by serial number."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.calls: list[dict[str, object]] = []
        self.errors: dict[str, BaseException] = {}

    def __call__(
        self,
        target: Unlocked,
        *,
        install_uuid: str,
        slot: int,
        boot_set_bytes: int,
        progress: Progress,
        show: Callable[[str], None],
        stick_esp: str,
    ) -> None:
        """Install."""
        assert not stick_esp, "these boots are started by the stick's loader"
        drive = target.drive
        show(f"{drive.serial}: wipe {drive.path} (ext4)")
        self.calls.append(
            {
                "serial": drive.serial,
                "path": drive.path,
                "install_uuid": install_uuid,
                "slot": slot,
                "boot_set_bytes": boot_set_bytes,
            }
        )
        progress("partitions", 0, 100)
        if drive.serial in self.errors:
            raise self.errors[drive.serial]
        self.world.carry(drive, install_uuid)


class _CutError(BaseException):
    """Power goes."""


@pytest.fixture
def installer(world: World, monkeypatch: pytest.MonkeyPatch) -> Installer:
    installer = Installer(world)
    monkeypatch.setattr(module, "install_reference_os", installer)
    return installer


class ArrayInstaller:
    """In the place of `install_on_array`."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ArrayPlan, int]] = []

    def __call__(
        self,
        _site: CampaignContext,
        _campaign_id: int,
        row: CampaignDriveRow,
        *,
        plan: ArrayPlan,
        boot_set_bytes: int,
        **_: object,
    ) -> str:
        """Install."""
        self.calls.append((row.identity, plan, boot_set_bytes))
        return install_uuid(row.slot)


def prepared(world: World) -> list[tuple[str, int, int]]:
    """Prepare; return what the progress said."""
    said: list[tuple[str, int, int]] = []
    prepare(
        world.context(),
        1,
        stick=STICK,
        progress=lambda label, done, total: said.append((label, done, total)),
    )
    return said


def test_each_drive_gets_its_own_slot(world: World, installer: Installer) -> None:
    world.make_campaign(plan_toml=PLAN, state="preparing")
    said = [label for label, _, _ in prepared(world)]
    assert {label.partition(": ")[0] for label in said} == {"LAB-HDD-1", "LAB-SSD-1"}
    asked = {"stick": STICK.drive, "noted": None}
    assert world.unlockings == [
        asked | {"path": "/dev/sda", "released_identity": "LAB-HDD-1"},
        asked | {"path": "/dev/sdb", "released_identity": "LAB-SSD-1"},
    ]
    made = [row.install_uuid for row in world.drive_rows()]
    assert len(set(made)) == 2
    common = {"boot_set_bytes": 8 << 20}
    assert installer.calls == [
        common | {"serial": "LAB-HDD-1", "path": "/dev/sda", "slot": 1, "install_uuid": made[0]},
        common | {"serial": "LAB-SSD-1", "path": "/dev/sdb", "slot": 2, "install_uuid": made[1]},
    ]
    assert world.campaign().state == "running"
    assert all(row.installed_at for row in world.drive_rows())
    assert world.events() == [
        ("install", "reference OS to LAB-HDD-1 (/dev/sda)"),
        ("clearing", "LAB-HDD-1: wipe /dev/sda (ext4)"),
        ("install", "reference OS to LAB-SSD-1 (/dev/sdb)"),
        ("clearing", "LAB-SSD-1: wipe /dev/sdb (ext4)"),
    ]


def test_a_drive_is_found_by_what_it_is_not_by_where_it_was(
    world: World, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drives swap names while the first one is written."""
    world.make_campaign(plan_toml=PLAN, state="preparing")
    answers = iter([(HDD, SSD), (replace(HDD, path="/dev/sdb"), replace(SSD, path="/dev/sda"))])
    world.access = replace(world.access, find_settled=lambda: next(answers))
    prepared(world)
    assert [(call["serial"], call["path"]) for call in installer.calls] == [
        ("LAB-HDD-1", "/dev/sda"),
        ("LAB-SSD-1", "/dev/sda"),
    ]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (StepFailedError("/dev/sda: Input/output error"), "step-failed"),
        (RefusedError("/dev/sda is mounted at /mnt", hint="unmount it"), "refused"),
    ],
)
def test_a_drive_that_fails_is_left_out_and_the_others_stay_in(
    world: World, installer: Installer, error: KaltstartError, line: str
) -> None:
    world.make_campaign(plan_toml=PLAN, state="preparing")
    installer.errors = {"LAB-HDD-1": error}
    prepared(world)
    assert len(installer.calls) == 2
    hdd, ssd = world.drive_rows()
    assert (hdd.installed_at, hdd.failed_reason) == (None, error.message)
    assert ssd.installed_at
    assert ssd.failed_reason == ""
    assert world.states() == ["failed", "planned", "failed", "planned"]
    assert world.lines == [(line, {"id": 1, "drive": "LAB-HDD-1", "reason": error.message})]
    assert ("install-failed", f"LAB-HDD-1: {error}") in world.events()
    assert world.campaign().state == "running"
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.entry == "measure-02"


def test_a_drive_no_one_released_is_never_handed_to_the_installer(
    world: World, installer: Installer
) -> None:
    world.make_campaign(plan_toml=PLAN, state="preparing", released=False)
    prepared(world)
    assert installer.calls == []
    assert world.states() == ["failed"] * 4
    assert [event for event, _ in world.lines] == ["refused", "refused"]
    reason = "drive LAB-HDD-1 is not released for writing"
    assert world.drive_rows()[0].failed_reason == reason


def test_a_drive_that_is_gone_is_left_out(world: World, installer: Installer) -> None:
    world.make_campaign(plan_toml=PLAN, state="preparing")
    world.drives = (SSD,)
    prepared(world)
    assert [call["path"] for call in installer.calls] == ["/dev/sdb"]
    assert world.states() == ["failed", "planned", "failed", "planned"]


@pytest.mark.parametrize(
    "other", [replace(HDD, model="hdd2"), replace(HDD, size_bytes=HDD.size_bytes - 512)]
)
def test_another_disk_behind_the_same_serial_number_is_not_written_to(
    world: World, installer: Installer, other: Drive
) -> None:
    """A USB bridge has the serial number, not the disk in it."""
    world.make_campaign(plan_toml=PLAN, state="preparing")
    world.drives = (other, SSD)
    prepared(world)
    assert [call["path"] for call in installer.calls] == ["/dev/sdb"]
    hdd, _ = world.drive_rows()
    assert "is not the one that was released" in hdd.failed_reason
    assert (hdd.installed_at, hdd.install_uuid) == (None, "")
    assert world.lines[0][0] == "refused"


def test_a_stick_that_takes_nothing_costs_no_drive(world: World, installer: Installer) -> None:
    """The trouble passes, as with a stick that was full: the drive is as good as before."""
    world.make_campaign(plan_toml=PLAN, state="preparing")
    installer.errors = {"LAB-HDD-1": StickError("nothing can be stored any more: disk full")}
    with pytest.raises(StickError):
        prepared(world)
    assert [row.failed_reason for row in world.drive_rows()] == ["", ""]
    assert world.states() == ["planned"] * 4
    assert world.campaign().state == "preparing"
    installer.errors.clear()
    prepared(world)
    assert all(row.installed_at for row in world.drive_rows())


def test_after_a_power_cut_only_what_is_missing_is_written(
    world: World, installer: Installer
) -> None:
    """Written, failed, and the one that was being written."""
    third = replace(HDD, path="/dev/sdd", serial="LAB-HDD-2", wwn="")
    world.make_campaign([HDD, SSD, third], plan_toml=PLAN, state="preparing")
    installer.errors = {"LAB-SSD-1": StepFailedError("x"), "LAB-HDD-2": KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        prepared(world)
    assert world.campaign().state == "preparing"
    installer.errors.clear()
    installer.calls.clear()
    prepared(world)
    assert [call["path"] for call in installer.calls] == ["/dev/sdd"]
    assert world.campaign().state == "running"


def test_a_person_can_stop_it_half_way(world: World, installer: Installer) -> None:
    world.make_campaign(plan_toml=PLAN, state="preparing")
    installer.errors = {"LAB-SSD-1": StoppedByPersonError()}
    with pytest.raises(StoppedByPersonError):
        prepared(world)
    hdd, ssd = world.drive_rows()
    assert hdd.installed_at
    assert (ssd.installed_at, ssd.failed_reason) == (None, "")
    assert world.states() == ["planned"] * 4
    assert world.campaign().state == "preparing"


ARRAY_PLAN = """
version = 1
[[drive]]
serial = "LAB-HDD-1"
role = "backing"
erase = "LAB-HDD-1"
[[drive]]
serial = "LAB-SSD-1"
role = "cache"
erase = "LAB-SSD-1"
[[drive]]
serial = "LAB-HDD-2"
role = "control"
erase = "LAB-HDD-2"
[array]
cache_mode = "writethrough"
[boot]
boot_set = "8M"
"""


def test_an_array_is_installed_in_its_backing_drives_place_and_its_cache_not_at_all(
    world: World, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_array = ArrayInstaller()
    monkeypatch.setattr(module, "install_on_array", on_array)
    control = replace(HDD, path="/dev/sdd", serial="LAB-HDD-2", wwn="")
    world.make_campaign(
        [HDD, SSD, control],
        plan_toml=ARRAY_PLAN,
        state="preparing",
        roles=["backing", "cache", "control"],
    )
    prepared(world)
    ((identity, plan, boot_set_bytes),) = on_array.calls
    assert (identity, plan.cache_mode, boot_set_bytes) == ("LAB-HDD-1", "writethrough", 8 << 20)
    assert [call["path"] for call in installer.calls] == ["/dev/sdd"]
    assert [row.install_uuid for row in world.drive_rows()] == [
        install_uuid(1),
        "",
        installer.calls[0]["install_uuid"],
    ]
    assert [row.failed_reason for row in world.drive_rows()] == ["", "", ""]


def test_both_ends_are_known_as_the_installation_left_them(
    world: World, installer: Installer
) -> None:
    world.make_campaign([HDD], plan_toml=PLAN, state="preparing")
    world.drives = (HDD,)
    world.ends[HDD.path] = "as installed"
    prepared(world)
    (row,) = world.drive_rows()
    assert len(installer.calls) == 1
    noted = parse_content(row.noted_content)
    assert noted is not None
    assert noted.sha256 == "as installed"


@pytest.mark.parametrize("doubt", ["", BRIDGE])
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_disk_that_was_changed_while_the_installing_was_stopped_is_not_overwritten(
    world: World, installer: Installer, doubt: str, *, is_changed: bool
) -> None:
    """Same serial number, model and size: another disk in the same dock."""
    world.make_campaign([HDD], plan_toml=PLAN, state="preparing")
    world.drives = (replace(HDD, serial_doubt=doubt),)
    installer.errors = {"LAB-HDD-1": StoppedByPersonError()}
    world.ends[HDD.path] = "half of it"
    with pytest.raises(StoppedByPersonError):
        prepared(world)
    installer.errors = {}
    if is_changed:
        world.ends[HDD.path] = "foreign"
    prepared(world)
    (row,) = world.drive_rows()
    assert len(installer.calls) == (1 if is_changed else 2)
    assert ("no longer carries" in row.failed_reason) == is_changed
    assert bool(row.install_uuid) != is_changed
    assert (row.mark_sha256, row.written_over) == ("half of it" if is_changed else "", False)


@pytest.mark.parametrize(
    ("doubt", "carries", "calls"),
    [
        ("", "nothing", 2),
        (BRIDGE, "nothing", 1),
        (BRIDGE, "its own", 2),
        (BRIDGE, "another campaign's", 1),
    ],
)
def test_after_a_power_cut_in_the_installing_a_drive_in_doubt_must_carry_its_table(
    world: World, installer: Installer, doubt: str, carries: str, calls: int
) -> None:
    """Another campaign's disk may have been in the same slot: its partitions are named alike."""
    world.make_campaign([HDD], plan_toml=PLAN, state="preparing")
    world.drives = (replace(HDD, serial_doubt=doubt),)
    world.ends[HDD.path] = "half of it"
    installer.errors = {"LAB-HDD-1": _CutError()}
    with pytest.raises(_CutError):
        prepared(world)
    installer.errors = {}
    tables = {
        "nothing": "",
        "its own": str(installer.calls[0]["install_uuid"]),
        "another campaign's": install_uuid(1),
    }
    partitions = () if carries == "nothing" else (root_partuuid(1),)
    now = replace(world.drives[0], disk_uuid=tables[carries], partition_uuids=partitions)
    world.drives = (now,)
    prepared(world)
    (row,) = world.drive_rows()
    assert len(installer.calls) == calls
    assert ("cannot be told from another one" in row.failed_reason) == (calls == 1)
    assert bool(row.install_uuid) == (calls == 2)
    with world.looking() as connection:
        (blame,) = connection.execute("SELECT failed_blame FROM campaign_drive").fetchone()
    assert blame != "drive" or calls == 2, "power went: that is no drive's fault"


@pytest.mark.parametrize(
    ("carries", "calls"),
    [("its own", 2), ("as before", 2), ("nothing", 2), ("another one's", 1), ("a file system", 1)],
)
def test_after_a_power_cut_in_the_installing_nothing_else_may_be_on_the_drive(
    world: World, installer: Installer, carries: str, calls: int
) -> None:
    """Its number is its own, and months may have gone by."""
    world.make_campaign([HDD], plan_toml=PLAN, state="preparing")
    world.drives = (replace(HDD, disk_uuid="before", file_system="ext4"),)
    installer.errors = {"LAB-HDD-1": _CutError()}
    with pytest.raises(_CutError):
        prepared(world)
    installer.errors = {}
    install_uuid = str(installer.calls[0]["install_uuid"])
    tables = {"its own": install_uuid, "as before": "before", "another one's": "another"}
    file_systems = {"as before": "ext4", "a file system": "xfs"}
    world.filled = {install_uuid}
    world.signatures[HDD.path] = {
        Signature("erofs", "", 1 << 20, in_partition=True) for _ in range(carries == "its own")
    }
    world.drives = (
        replace(HDD, disk_uuid=tables.get(carries, ""), file_system=file_systems.get(carries, "")),
    )
    prepared(world)
    assert len(installer.calls) == calls
    (row,) = world.drive_rows()
    assert ("carries something" in row.failed_reason) == (calls == 1)


@pytest.mark.parametrize(
    "error",
    [
        RefusedError("/dev/sda is locked by another program"),
        StepFailedError("/dev/sda cannot be opened"),
    ],
    ids=["refused", "failed"],
)
def test_what_failed_before_the_first_write_leaves_no_mark(
    world: World, installer: Installer, error: KaltstartError
) -> None:
    """What is at its ends then may be anybody's."""
    world.make_campaign([HDD], plan_toml=PLAN, state="preparing")
    world.ends[HDD.path] = "another disk's"
    world.locked = {"LAB-HDD-1": error}
    prepared(world)
    (row,) = world.drive_rows()
    assert (installer.calls, row.failed_reason) == ([], error.message)
    assert (row.mark_uuid, row.mark_sha256, row.written_over) == ("", "", False)


def test_no_drive_is_written_where_no_boot_could_be_armed_afterwards(
    world: World, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign(plan_toml=PLAN, state="preparing")
    world.no_entry = "KALTSTART is exfat"
    with pytest.raises(RefusedError, match="KALTSTART is exfat"):
        prepared(world)
    assert installer.calls == []
    assert world.campaign().state == "preparing", "it goes on once that is mended"


def test_where_no_boot_is_left_no_one_needs_a_boot_entry(
    world: World, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its boots were skipped or have failed; its steps and its report are still to come."""
    world.make_campaign(plan_toml=PLAN, state="preparing")
    world.context().connection.execute("UPDATE cycle SET state = 'skipped'")
    world.no_entry = "KALTSTART is exfat"
    prepared(world)
    assert installer.calls == []
    assert world.campaign().state == "running"


_RELEASED = "table-1/ext4"


def _contain(world: World, drive: Drive) -> None:
    """What was on it when it was released, and what is on it now."""
    world.context().connection.execute(
        "UPDATE campaign_drive SET released_content = ?", (_RELEASED,)
    )
    world.drives = (drive,)


@pytest.mark.parametrize(
    "now",
    [
        {"disk_uuid": "table-2", "file_system": "ext4"},
        {"disk_uuid": "table-1", "file_system": "xfs"},
        {"disk_uuid": "table-2", "partition_uuids": (root_partuuid(2),)},
    ],
)
def test_a_drive_that_the_user_has_used_since_its_release_is_not_written_to(
    world: World, installer: Installer, now: dict[str, object]
) -> None:
    """Power went before the first write, and came back months later."""
    world.make_campaign([HDD], plan_toml=PLAN, state="preparing")
    _contain(world, replace(HDD, **now))  # type: ignore[arg-type]
    prepare(world.context(), 1, stick=STICK, progress=lambda *_: None)
    assert installer.calls == []
    assert "has changed since it was released" in world.drive_rows()[0].failed_reason


@pytest.mark.parametrize(
    "now",
    [
        {"disk_uuid": "table-1", "file_system": "ext4"},
        {"disk_uuid": "", "file_system": ""},
        {"disk_uuid": "table-1", "file_system": ""},
        {"disk_uuid": "table-2", "partition_uuids": (root_partuuid(1),)},
    ],
    ids=["as released", "cleared", "half cleared", "half installed"],
)
def test_an_installation_that_was_cut_is_made_again(
    world: World, installer: Installer, now: dict[str, object]
) -> None:
    world.make_campaign([HDD], plan_toml=PLAN, state="preparing")
    _contain(world, replace(HDD, **now))  # type: ignore[arg-type]
    prepare(world.context(), 1, stick=STICK, progress=lambda *_: None)
    assert len(installer.calls) == 1
    assert world.drive_rows()[0].noted_content is None, "from here on its marks are known"
