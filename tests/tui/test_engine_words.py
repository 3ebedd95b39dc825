"""What the engine says is translated where it is drawn; what it does not say is in no table."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from string import Formatter

import pytest

import appliance
from tests.tui.fake import FakeEngine
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
from tui.engine_words import SENTENCES, say
from tui.event_lines import say_event
from tui.state import Event

_ENGINE = Path(appliance.__path__[0])
_PUT_IN = "\0"
_LEAST_LETTERS = 8
"""What a text in its source has in common with a sentence at least, to be its origin."""


def _trees() -> Iterator[ast.AST]:
    for path in _ENGINE.rglob("*.py"):
        yield ast.parse(path.read_text())


def _texts(tree: ast.AST) -> Iterator[str]:
    """Its texts, with a mark where something is put in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else _PUT_IN
                for part in node.values
            )


def _mark(sentence: str) -> str:
    parts = Formatter().parse(sentence)
    return "".join(text + (_PUT_IN if name is not None else "") for text, name, _, _ in parts)


def _is_said(sentence: str, texts: set[str]) -> bool:
    marked = _mark(sentence)
    if marked in texts:
        return True
    longer = (text for text in texts if len(text.replace(_PUT_IN, "")) >= _LEAST_LETTERS)
    return any(
        re.fullmatch(".*".join(map(re.escape, text.split(_PUT_IN))), marked)
        for text in longer
        if _PUT_IN in text
    )


def test_each_sentence_is_one_that_the_engine_says() -> None:
    texts = {text for tree in _trees() for text in _texts(tree)}
    assert [each for each in SENTENCES if not _is_said(each, texts)] == []
    assert not _is_said("the moon is {number} km away", texts)


def test_nothing_changes_in_english() -> None:
    for sentence in SENTENCES:
        text = _mark(sentence).replace(_PUT_IN, "7")
        assert say(text) == text
    assert say_event(_done()) == "cycle-done A cycle 3: 28.200 s"


def _done(**fields: object) -> Event:
    said = {"drive": "A", "cycle": 3, "seconds": "28.200"} | fields
    return Event(1, "", "info", "cycle-done", "A cycle 3: 28.200 s", said)


def test_an_event_is_told_from_its_fields_and_what_is_not_known_of_it_in_english() -> None:
    language.use("de")
    assert say_event(_done()) == "Zyklus fertig: A Zyklus 3: 28.200 s"
    english = "Zyklus fertig: A cycle 3: 28.200 s"
    assert say_event(_done(more=1)) == english
    assert say_event(replace(_done(), fields=None)) == english
    step = {"kind": "fio", "device": "array", "what": "by a person"}
    event = Event(1, "", "error", "step-failed", "", step)
    assert say_event(event) == "Schritt fehlgeschlagen: fio auf Array: von jemandem"
    assert say_event(Event(1, "", "info", "of another version", "x", {})) == "of another version: x"


@pytest.mark.parametrize(
    ("said", "german"),
    [
        ("stopped by a key", "mit einer Taste angehalten"),
        ("lottery on array: stopped", "lottery auf Array: angehalten"),
        ("fio on A B: 1: seq-read; seconds", "fio auf A B: 1: seq-read; seconds"),
        ("removable medium; is part of md0", "Wechselmedium; ist Teil von md0"),
        (
            "connected with 1.5 Gb/s although it can do 6.0 Gb/s; its port can do 3.0 Gb/s",
            "verbunden mit 1.5 Gb/s, obwohl es 6.0 Gb/s kann; der Anschluss kann 3.0 Gb/s",
        ),
        ("sda: read error on sector 8; gave up", "sda: read error on sector 8; gave up"),
        ("start campaign {kind} {}", "Kampagne {kind} {} starten"),
        (
            "the drive was at work for 90 minutes of them",
            "das Laufwerk hat davon 90 Minuten gearbeitet",
        ),
        ("stopped\nnothing is running", "angehalten\nes läuft nichts"),
        ("", ""),
    ],
)
def test_german_of_what_is_known_and_the_rest_as_it_is(said: str, german: str) -> None:
    language.use("de")
    assert say(said) == german


@pytest.mark.parametrize(
    ("prepare", "key", "wanted"),
    [
        (run_campaign, "3", ("  Ziel ", "  Zyklus fertig: ")),
        (run_campaign, "4", ("kalt  unbewiesen", "HDD, Ziel")),
        (show_steps, "4", ("kalt unbewiesen", "umgangen", "teilweise+warm", "begrenzt")),
        (run_array_step, "3", ("lottery auf Array", "  Array  ", "  Backing ", "  Cache ")),
        (show_array_results, "4", (" auf Array: fertig", "      Cache     Backing       Array")),
        (show_valid_plan, "2", (", sda, Ziel, WIRD", "Maschine, Kontrolle, nur")),
        (pause, "3", ("Grund: mit einer Taste angehalten",)),
        (run_step, "3", ("Schritt begonnen: lottery auf W761CPRN: Versuch 1",)),
        (idle, "1", ("das ist der Kaltstart-Stick selbst",)),
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
        await press(pilot, key, *(["down"] * 3 if key == "1" else []))
        shown = drawn(pilot)
    for each in wanted:
        assert each in shown, f"{each!r}:\n{shown}"
