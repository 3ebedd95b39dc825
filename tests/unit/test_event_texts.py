# SPDX-License-Identifier: Apache-2.0
"""The event log's sentences: each event that the engine records has one for its fields."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import appliance
from appliance.event_texts import EVENT_TEXTS, UNSHOWN, list_fields, tell

_RECORDERS = {"record", "record_step", "_note", "_warn", "note"}
_NO_FIELDS = {"campaign_id", "level", None}
_BY_RECORDER: tuple[set[str], ...] = (
    {"kind", "device"},
    {"backing", "cache", "what"},
    {"what"},
    set(),
)
"""What those of a step, of an array and of the machine itself add."""


def _find_recorded(tree: ast.AST) -> Iterator[tuple[str, set[str], bool]]:
    """Each event that is recorded by its name, its fields, and whether more are put in."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        callees = [node.func, *node.args[:1]]
        names = {getattr(each, "id", getattr(each, "attr", "")) for each in callees}
        if not names & _RECORDERS:
            continue
        words = [each.value for each in node.args if isinstance(each, ast.Constant)]
        fields = {str(each.arg) for each in node.keywords if each.arg not in _NO_FIELDS}
        if words:
            yield str(words[0]), fields, any(each.arg is None for each in node.keywords)


def _is_told(event: str, fields: set[str], *, has_more: bool) -> bool:
    return any(
        fields - UNSHOWN <= known and (has_more or known - fields in _BY_RECORDER)
        for known in map(list_fields, EVENT_TEXTS.get(event, ()))
    )


def test_each_event_has_a_sentence_for_what_it_is_recorded_with() -> None:
    recorded = [
        found
        for path in Path(appliance.__path__[0]).rglob("*.py")
        for found in _find_recorded(ast.parse(path.read_text()))
    ]
    assert len(recorded) > 70
    untold = [
        (event, fields)
        for event, fields, has_more in recorded
        if not _is_told(event, fields, has_more=has_more)
    ]
    assert untold == []


def test_each_event_is_recorded() -> None:
    texts = {
        node.value
        for path in Path(appliance.__path__[0]).rglob("*.py")
        if path.name != "event_texts.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
    }
    assert set(EVENT_TEXTS) - texts == {"array-apart"}  # made of its state


def test_the_texts_of_an_event_differ_in_their_fields() -> None:
    for event, texts in EVENT_TEXTS.items():
        fields = [list_fields(text) for text in texts]
        assert all(fields.count(each) == 1 for each in fields), event


def test_a_sentence_is_told_from_its_fields() -> None:
    fields = {"drive": "A", "cycle": 3, "seconds": "28.200"}
    assert tell("cycle-done", fields) == "A cycle 3: 28.200 s"
    assert tell("boots-skipped", {"drive": "A", "boot": 1}) == "1 boot of A: by a person"
    assert tell("campaign-resumed", {}) == ""
    declined = tell("autostart-declined", {"plan": "rack 4", "plan_sha256": "4f2a"})
    assert declined.startswith('plan "rack 4": stopped in its countdown')
    assert "4f2a" not in declined
    with pytest.raises(KeyError):
        tell("cycle-done", {"drive": "A"})
