# SPDX-License-Identifier: Apache-2.0
"""The manual's Markdown as chapters of plain lines that a console can draw. Pure.

Lays out what docs/manual and the README use: paragraphs, lists, tables and code. Pictures are left
out.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tui.charset import drawable

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

_INDENT = 4
# The minus sign, a raised 6 and a raised n.
_SIGNS = {0x2212: "-", 0x2076: "^6", 0x207F: "^n"}


@dataclass(frozen=True, slots=True)
class Chapter:
    """One part of the manual."""

    title: str
    level: int
    """1: a document's first; 2 and 3 below it."""
    source: str
    """Its Markdown, without the heading."""


def split_chapters(markdown: str) -> tuple[Chapter, ...]:
    """A chapter for each heading, in their order."""
    lines = markdown.split("\n")
    headings = [node for node in _parse(markdown) if node.type == "heading"]
    ranges = [node.map or (0, 0) for node in headings]
    ends = [*(start for start, _ in ranges[1:]), len(lines)]
    return tuple(
        Chapter(_plain(node).replace("`", ""), int(node.tag[1:]), "\n".join(lines[heading_end:end]))
        for node, (_, heading_end), end in zip(headings, ranges, ends, strict=True)
    )


def lay_out(source: str, width: int) -> str:
    """A chapter's Markdown in lines of at most `width` columns."""
    blocks = (_lay_out_block(node, width) for node in _parse(source))
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


@cache
def _parser() -> "MarkdownIt":
    # Loading it takes a tenth of what the whole interface takes: only if the manual is opened.
    from markdown_it import MarkdownIt  # noqa: PLC0415  # see above

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _parse(source: str) -> Sequence["SyntaxTreeNode"]:
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415  # see above

    return SyntaxTreeNode(_parser().parse(source)).children


def _lay_out_block(node: "SyntaxTreeNode", width: int) -> list[str]:
    match node.type:
        case "fence" | "code_block":
            return _lay_out_code(node.content.splitlines(), width)
        case "table":
            return _lay_out_table(node, width)
        case "bullet_list" | "ordered_list":
            return [line for item in node.children for line in _lay_out_item(item, width)]
        case _:
            return textwrap.wrap(_plain(node), width)


def _lay_out_code(lines: list[str], width: int) -> list[str]:
    return [
        part
        for line in lines
        for part in textwrap.wrap(
            _draw(line),
            width,
            initial_indent="  ",
            subsequent_indent="      ",
            drop_whitespace=False,
        )
        or [""]
    ]


def _lay_out_item(item: "SyntaxTreeNode", width: int) -> list[str]:
    """Its mark, and beside it all that is in it; an empty line before a further paragraph."""
    lead = f"{item.info}{item.markup} "
    lines: list[str] = []
    for node in item.children:
        if lines and node.type == "paragraph":
            lines.append("")
        lines += _lay_out_block(node, width - len(lead))
    first, *others = lines or [""]
    return [lead + first, *(textwrap.indent(line, " " * len(lead)) for line in others)]


def _lay_out_table(table: "SyntaxTreeNode", width: int) -> list[str]:
    """A row's first cell on a line of its own and the others, by their heads, below it."""
    heads, *entries = (
        [_plain(cell) for cell in row.children] for part in table.children for row in part.children
    )
    lines: list[str] = []
    for cells in entries:
        lines += textwrap.wrap(cells[0], width) or ["-"]
        for head, cell in zip(heads[1:], cells[1:], strict=True):
            # With two columns it is plain what the second one is.
            text = f"{head}: {cell}" if head and len(heads) > 2 else cell
            lines += textwrap.wrap(
                text, width, initial_indent=" " * _INDENT, subsequent_indent=" " * _INDENT
            )
    return lines


def _plain(node: "SyntaxTreeNode") -> str:
    """The words below `node` on one line; code and words in italics keep their marks."""
    match node.type:
        case "text":
            return _draw(node.content)
        case "code_inline":
            return _draw(f"`{node.content}`")
        case "softbreak" | "hardbreak":
            return " "
        case "image":
            return ""
        case _:
            words = "".join(map(_plain, node.children))
            return f"*{words}*" if node.type == "em" else words


def _draw(text: str) -> str:
    return drawable(text.translate(_SIGNS))
