# SPDX-License-Identifier: Apache-2.0
"""Why a drive is not accepted as it is: made by the engine, stored, and told in German."""

from appliance.phrases import Phrase
from appliance.verdict.evidence import Evidence, Figure
from appliance.verdict.judge import judge
from appliance.verdict.policy_file import parse_policy
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import press, settle, text_of
from tui.app import KaltstartApp


async def test_why_a_drive_is_not_accepted_is_told_in_german(engine: FakeEngine) -> None:
    evidence = Evidence(
        drive_id=1,
        name=HDD.serial,
        model=HDD.model,
        transport="sata",
        rotational=True,
        figures={
            "reallocated_sectors": Figure(8.0),
            "new_reallocated_sectors": Figure(
                3.0, Phrase("{low} before, {high} after the campaign", low="5", high="8")
            ),
            "self_test": Figure(1.0),
            "highest_celsius": Figure(71.5, "of the drive, and of the air around it"),
        },
        surface_unread=Phrase("{share} of the surface read", share="2.5 %"),
        health_unread="",
    )
    (judged,) = judge(parse_policy("version = 1\n"), [evidence])
    assert judged.verdict == "reject"
    campaign_id = engine.add_campaign("new", state="done", cycles=0, boots={HDD: []})
    engine.add_step(campaign_id, "surface", HDD)
    engine.judge(campaign_id, HDD, judged.verdict, judged.reasons, limits=judged.limits)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        engine.show_machine(language="de")
        await settle(pilot)
        await press(pilot, "4")
        text = " ".join(text_of(pilot, "#results").split())
        assert "Ablehnung: Selbsttest des Laufwerks: Fehler" in text
        assert "neu: ersetzte Sektoren: 3 (5 vor, 8 nach der Kampagne)" in text
        assert "höchste Temperatur: 71,5 °C (des Laufwerks und der Luft um es herum)" in text
        assert "Hinweis: Nachweis: 2,5 % der Oberfläche gelesen" in text
