"""What the engine notes of the drives in the machine."""

from dataclasses import replace
from types import SimpleNamespace

from appliance.campaign.machine_drives import MachineDrives
from tests.unit.campaign.world import HDD, SSD, STICK, World


def test_a_reader_whose_card_was_taken_out_keeps_what_is_known_of_the_card(world: World) -> None:
    listed = SimpleNamespace(read_drives=lambda: (HDD, SSD, STICK.drive))
    drives = MachineDrives(world.site(), STICK, listed)  # type: ignore[arg-type] # the list alone
    assert drives.note()
    empty = replace(SSD, size_bytes=0, model="reader")
    listed.read_drives = lambda: (HDD, empty, STICK.drive)
    assert drives.note()
    with world.looking() as connection:
        rows = connection.execute("SELECT serial, model, size_bytes FROM drive ORDER BY id")
        assert [tuple(row) for row in rows] == [
            (drive.serial, drive.model, drive.size_bytes) for drive in (HDD, SSD)
        ]
