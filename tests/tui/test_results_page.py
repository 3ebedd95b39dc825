from tests.tui.fake import HDD, SSHD, FakeEngine
from tests.tui.steps import finish, press, settle, text_of
from tui.app import KaltstartApp


async def test_the_boots_of_the_chosen_campaign_are_tabled_and_drawn(engine: FakeEngine) -> None:
    engine.add_campaign("old", state="done", cycles=1, boots={HDD: [99.5]})
    engine.add_campaign("new", boots={HDD: [106.2, 106.1, None], SSHD: [46.0, 28.0]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        lines = text_of(pilot, "#boots").splitlines()
        assert lines[0].split() == ["Seconds", "#1", "#2", "#3"]
        assert ["W761CPRN", "46.00", "28.00", "-"] in [line.split() for line in lines]
        assert [HDD.serial, "106.20", "106.10", "FAILED"] in [line.split() for line in lines]
        assert ["W761CPRN", "37.00", "28.00", "1.64", "2", "0"] in [line.split() for line in lines]
        bars = [line.count("█") for line in lines if "█" in line]
        assert bars[0] == max(bars)
        assert bars[3] < bars[2] < bars[1]
        assert any("FAILED  did not come back within 3 attempts" in line for line in lines)
        await press(pilot, "down")
        assert "99.50" in text_of(pilot, "#boots")


async def test_the_report_is_written_again_and_its_place_is_told(engine: FakeEngine) -> None:
    engine.add_campaign("rack 4", state="done", cycles=1, boots={HDD: [99.5]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#report") == "Report: not written yet"
        await press(pilot, "w")
        await finish(pilot, "flow")
        (request,) = engine.requests()
        assert (request.kind, request.read_payload()) == ("report", {"campaign_id": 1})
        folder = engine.run / "fat/reports/1-rack-4"
        folder.mkdir(parents=True)
        (folder / "report.html").touch()
        engine.answer("accepted", "written")
        await settle(pilot)
        assert text_of(pilot, "#report") == "Report: KALTSTART: reports/1-rack-4/report.html"
        assert text_of(pilot, "#message") == "Report accepted: written"
