# SPDX-License-Identifier: Apache-2.0
"""Every link of the documents leads to a file and a heading of the repository."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.lab.campaign import REPO

_DOCUMENTS = sorted([*REPO.glob("*.md"), *REPO.glob("docs/**/*.md")])
_ELSEWHERE = ("https://",)


def _list_targets(document: Path) -> list[str]:
    """Addresses of the links and pictures of a document, in its order."""
    tokens = MarkdownIt("commonmark").enable("table").parse(document.read_text())
    inside = [child for token in tokens for child in token.children or ()]
    found = [token.attrGet("href") or token.attrGet("src") for token in inside]
    return [str(target) for target in found if target]


def _list_anchors(document: Path) -> set[str]:
    """As hosting sites make them of headings."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: str(path.relative_to(REPO)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in _list_targets(document):
        if target.startswith(_ELSEWHERE):
            continue
        name, _, anchor = target.partition("#")
        place = (document.parent / name).resolve() if name else document
        assert place.exists(), target
        assert place.is_relative_to(REPO), target
        if anchor:
            assert anchor in _list_anchors(place), target


def test_there_are_links() -> None:
    assert len(_list_targets(REPO / "README.md")) > 10
