# SPDX-License-Identifier: Apache-2.0
"""The interface in German: complete, drawable, within its 80 columns, and switched at once."""

from collections.abc import Callable
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Message

from appliance.machine.language import LANGUAGES
from tests.tui.fake import FakeEngine
from tests.tui.scene_states import show_field_test
from tests.tui.steps import drawn, finish, page, press, settle, text_of
from tests.tui.texts import (
    LOCALE,
    compile_catalogues,
    list_messages,
    list_texts,
    read_catalogue,
)
from tui import language
from tui.app import KaltstartApp
from tui.charset import ALLOWED
from tui.language import _, ngettext

_TRANSLATED = [code for code in LANGUAGES if code != "en"]


def _variants(text: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text or ())


def _list_pairs(message: Message) -> list[tuple[str, str]]:
    """Each English text with its translation."""
    own, others = _variants(message.id), _variants(message.string)
    return list(zip(own, others, strict=True))


def _placeholders(text: str) -> list[str]:
    return sorted(repr(part[1:]) for part in Formatter().parse(text) if part[1] is not None)


def test_there_is_a_catalogue_for_each_language_that_is_offered() -> None:
    assert sorted(each.stem for each in LOCALE.glob("*.po")) == _TRANSLATED


@pytest.mark.parametrize("code", _TRANSLATED)
def test_every_text_of_the_interface_is_translated_and_no_other(code: str) -> None:
    messages = list_messages(read_catalogue(code))
    translated = {
        each.id if isinstance(each.id, str) else (each.id[0], each.id[1])
        for each in messages
        if all(_variants(each.string))
    }
    wanted = list_texts()
    assert sorted(wanted - translated, key=repr) == [], "to be translated"
    assert sorted(translated - wanted, key=repr) == [], "not in the interface any more"
    assert not any(each.fuzzy for each in messages)


@pytest.mark.parametrize("code", _TRANSLATED)
def test_a_catalogue_compiles(code: str) -> None:
    # The image is not built otherwise: in "5 % can" gettext sees a placeholder of its own.
    catalogue = read_catalogue(code)
    errors = {str(each.id): each.check(catalogue) for each in list_messages(catalogue)}
    assert {text: found for text, found in errors.items() if found} == {}


@pytest.mark.parametrize("code", _TRANSLATED)
def test_a_translation_has_what_is_put_in_and_only_characters_of_the_font(code: str) -> None:
    for message in list_messages(read_catalogue(code)):
        for own, other in _list_pairs(message):
            assert _placeholders(own) == _placeholders(other), own
            assert not set(other) - ALLOWED - {"\n"}, own
            blanks = [len(text) - len(text.strip()) for text in (own, other)]
            assert blanks[0] == blanks[1], f"blanks around {own!r}"


def test_german_letters_are_in_the_font() -> None:
    assert set("äöüÄÖÜß") <= ALLOWED


def test_a_text_without_a_translation_stays_as_it_is() -> None:
    language.use("de")
    assert _("Drives") == "Laufwerke"
    assert _("LAB-SSD-1") == "LAB-SSD-1"
    assert ngettext("LAB-SSD-1", "LAB-SSD-2", 1) == "LAB-SSD-1"
    language.use("no such language")
    assert _("Drives") == "Drives"


async def test_another_language_holds_at_once_and_on_every_page(engine: FakeEngine) -> None:
    engine.show_machine()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        for key in "12345":
            await press(pilot, key)
        await press(pilot, "l", "down", "enter")
        await finish(pilot, "flow")
        [request] = engine.requests()
        assert (request.kind, request.read_payload()) == ("set-language", {"language": "de"})
        engine.answer("accepted", "the language is de, now and at the next start")
        engine.show_machine(language="de")
        await settle(pilot)
        assert "Sprache         de  Deutsch" in text_of(pilot, "#facts")
        assert text_of(pilot, "#message").startswith("Sprache angenommen: ")
        for key in "1234":
            await press(pilot, key)
            assert "[" + key + " " + _(page(pilot).TITLE) in text_of(pilot, "#modes")
            assert "F1 Hilfe" in text_of(pilot, "#keys")
            assert not {"Drives", "Cancel", "Device"} & set(drawn(pilot).split())
        engine.show_machine(language="en")
        await settle(pilot)
        assert "F1 help" in text_of(pilot, "#keys")


async def test_what_was_read_before_is_said_in_the_new_language_too(engine: FakeEngine) -> None:
    engine.show_machine()
    show_field_test(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert "mean speed" in drawn(pilot)
        assert "  done  " in drawn(pilot)
        engine.show_machine(language="de")
        await settle(pilot)
        assert "mittl. Tempo" in drawn(pilot)
        assert "  fertig  " in drawn(pilot)
        assert not {"mean", "done", "Verdicts"} & set(drawn(pilot).split())


def _end_early(catalogue: Path) -> None:
    catalogue.write_bytes(catalogue.read_bytes()[:200])


def _forget_the_beginning(catalogue: Path) -> None:
    catalogue.write_bytes(bytes(len(catalogue.read_bytes())))


def _garble_the_texts(catalogue: Path) -> None:
    content = catalogue.read_bytes()
    catalogue.write_bytes(content.replace("ä".encode(), b"\xff\xff"))


def _make_unreadable(catalogue: Path) -> None:
    catalogue.unlink()
    catalogue.mkdir()


@pytest.mark.parametrize(
    "damage", [_end_early, _forget_the_beginning, _garble_the_texts, _make_unreadable]
)
async def test_with_a_catalogue_that_cannot_be_read_it_is_english_and_any_key_still_stops(
    damage: Callable[[Path], None],
    engine: FakeEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bugs: list[BaseException] = []
    monkeypatch.setattr(language, "tell_bug", bugs.append)
    monkeypatch.setattr(language._current, "folder", str(tmp_path / "locale"))
    compile_catalogues(tmp_path / "locale")
    damage(tmp_path / "locale/de/LC_MESSAGES/kaltstart.mo")
    engine.show_machine(language="de")
    (engine.run / "tui/starting-tty1").touch()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        waited_for = sorted(each.name for each in engine.run.glob("tui/[rs]*"))
        assert waited_for == ["ready"], "or the engine's countdowns wait"
        assert "PROBLEM: the texts of the language de cannot be read: " in text_of(pilot, "#banner")
        assert "F1 help" in text_of(pilot, "#keys")
        engine.count_down()
        await settle(pilot)
        await press(pilot, "x")
        await finish(pilot, "flow")
        assert [request.kind for request in engine.requests()] == ["stop"]
        assert len(bugs) == 1, "it is told once"
        engine.say()
        engine.show_machine(language="en")
        await settle(pilot)
        assert text_of(pilot, "#banner") == ""
