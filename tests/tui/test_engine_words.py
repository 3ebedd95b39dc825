# SPDX-License-Identifier: Apache-2.0
"""What the engine says is translated where it is drawn; what it does not say is in no table."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from appliance.campaign.status import write_json
from appliance.drives.facts.query import Answer
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase, join_phrases, list_phrases
from appliance.plan.read import describe_plan, parse_plan
from appliance.service.drive_watch import compose_row
from appliance.store.tables.campaigns import update_campaign_state
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.scene_states import (
    idle,
    pause,
    run_array_step,
    run_campaign,
    run_step,
    show_array_results,
    show_steps,
    show_valid_plan,
)
from tests.tui.steps import drawn, press, settle
from tui import language
from tui.app import KaltstartApp
from tui.charset import drawable
from tui.model.engine_words import say, say_event, say_state
from tui.model.snapshot import Event
from tui.port.watch import learn_phrases


def _learn(*texts: object) -> None:
    learn_phrases(list_phrases(texts))


_CYCLE_DONE = "{drive} cycle {cycle}: {seconds} s"


def _done(**fields: object) -> Event:
    said = {"drive": "A", "cycle": 3, "seconds": "28.200"} | fields
    return Event(1, "", "info", "cycle-done", "A cycle 3: 28.200 s", words=_CYCLE_DONE, fields=said)


def test_an_event_is_told_from_its_fields_and_what_is_not_known_of_it_in_english() -> None:
    assert say_event(_done()) == "cycle-done A cycle 3: 28.200 s"
    language.use("de")
    assert say_event(_done()) == "Zyklus fertig: A Zyklus 3: 28,200 s"
    assert say_event(replace(_done(), fields=None)) == "Zyklus fertig: A cycle 3: 28.200 s"
    step = {"kind": "fio", "device": "array", "what": "by a person"}
    words = "{kind} on {device}: {what}"
    event = Event(1, "", "error", "step-failed", "", words=words, fields=step)
    assert say_event(event) == "Schritt fehlgeschlagen: fio auf Array: von jemandem"
    assert say_event(Event(1, "", "info", "of another version", "x")) == "of another version: x"


_LINK = Phrase(
    N_("connected with {link} although it can do {drive}; its port can do {port}"),
    link="1.5 Gb/s",
    drive="6.0 Gb/s",
    port="3.0 Gb/s",
)
_SILENT = Phrase(
    N_("{name} has not answered for {seconds} s ({what})"),
    name=join_phrases(
        [Phrase(N_("drive {drive}"), drive=each) for each in ("A", "B")],
        N_("{first} and {rest}"),
    ),
    seconds="15",
    what="nothing is running",
)
_TOO_LARGE = Phrase(
    N_("{what}; nothing was changed"),
    what=Phrase(
        "{file}: {what}", file="a.img.xz", what=Phrase(N_("the stick is too small for the image"))
    ),
)


@pytest.mark.parametrize(
    ("said", "german"),
    [
        ("stopped by a key or a command", "mit einer Taste oder einem Befehl angehalten"),
        (
            Phrase(N_("{kind} on {device}: {what}"), kind="fio", device="array", what="stopped"),
            "fio auf Array: angehalten",
        ),
        (
            join_phrases(["removable medium", Phrase(N_("is part of {holders}"), holders="md0")]),
            "Wechselmedium; ist Teil von md0",
        ),
        (_LINK, "verbunden mit 1.5 Gb/s, obwohl es 6.0 Gb/s kann; der Anschluss kann 3.0 Gb/s"),
        (
            str(StepFailedError(_SILENT, hint="try it again")),
            "Laufwerk A und Laufwerk B antwortet seit 15 s nicht (es läuft nichts) (try it again)",
        ),
        (
            _TOO_LARGE,
            "a.img.xz: der Stick ist zu klein für das Abbild; nichts wurde verändert",
        ),
        ("sda: read error on sector 8; gave up", "sda: read error on sector 8; gave up"),
        (Phrase(N_("start campaign {name}"), name="{kind} {}"), "Kampagne {kind} {} starten"),
        ("stopped\nnothing is running", "angehalten\nes läuft nichts"),
        ("", ""),
    ],
)
def test_german_of_what_is_known_and_the_rest_as_it_is(said: str, german: str) -> None:
    _learn(said)
    text = "\n".join(map(drawable, said.splitlines()))
    assert say(text) == text
    language.use("de")
    assert say(text) == german


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("{a:>999999999}", '{"a": "x"}'),
        ("{a.__class__}", '{"a": "x"}'),
        ("{a}", "[]"),
        ("{a", "{}"),
        ("{a}", '{"b": 1}'),
        ("{a}", "{"),
        ("stopped by {a}", '{"a": "a dog"}'),
    ],
)
def test_what_another_stick_says_a_text_is_made_of_is_no_more_than_that(
    words: str, fields: str
) -> None:
    learn_phrases([("stopped by a cat", words, fields)])
    language.use("de")
    assert say("stopped by a cat") == "stopped by a cat"


@pytest.mark.parametrize(
    ("state", "german"),
    [
        ("Stopped; the stick starts as before", "Angehalten; der Stick startet wie bisher"),
        ("The image is checked", "Das Abbild wird geprüft"),
        ("Upgrading the stick", "Stick wird aktualisiert"),
        ("K.img.xz is damaged; nothing was changed", "K.img.xz is damaged; nichts wurde verändert"),
        ("Said by a tool", "Said by a tool"),
        ("", ""),
    ],
)
def test_a_state_begins_with_a_capital_letter_whatever_it_is_made_of(
    state: str, german: str
) -> None:
    _learn(Phrase(N_("{what}; nothing was changed"), what="k.img.xz is damaged"))
    assert say_state(state) == state
    language.use("de")
    assert say_state(state) == german


async def test_a_reason_of_the_database_is_said_in_german(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("incoming", boots={HDD: [1.0]})
    reason = Phrase(N_("{count} restarts are the limit of this campaign"), count=40)
    update_campaign_state(engine.connection, campaign_id, "paused", reason=reason)
    [campaign] = engine.port().read_snapshot().campaigns
    language.use("de")
    assert (campaign.reason, say(campaign.reason)) == (
        "40 restarts are the limit of this campaign",
        "40 Neustarts sind die Grenze dieser Kampagne",
    )


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("of itself", [("of itself", "{what}", {"what": "of itself"})]),
        ("to", [("to", "{what}", {"what": "fro"}), ("fro", "{what}", {"what": "to"})]),
        ("x", [("x", "{what}{first}", {"what": "x", "first": ""})]),
        (
            "x" * 2000,
            [("x" * n, "x{what}", {"what": "x" * (n - 1)}) for n in range(2, 2001)],
        ),
        ("huge", [("huge", "{what}" * 1_000_000, {"what": "x" * 5_000_000})]),
    ],
    ids=["itself", "circle", "nothing more", "depth", "size"],
)
def test_what_another_stick_has_said_without_end_is_told_as_it_is(
    text: str, phrases: list[tuple[str, str, dict[str, str]]]
) -> None:
    learn_phrases([(each, words, json.dumps(fields)) for each, words, fields in phrases])
    assert say(text) == text


def test_what_is_nested_without_end_is_left_out() -> None:
    learn_phrases([("x", "{what}", '{"what": ' + "[" * 200_000 + "]" * 200_000 + "}")])
    assert say("x") == "x"
    nested: list[object] = []
    for _ in range(200_000):
        nested = [nested]
    assert "28.200" in say_event(_done(seconds=nested))


def test_a_remark_on_a_drive_is_said_in_german(engine: FakeEngine) -> None:
    row = compose_row(replace(HDD, holders=("md0",)), Answer("asking"), None, stick=None)
    write_json(engine.run / "drives.json", {"looking": False, "drives": [row]})
    [drive] = engine.port().read_snapshot().drives
    language.use("de")
    assert (drive.reason, say(drive.reason)) == ("is part of md0", "ist Teil von md0")


def _end_as_stored_earlier(engine: FakeEngine) -> None:
    engine.add_event("campaign-done", samples=3, steps=2, failures=1)


@pytest.mark.parametrize(
    ("prepare", "key", "wanted"),
    [
        (run_campaign, "3", ("  Ziel ", " Zyklus fertig: ")),
        (run_campaign, "4", ("kalt  unbewiesen", "HDD, Ziel")),
        (show_steps, "4", ("kalt unbewiesen", "umgangen", "teilweise+warm", "begrenzt")),
        (run_array_step, "3", ("lottery auf Array", "  Array  ", "  Backing ", "  Cache ")),
        (show_array_results, "4", (" auf Array: fertig", "      Cache     Backing       Array")),
        (show_valid_plan, "2", (", sda, Ziel, WIRD", "Maschine, Kontrolle, nur")),
        (pause, "3", ("Grund: mit einer Taste oder einem Befehl angehalten",)),
        (run_step, "3", ("Schritt begonnen: lottery auf W761CPRN: Versuch 1",)),
        (idle, "1", ("das ist der Kaltstart-Stick selbst",)),
        (_end_as_stored_earlier, "3", ("fertig: 3 Messwerte, 2 Schritte, 1 Fehler",)),
    ],
)
async def test_a_german_page_says_it_in_german(
    prepare: Callable[[FakeEngine], None], key: str, wanted: tuple[str, ...], engine: FakeEngine
) -> None:
    engine.language = "de"
    engine.show_machine()
    language.use("de")
    prepare(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 90)) as pilot:
        await settle(pilot)
        await press(pilot, key, *(["end"] if key == "1" else []))
        shown = drawn(pilot)
    for each in wanted:
        assert each in shown, f"{each!r}:\n{shown}"


@pytest.mark.parametrize(
    ("rest", "german"),
    [
        ("[boot]\n", '1 Laufwerk, je 10 kalte Boots, 2 weitere mit Diagramm; löscht "A"'),
        (
            (
                '[boot]\ncycles = 4\npath = "drive"\ntrain = 3\ncharts = "none"\n'
                '[[workload]]\nkind = "surface"\n[[workload]]\nkind = "fio"\n'
            ),
            (
                "1 Laufwerk, je 4 kalte Boots mit dem Lader des Laufwerks, "
                "davor 3 ohne Zeitmessung, "
                'dann surface, fio auf jedem Laufwerk; löscht "A"'
            ),
        ),
        ('[[workload]]\nkind = "verify"\non = "A"\n', '1 Laufwerk, verify auf "A"; löscht "A"'),
    ],
)
def test_what_a_plan_does_is_told_in_german(rest: str, german: str) -> None:
    plan = describe_plan(parse_plan(f'version = 1\n[[drive]]\nserial = "A"\nerase = "A"\n{rest}'))
    _learn(plan)
    assert say(plan) == plan
    language.use("de")
    assert say(plan) == german


def test_why_an_image_is_refused_is_told_in_german() -> None:
    what = Phrase("{file} is damaged", file="kaltstart-9.0.0-amd64.img.xz")
    hint = "copy it and its SHA256SUMS to KALTSTART again, or download both again"
    error = str(RefusedError(Phrase("{what}; nothing was changed", what=what), hint=hint))
    _learn(error)
    language.use("de")
    assert say_state(error[:1].upper() + error[1:]) == (
        "Kaltstart-9.0.0-amd64.img.xz ist beschädigt; nichts wurde verändert (es und seine "
        "SHA256SUMS erneut auf KALTSTART kopieren, oder beide neu herunterladen)"
    )
