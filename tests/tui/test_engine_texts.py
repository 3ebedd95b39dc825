# SPDX-License-Identifier: Apache-2.0
"""Every text that the engine hands to the interface is marked, so that it must have its German.

`test_language.py` compares what is marked with the catalogue, and its placeholders.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from appliance.errors import KaltstartError
from appliance.phrases import Phrase, list_phrases
from appliance.plan.model import ALL_TABLES
from appliance.plan.read import parse_plan, read_plan
from appliance.toml.fields import Table
from appliance.verdict.policy import read_tables
from appliance.verdict.policy_file import parse_policy
from tests.tui.fake import FakeEngine
from tests.tui.scene_states import show_bad_plan
from tests.tui.steps import drawn, press, settle
from tests.tui.texts import ENGINE, list_messages, read_catalogue
from tui import language
from tui.app import KaltstartApp
from tui.model.engine_words import _SAID, say
from tui.port.watch import learn_phrases

_INVALID = sorted((Path(__file__).parents[1] / "fixtures/plans/invalid").glob("*.toml"))
_ELSEWHERE = re.compile(
    r"cli/.*|report/.*|workloads/\w+/report\.py|record_boot\.py|report_boot\.py"
    r"|service/record_boot\.py|service/drive_lines\.py"
)
"""What is said on a command line, on a page of a report, or on another machine."""
_OTHER_RETURNS = re.compile(
    r"caches/(judge|page_cache)\.py|campaign/steps/(array_watch|attempt|power_off)\.py"
    r"|campaign/drives/condition_values\.py|console\.py|machine/facts\.py|service/support\.py"
    r"|drives/facts/(details|health|location|query)\.py|store/checksums\.py|units\.py"
    r"|verdict/(depth|judge)\.py|workloads/(drive_content|matrix/workload|verify/pattern)\.py"
)
"""Modules that return names and states, or what is stored beside a figure: no page shows that."""
_HANDED: dict[str, tuple[int, ...]] = {
    "Problem": (1,),
    "Clash": (2,),
    "Figure": (1,),
    "PowerCycles": (1, 2),
    "ColdProof": (1,),
    "make_error": (1,),
    "report": (1,),
    "accept": (0,),
    "decline": (0,),
    "pause": (2,),
    "do": (1,),
    "side_work": (1,),
    "progress": (0,),
    "fail_step": (2,),
    "_note": (1,),
}
"""Which arguments of what is called are such a text."""
_NAMED = {"hint", "hint_if_named", "what", "why", "excuse", "set_aside", "in_part", "told", "words"}
_RECORDERS = {"record", "record_step", "_warn"}
_WORD = re.compile(r"[a-z]{2,}")
_CODE = re.compile(r'"[^"]*"|\[+[^\]]*\]+|\{[^}]*\}|\w+ = \S+|^(true|false|nan|inf)$')
"""What a plan has, and what is put in."""


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(ENGINE.rglob("*.py"))}


@cache
def _list_errors() -> frozenset[str]:
    """The names of all expected failures."""
    bases = {
        node.name: {getattr(base, "id", "") for base in node.bases}
        for tree in _trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"KaltstartError"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return frozenset(found)


def _list_handed(call: ast.Call) -> Iterator[ast.expr]:
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    is_error = name in _list_errors()
    places = (0, 1) if is_error else _HANDED.get(name, ())
    yield from (call.args[place] for place in places if place < len(call.args))
    if is_error or name in _HANDED or name in _RECORDERS:
        yield from (each.value for each in call.keywords if each.arg in _NAMED)


def _list_unmarked(node: ast.expr, known: dict[str, list[ast.expr]]) -> Iterator[str]:
    """The texts that it may be, as far as they are not marked; `known`: what its names are."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            yield from _list_unmarked(body, known)
            yield from _list_unmarked(orelse, known)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _list_unmarked(value, known)
        case ast.Name(id=name):
            for value in known.pop(name, []):
                yield from _list_unmarked(value, known)
        case ast.JoinedStr() | ast.Constant(value=str()):
            text = ast.unparse(node) if isinstance(node, ast.JoinedStr) else str(node.value)
            if " " in text and _WORD.search(_CODE.sub("", text.removeprefix("f"))):
                yield text


def _list_assigned(tree: ast.AST) -> dict[str, list[ast.expr]]:
    known: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                known.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                known.setdefault(name, []).append(value)
    return known


def _find_unmarked(tree: ast.Module, *, returns: bool = True) -> Iterator[tuple[int, str]]:
    functions: list[ast.AST] = [
        each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)
    ]
    constants = _list_assigned(ast.Module(body=tree.body, type_ignores=[]))
    for function in functions or [tree]:
        known = constants | _list_assigned(function)
        for node in ast.walk(function):
            handed: Iterable[ast.expr] = ()
            if isinstance(node, ast.Call):
                handed = _list_handed(node)
            elif returns and isinstance(node, ast.Return) and node.value is not None:
                handed = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for each in handed:
                for text in _list_unmarked(each, dict(known)):
                    yield getattr(node, "lineno", 0), text


def test_no_text_is_handed_over_without_its_mark() -> None:
    names = {path: str(path.relative_to(ENGINE)) for path in _trees()}
    unmarked = [
        f"{names[path]}:{line}: {text}"
        for path, tree in _trees().items()
        if not _ELSEWHERE.fullmatch(names[path])
        for line, text in _find_unmarked(tree, returns=not _OTHER_RETURNS.fullmatch(names[path]))
    ]
    assert sorted(set(unmarked)) == []


@pytest.mark.parametrize(
    "source",
    [
        'raise StepFailedError(f"{path} is gone")',
        'raise RefusedError(message, hint="plug it in")',
        'def f():\n    text = f"{name} is here"\n    yield Problem((), text)',
        'record(context, "refused", what="it is full" if full else N_("it is there"))',
        'def f():\n    return "it is in use" if used else ""',
    ],
)
def test_one_without_is_found(source: str) -> None:
    assert len(set(_find_unmarked(ast.parse(source)))) == 1


@cache
def _read_german() -> frozenset[str]:
    messages = list_messages(read_catalogue("de"))
    return frozenset(each.id for each in messages if isinstance(each.id, str))


def _list_unsaid(text: str) -> Iterator[str]:
    """What of it would be in English."""
    words = text.words if isinstance(text, Phrase) else text
    if _WORD.search(_CODE.sub("", words)) and words not in _read_german():
        yield words
    for name, value in text.fields.items() if isinstance(text, Phrase) else ():
        # What Python's own reader of TOML has against it is in its words.
        if name in _SAID and isinstance(value, str) and words != "is not TOML: {what}":
            yield from _list_unsaid(value)


@pytest.mark.parametrize("path", _INVALID, ids=lambda path: path.stem)
def test_each_mistake_in_a_plan_is_said_in_german(path: Path) -> None:
    with pytest.raises(KaltstartError) as caught:
        parse_plan(read_plan(path), name="plan.toml")
    texts = [*map(str, caught.value.problems), str(caught.value)]
    assert [unsaid for text in texts for unsaid in _list_unsaid(text)] == []
    learn_phrases(list_phrases(texts))
    english = list(map(say, texts))
    assert english == [str(text) for text in texts]
    language.use("de")
    assert all(say(text) != text for text in texts)


async def test_the_mistakes_of_the_plan_on_the_stick_are_shown_in_german(
    engine: FakeEngine,
) -> None:
    show_bad_plan(engine)
    engine.show_machine(language="de")
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "2")
        text = " ".join(drawn(pilot).split())
        assert "1. plan.toml Zeile 3: campaign.nmae: ist hier kein bekannter Schlüssel" in text
        assert 'gemeint vielleicht "name"?' in text
        assert "2. plan.toml Zeile 9: boot.cycles: muss eine ganze Zahl von 1 bis 1000" in text


def test_what_each_key_accepts_is_said_in_german() -> None:
    tables: list[Table[object]] = [*ALL_TABLES.values()]
    keys = [key for table in tables for key in table.keys.values()]
    unsaid = {text for key in keys for text in _list_unsaid(key.allowed.words)}
    unsaid |= {text for table in tables for text in _list_unsaid(table.lacking)}
    assert unsaid == set()


def test_each_mistake_in_a_policy_is_said_in_german() -> None:
    text = (
        'version = 2\nrole = 1\n[policy]\nname = ""\n[hdd]\nself_tst = { failed = "reject" }\n'
        "pending_sectors = { remark = 10, reject = 1 }\nfio_rand_read_iops = { remark = -1 }\n"
        'surface_unreadable_bytes = { remark = "x", unmeasured = "no" }\npower_cycles = 3\n'
    )
    with pytest.raises(KaltstartError) as caught:
        parse_policy(text)
    assert len(caught.value.problems) >= 8
    texts = [*map(str, caught.value.problems), str(caught.value)]
    assert [unsaid for text in texts for unsaid in _list_unsaid(text)] == []


def test_a_policy_of_wrong_tables_is_said_in_german() -> None:
    _, problems = read_tables({"version": 1, "all": 3, "policy": [], "nvme": {"x": 1}})
    assert [unsaid for each in problems for unsaid in _list_unsaid(each.text)] == []
