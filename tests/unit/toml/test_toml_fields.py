# SPDX-License-Identifier: Apache-2.0
"""Keys of a table declared once: values, every mistake, defaults and schema from one place."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from appliance.toml.fields import (
    Table,
    Walk,
    each_once,
    either,
    flag,
    key,
    one_of,
    one_table,
    read_alone,
    read_table,
    several,
    size,
    table_of,
    text,
    whole,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerPlan:
    """A table in it.

    What is behind the first paragraph is for programmers.
    """

    NEEDS_ONE: ClassVar = ("wait", "name")

    wait_s: int | None = key(either("never", None, whole(1, 9)), default="never", says="How long.")
    name: str = key(text("a word", most=3, pattern="^[a-z]+$"), absent="")


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterPlan:
    """All there is."""

    version: int = key(whole(1, 1), is_required=True)
    sizes_bytes: tuple[int, ...] = key(
        each_once(size("1K", "1M", "4K"), "sizes", most=2), absent=()
    )
    is_on: bool = key(flag(), name="on", default=False)
    inner: tuple[InnerPlan, ...] = key(
        several(one_table(table_of(InnerPlan), "a table"), "one or two tables", most=2), absent=()
    )


def mistakes_of(data: dict[str, object]) -> dict[str, str]:
    walk = Walk(lambda table, name: f"{name} is none of {', '.join(table.keys)}")
    read_table(table_of(OuterPlan), data, walk=walk)
    return {"/".join(map(str, each.path)): each.text for each in walk.problems}


def test_keys_are_called_after_their_fields_without_the_unit() -> None:
    assert list(table_of(OuterPlan).keys) == ["version", "sizes", "on", "inner"]
    assert table_of(OuterPlan).defaults == {"on": False}


def test_values_are_held_as_the_program_has_them() -> None:
    data = {"version": 1, "sizes": ["4K", 1024], "inner": [{"wait": 3}, {"wait": "never"}]}
    reading = read_alone(table_of(OuterPlan), data)
    assert reading is not None
    assert reading.value == OuterPlan(
        version=1, sizes_bytes=(4096, 1024), inner=(InnerPlan(wait_s=3), InnerPlan())
    )
    assert reading.given == {"version", "sizes", "inner"}


def test_every_mistake_is_told_at_once_with_its_place() -> None:
    assert mistakes_of(
        {
            "sizes": ["4K", 4096],
            "on": 1,
            "inner": [{"wait": 0}, {}, {"wait": "ever", "name": "a\n"}, 7],
            "of": 1,
        }
    ) == {
        "version": "is missing; must be a whole number from 1 to 1",
        "sizes": 'names "4K" twice',
        "on": "must be true or false, not 1",
        "inner/0/wait": 'must be "never" or a whole number from 1 to 9, not 0',
        "inner/1": "has neither wait nor name; must have one of them",
        "inner/2/wait": 'must be "never" or a whole number from 1 to 9, not "ever"',
        "inner/2/name": r'must be a word, not "a\x0a"',
        "inner/3": "must be a table, not 7",
        "inner": "must be one or two tables, not an array of 4",
        "of": "of is none of version, sizes, on, inner",
    }


def test_broken_keys_have_their_defaults() -> None:
    walk = Walk(lambda _table, name: name)
    reading = read_table(table_of(InnerPlan), {"wait": 0, "name": "b", "x": 1}, walk=walk)
    assert reading.value == InnerPlan(name="b")
    assert reading.broken == {"wait", "x"}
    assert reading.values == {"wait": None, "name": "b"}


def test_a_default_that_is_not_allowed_is_found_where_it_is_declared() -> None:
    with pytest.raises(ValueError, match="must be a whole number from 1 to 2, not 3"):
        key(whole(1, 2), default=3)


def test_a_text_that_is_none_of_the_words_is_told_with_all_of_them() -> None:
    walk = Walk(lambda _table, name: name)
    allowed = one_of("a", "b")
    assert allowed.read("b", (), walk) == "b"
    allowed.read("d", (), walk)
    assert [each.text for each in walk.problems] == ['must be "a" or "b", not "d"']


def test_the_schema_says_the_same() -> None:
    table: Table[InnerPlan] = table_of(InnerPlan)
    assert table.schema == {
        "title": "InnerTable",
        "description": "A table in it.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "wait": {
                "anyOf": [
                    {"type": "string", "const": "never"},
                    {"type": "integer", "minimum": 1, "maximum": 9},
                ],
                "description": "How long.",
                "default": "never",
            },
            "name": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]+$"},
        },
        "anyOf": [{"required": ["wait"]}, {"required": ["name"]}],
    }
    assert table_of(OuterPlan).schema["required"] == ["version"]
