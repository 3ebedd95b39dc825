# SPDX-License-Identifier: Apache-2.0
"""Who slows down whom: page Results has the report's sentences, in either language."""

import pytest

from appliance.store.tables.conditions import find_changes, insert_conditions
from appliance.store.tables.steps import insert_results
from tests.report.states import BYPASS
from tests.report.workloads import MB, make_results
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.steps import finish, press, settle, text_of
from tui.app import KaltstartApp

_HBA = "PCI 0000:03:00.0 (mpt3sas)"


def _measure(engine: FakeEngine, *, together: float) -> None:
    """Two drives at one controller, read alone and with each other."""
    campaign = engine.add_campaign("both", state="done", cycles=0, boots={HDD: [], SSHD: []})
    for drive in (HDD, SSHD):
        step = engine.add_step(campaign, "contention", drive)
        query = "SELECT drive_id FROM step WHERE id = ?"
        (drive_id,) = engine.connection.execute(query, (step,)).fetchone()
        noted = find_changes({}, {"topology": _HBA})
        insert_conditions(engine.connection, campaign, drive_id, noted)
        for number in range(4):
            for company, rate, beside in (("alone", 190.0, 0), ("together", together, 1)):
                moved = (rate + number) * MB
                results = make_results(
                    f"{company}-{number}",
                    BYPASS,
                    app=moved,
                    hit=0,
                    bw_bytes_s=moved,
                    processor_ratio=0.99,
                )
                insert_results(engine.connection, step, drive.serial, results, beside=beside)


@pytest.mark.parametrize(
    ("language", "together", "said"),
    [
        (
            "en",
            100,
            (
                f"Contention ! {HDD.serial}, {SSHD.serial}: 2 drives behind {_HBA} share 203 MB/s; "
                "alone each reads 192 MB/s. A processor was at its limit meanwhile: it may be what "
                "they share."
            ),
        ),
        (
            "de",
            10.25,
            (
                f"Konkurrenz ! {HDD.serial}, {SSHD.serial}: 2 Laufwerke hinter {_HBA} teilen sich "
                "23,5 MB/s; allein liest jedes 192 MB/s. Ein Prozessor war dabei an seiner Grenze: "
                "vielleicht teilen sie sich den."
            ),
        ),
        (
            "de",
            185,
            (
                "Konkurrenz + kein Laufwerk wird von den anderen gebremst: 2 wurden allein und "
                "zusammen gelesen, und keines fiel um ein Zehntel"
            ),
        ),
    ],
)
async def test_page_results_says_what_drives_share(
    engine: FakeEngine, language: str, together: float, said: str
) -> None:
    engine.language = language
    engine.show_machine()
    _measure(engine, together=together)
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        await finish(pilot, "flow")
        assert said in " ".join(text_of(pilot, "#results").split())
