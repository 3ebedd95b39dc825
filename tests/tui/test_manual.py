# SPDX-License-Identifier: Apache-2.0
"""The manual on the stick, in characters and lines that each console has."""

import re
from pathlib import Path

import pytest

from tests.tui.fake import FakeEngine
from tests.tui.machine_scenes import open_manual, show_manual
from tests.tui.steps import drawn, press, settle, shown
from tui.app import KaltstartApp
from tui.charset import ALLOWED
from tui.machine.manual import lay_out, split_chapters
from tui.page import Page
from tui.port.session import read_manual


@pytest.mark.parametrize("width", [36, 75])
def test_every_chapter_is_drawn_in_allowed_characters(width: int) -> None:
    documents = read_manual()
    chapters = [chapter for each in documents for chapter in split_chapters(each)]
    assert next(c.title for c in chapters if c.level == 1) == "Field guide"
    assert chapters[-1].source.lstrip().startswith("[docs/architecture.md]"), (
        "the README comes last"
    )
    for chapter in chapters:
        text = f"{chapter.title}\n{lay_out(chapter.source, width)}"
        assert not set(text) - ALLOWED - {"\n"}
        assert not re.search(r"\\u[0-9a-f]{4}", text), "a sign to be written otherwise"
        assert all(len(line) <= width for line in lay_out(chapter.source, width).splitlines())


def test_markdown_becomes_lines() -> None:
    source = (
        "Some **bold** [words](x.md) that\ngo on.\n- one\n- two is\n  longer\n\n"
        "| key | meaning | default |\n| --- | --- | --- |\n| `a` | what \\| it is | 1 |\n\n"
        "```toml\n# no heading\n[a]\n\nb = 1\n```\nAfter."
        "\n\n![a picture](b.png)\n\n    ci/a\n    ci/b"
    )
    assert lay_out(source, 40) == (
        "Some bold words that go on.\n\n- one\n- two is longer\n\n"
        "`a`\n    meaning: what | it is\n    default: 1\n\n"
        "  # no heading\n  [a]\n\n  b = 1\n\nAfter.\n\n  ci/a\n  ci/b"
    )
    [chapter] = split_chapters(f"before\n# Title\n{source}")
    assert (chapter.title, chapter.source) == ("Title", source)


def test_a_list_in_a_list_and_a_further_paragraph_stay_in_their_item() -> None:
    source = (
        "1. one *is*\n   long\n    - inner words\n    - other\n\n   More of it.\n"
        "2. two\n\n## Next `one`"
    )
    assert lay_out(source.partition("\n\n##")[0], 12) == (
        "1. one *is*\n   long\n   - inner\n     words\n   - other\n\n   More of\n   it.\n2. two"
    )
    assert [each.title for each in split_chapters(source)] == ["Next one"]


def test_documents_come_in_the_order_of_use(tmp_path: Path) -> None:
    for name in ("a-new-one.md", "policy.md", "field-guide.md"):
        (tmp_path / name).write_text(f"# {name}\n", encoding="utf-8")
    assert read_manual(tmp_path) == ("# field-guide.md\n", "# policy.md\n", "# a-new-one.md\n")


async def test_chapters_are_listed_read_turned_and_left(engine: FakeEngine) -> None:
    show_manual(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await open_manual(pilot, engine)
        assert "Before the first campaign" in drawn(pilot)
        await press(pilot, "down", "down", "enter")
        await shown(pilot, "ChapterDialog #lines")
        assert "everywhere" in drawn(pilot)
        await press(pilot, "n")
        await shown(pilot, "ChapterDialog #lines")
        assert " Arrays " in drawn(pilot)
        await press(pilot, "n", "n", "n", "b")
        await shown(pilot, "ChapterDialog #lines")
        assert "─ The plan ─" in drawn(pilot).replace("  ", " ")
        await press(pilot, "escape")
        await shown(pilot, "ChaptersDialog Table")
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, Page)


@pytest.mark.parametrize("digit", list("12345"))
async def test_the_help_of_each_page_is_one_screen_and_names_the_manual(
    digit: str, engine: FakeEngine
) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, digit, "f1")
        text = pilot.app.screen.query_one("#text")
        assert text.max_scroll_y == 0, "it need not be scrolled"
        assert "m  the manual" in drawn(pilot)
