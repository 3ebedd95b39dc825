# SPDX-License-Identifier: Apache-2.0
"""A phrase is its text everywhere, and what it was made of comes along with it."""

import ast
import copy
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

import appliance
from appliance.event_texts import list_fields
from appliance.phrases import Phrase, begin_sentence, join_phrases, list_phrases
from appliance.store.connect import open_database
from appliance.store.tables.events import insert_event, insert_phrases, select_phrases

_SLOW = Phrase("it took {number} s to answer", number=20)


@dataclass
class _Row:
    text: str


def test_it_is_its_text() -> None:
    assert _SLOW == "it took 20 s to answer"
    assert json.dumps(_SLOW) == '"it took 20 s to answer"'
    assert type(str(_SLOW)) is str


def test_it_stays_one_where_it_is_copied() -> None:
    for same in (copy.deepcopy(_SLOW), asdict(_Row(_SLOW))["text"]):
        assert isinstance(same, Phrase)
        assert (same, same.words, same.fields) == (_SLOW, _SLOW.words, _SLOW.fields)


def _list_words(node: ast.AST) -> Iterator[str]:
    """All texts that are marked in there."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and getattr(each.func, "id", "") == "N_":
            yield ast.literal_eval(each.args[0])


def _list_phrases_of(function: ast.AST) -> Iterator[tuple[str, set[str]]]:
    """The words of each that is made there, and the names of what is put in."""
    named = {
        target.id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Phrase":
            first = node.args[0]
            words = named[first.id] if isinstance(first, ast.Name) and first.id in named else first
            yield from (
                (each, {str(key.arg) for key in node.keywords}) for each in _list_words(words)
            )


def test_each_has_what_its_words_ask_for() -> None:
    made = [
        found
        for path in Path(appliance.__path__[0]).rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for found in _list_phrases_of(function)
    ]
    assert len(made) > 40
    assert [(words, fields) for words, fields in made if list_fields(words) != fields] == []


def test_all_are_found_also_those_within_others() -> None:
    joined = join_phrases(["", "slow", _SLOW])
    assert joined == "slow; it took 20 s to answer"
    found = list(list_phrases({"drives": [{"findings": (joined, "plain", 7)}]}))
    assert [each.text for each in found] == [_SLOW, joined]
    assert json.loads(found[1].fields) == {"first": "slow", "rest": str(_SLOW)}
    assert join_phrases([]) == ""
    assert type(join_phrases(["one"])) is str


def test_what_a_stored_text_was_made_of_is_stored_once_for_each_campaign(tmp_path: Path) -> None:
    connection = open_database(tmp_path / "kaltstart.sqlite")
    for _ in range(2):
        insert_phrases(connection, None, _SLOW, "plain")
        insert_event(
            connection,
            campaign_id=None,
            boot_id="b",
            monotonic_s=1.0,
            level="info",
            event="refused",
            detail=_SLOW,
            fields={"what": _SLOW},
        )
    phrases, last = select_phrases(connection)
    assert [each.text for each in phrases] == [_SLOW]
    assert select_phrases(connection, after=last) == ((), last)
    insert_phrases(connection, None, Phrase("{a}", a=1))
    assert [each.words for each in select_phrases(connection, after=last)[0]] == ["{a}"]


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("stopped; nothing was changed", "Stopped; nothing was changed"),
        (Phrase("campaign {number} started", number=3), "Campaign 3 started"),
        (Phrase("{file} is damaged", file="a.img.xz"), "a.img.xz is damaged"),
        (Phrase("{what} ({hint})", what="it is full", hint="wait"), "It is full (wait)"),
        (
            Phrase("{what}; kept", what=Phrase("{file}: {what}", file="a.img", what="cut off")),
            "a.img: cut off; kept",
        ),
        (Phrase("{what}; kept", what=Phrase("the stick {what}", what="x")), "The stick x; kept"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_letter_and_a_name_as_it_is(text: str, begun: str) -> None:
    assert begin_sentence(text) == begun
