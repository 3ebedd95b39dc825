# SPDX-License-Identifier: Apache-2.0
"""Power-cycle counts out of smartctl's JSON, and what two of them prove."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance.drives.facts import power_cycles
from appliance.drives.facts.power_cycles import (
    ColdProof,
    PowerCycles,
    join_proofs,
    judge_coldness,
    parse_power_cycles,
    read_power_cycles,
)
from appliance.drives.model import Drive
from appliance.errors import StepFailedError
from appliance.run import Finished

FOLDER = Path(__file__).parents[3] / "fixtures" / "smart"


def captured(name: str) -> str:
    return (FOLDER / f"{name}.json").read_text()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ata-412", PowerCycles(412, "ATA attribute 12")),
        ("nvme-1035", PowerCycles(1035, "NVMe SMART log")),
        ("sas-57", PowerCycles(57, "SCSI start-stop log")),
        ("ata-qemu", PowerCycles(0, "ATA attribute 12")),
        ("nvme-qemu", PowerCycles(0, "NVMe SMART log")),
        ("scsi-qemu", PowerCycles(None, reason="the drive has no power-cycle count")),
        ("sas-qemu", PowerCycles(None, reason="the drive has no power-cycle count")),
        (
            "usb-unknown-bridge",
            PowerCycles(
                None, reason="smartctl: /dev/sdt: Unknown USB bridge [0x46f4:0x0003 (0x000)]"
            ),
        ),
        ("virtio", PowerCycles(None, reason="smartctl: /dev/vda: Unable to detect device type")),
    ],
)
def test_counts_of_captured_drives(name: str, expected: PowerCycles) -> None:
    assert parse_power_cycles(captured(name)) == expected


@pytest.mark.parametrize(
    "text",
    ["", "{", "smartctl: not found", "[]", "{}", "null", '{"smartctl": []}', '{"device": 1}'],
)
def test_rubbish_is_no_count(text: str) -> None:
    assert parse_power_cycles(text).count is None
    assert parse_power_cycles(text).reason


@pytest.mark.parametrize(
    "part",
    [
        '"ata_smart_attributes": {"table": [{"id": 12, "raw": {"value": "5"}}]}',
        '"ata_smart_attributes": {"table": [{"id": 12}]}',
        '"ata_smart_attributes": {"table": null}',
        '"ata_smart_attributes": null',
        '"nvme_smart_health_information_log": {"power_cycles": true}',
        '"scsi_start_stop_cycle_counter": []',
    ],
)
def test_counts_of_a_strange_shape_are_none(part: str) -> None:
    text = '{"smartctl": {"exit_status": 0}, ' + part + "}"
    assert parse_power_cycles(text).reason == "the drive has no power-cycle count"


def test_text_before_and_after_the_json_does_no_harm() -> None:
    polluted = "warning: {curly} thing\n" + captured("nvme-1035") + "\nbye\n"
    assert parse_power_cycles(polluted).count == 1035


def test_a_failing_drive_still_has_its_count() -> None:
    failing = captured("ata-412").replace('"exit_status":0', '"exit_status":216')
    assert parse_power_cycles(failing).count == 412


def test_a_drive_that_does_not_answer_has_none(
    zoo: dict[str, Drive], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(command: Sequence[str], **options: object) -> Finished:
        assert options == {"check": False, "timeout_s": power_cycles.TIMEOUT_S}
        raise StepFailedError("no answer within 20 s: smartctl")

    monkeypatch.setattr(power_cycles, "run", hang)
    assert read_power_cycles(zoo["sdn"]) == PowerCycles(
        None, reason="no answer within 20 s: smartctl"
    )


def test_asks_about_this_drive_and_minds_no_exit_code(
    zoo: dict[str, Drive], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(command: Sequence[str], **_: object) -> Finished:
        assert command[-1] == "/dev/sdn"
        return Finished(tuple(command), 4, captured("ata-412"), "")

    monkeypatch.setattr(power_cycles, "run", answer)
    assert read_power_cycles(zoo["sdn"]).count == 412


ATA5, ATA6, ATA8 = (PowerCycles(n, "ATA attribute 12") for n in (5, 6, 8))
NONE = PowerCycles(None, reason="the drive has no power-cycle count")


def test_a_rise_by_one_is_the_only_proof() -> None:
    found = judge_coldness(ATA5, ATA6, power="cold", boot_id_changed=True)
    assert (found.proof, found.reason) == ("proven", "ATA attribute 12 rose by one: 5 → 6")


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (ATA5, ATA5, "count did not rise although the machine was powered off: 5 → 5"),
        (ATA6, ATA8, "count rose by 2 over one power-off: 6 → 8"),
        (ATA6, ATA5, "count fell: 6 → 5"),
        (NONE, ATA6, NONE.reason),
        (PowerCycles(0), PowerCycles(0, "ATA attribute 12"), "a count of 0 is none"),
        (ATA5, NONE, NONE.reason),
        (ATA5, PowerCycles(None), "no power-cycle count was read"),
    ],
)
def test_anything_else_proves_nothing(before: PowerCycles, after: PowerCycles, reason: str) -> None:
    found = judge_coldness(before, after, power="cold", boot_id_changed=True)
    assert (found.proof, found.reason) == ("unproven", reason)


@pytest.mark.parametrize("rise", [0, 1, 2])
def test_starts_of_a_spindle_prove_nothing(rise: int) -> None:
    """A STOP UNIT, or an enclosure that keeps its power, makes exactly one more of them."""
    before = PowerCycles(57)  # the store keeps only the number
    after = PowerCycles(57 + rise, parse_power_cycles(captured("sas-57")).source)
    found = judge_coldness(before, after, power="cold", boot_id_changed=True)
    assert found == ColdProof(
        "unproven",
        f"SCSI start-stop log counts starts of the spindle, not power-ons: 57 → {57 + rise}",
    )


def test_counts_of_one_and_the_same_start_prove_nothing() -> None:
    found = judge_coldness(ATA5, ATA6, power="cold", boot_id_changed=False)
    assert (found.proof, found.reason) == ("unproven", "the machine did not restart")


def test_a_restart_is_warm_where_the_drive_counted_no_power_on() -> None:
    found = judge_coldness(PowerCycles(5), ATA5, power="warm", boot_id_changed=True)
    assert found == ColdProof("warm", "ATA attribute 12 did not rise over the restart: 5 → 5")


NOTHING_SHOWS = "asked for warm, and nothing shows whether power stayed: "


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (ATA5, ATA6, "asked for warm, and ATA attribute 12 did not stand still: 5 → 6"),
        (ATA6, ATA5, "asked for warm, and ATA attribute 12 did not stand still: 6 → 5"),
        (NONE, NONE, NOTHING_SHOWS + NONE.reason),
        (ATA5, NONE, NOTHING_SHOWS + NONE.reason),
        (PowerCycles(None), ATA5, NOTHING_SHOWS + "no power-cycle count was read"),
        (
            PowerCycles(0),
            PowerCycles(0, "NVMe SMART log"),
            NOTHING_SHOWS + "a count of 0 is none",
        ),
        (
            PowerCycles(57),
            PowerCycles(57, parse_power_cycles(captured("sas-57")).source),
            NOTHING_SHOWS
            + "SCSI start-stop log counts starts of the spindle, not power-ons: 57 → 57",
        ),
    ],
)
def test_a_restart_of_which_the_drive_tells_nothing_is_not_called_warm(
    before: PowerCycles, after: PowerCycles, reason: str
) -> None:
    found = judge_coldness(before, after, power="warm", boot_id_changed=True)
    assert found == ColdProof("unproven", reason)


def test_a_count_kept_without_its_source_is_enough() -> None:
    # The store keeps only the number from before the power-off.
    found = judge_coldness(PowerCycles(5), ATA6, power="cold", boot_id_changed=True)
    assert found.proof == "proven"


ROSE, STOOD = ColdProof("proven", "rose"), ColdProof("unproven", "did not rise")


def test_one_drives_proof_is_its_own() -> None:
    assert join_proofs([("A", ROSE)]) == ROSE
    assert join_proofs([("A", STOOD)]) == STOOD


def test_several_drives_were_cold_only_if_each_was() -> None:
    assert join_proofs([("A", ROSE), ("B", ROSE)]) == ColdProof("proven", "A: rose; B: rose")
    assert join_proofs([("A", ROSE), ("B", STOOD)]) == ColdProof("unproven", "B: did not rise")
    assert join_proofs([("A", STOOD), ("B", ROSE)]) == ColdProof("unproven", "A: did not rise")


def test_several_drives_were_warm_only_if_each_was() -> None:
    warm = ColdProof("warm", "stood")
    assert join_proofs([("A", warm), ("B", warm)]) == ColdProof("warm", "A: stood; B: stood")
    assert join_proofs([("A", warm), ("B", STOOD)]) == ColdProof("unproven", "B: did not rise")
