"""The manual's Markdown as chapters of plain lines that a console can draw. Pure.

Knows what docs/manual and the README use: headings, paragraphs, lists, tables and code. Pictures
are left out.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from tui.charset import drawable

_HEADING = re.compile(r"(#+) +(.*)")
_ITEM = re.compile(r"( *)([-*]|\d+\.) +")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_RULE = re.compile(r"\|[-:| ]+\|")
_CELLS = re.compile(r"(?<!\\)\|")
_INDENT = 4
_CODE = "    "
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
    found: list[tuple[str, int, list[str]]] = []
    in_code = False
    for line in markdown.splitlines():
        in_code ^= line.startswith("```")
        heading = None if in_code else _HEADING.fullmatch(line)
        if heading is not None:
            found.append((_plain(heading[2]).replace("`", ""), len(heading[1]), []))
        elif found:
            found[-1][2].append(line)
    return tuple(Chapter(title, level, "\n".join(lines)) for title, level, lines in found)


def lay_out(source: str, width: int) -> str:
    """A chapter's Markdown in lines of at most `width` columns."""
    blocks = [
        "\n".join(_lay_out_block(block, width))
        for block in _split_blocks(source.splitlines())
        if not _PICTURE.fullmatch("".join(block))
    ]
    return "\n\n".join(blocks)


def _split_blocks(lines: list[str]) -> Iterator[list[str]]:
    """Paragraphs, lists, tables and code, each with all of its lines."""
    block: list[str] = []
    in_code = False
    for line in lines:
        fence = line.startswith("```")
        is_end = not in_code and (not line.strip() or fence or _starts_anew(block, line))
        if block and is_end:
            yield block
            block = []
        if in_code or line.strip():
            block.append(line)
        in_code ^= fence
        if fence and not in_code:
            yield block
            block = []
    if block:
        yield block


def _starts_anew(block: list[str], line: str) -> bool:
    """A list or a table needs no empty line before it."""
    if not block:
        return False
    starts_list = _ITEM.match(line) is not None and _ITEM.match(block[0]) is None
    return starts_list or line.startswith("|") != block[0].startswith("|")


def _lay_out_block(block: list[str], width: int) -> list[str]:
    first = block[0]
    if first.startswith("```"):
        return _lay_out_code([line for line in block[1:] if not line.startswith("```")], width)
    if first.startswith(_CODE):
        return _lay_out_code([line.removeprefix(_CODE) for line in block], width)
    if first.startswith("|"):
        return _lay_out_table(block, width)
    if _ITEM.match(first):
        return _lay_out_list(block, width)
    return textwrap.wrap(_plain(" ".join(line.strip() for line in block)), width)


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


def _lay_out_list(block: list[str], width: int) -> list[str]:
    items: list[tuple[str, str]] = []
    for line in block:
        mark = _ITEM.match(line)
        if mark is not None:
            items.append((f"{mark[1]}{mark[2]} ", line[mark.end() :]))
        else:
            lead, text = items[-1]
            items[-1] = (lead, f"{text} {line.strip()}")
    return [
        part
        for lead, text in items
        for part in textwrap.wrap(
            _plain(text), width, initial_indent=lead, subsequent_indent=" " * len(lead)
        )
    ]


def _lay_out_table(block: list[str], width: int) -> list[str]:
    """A row's first cell on a line of its own and the others, by their heads, below it."""
    rows = [
        [_plain(cell.strip().replace(r"\|", "|")) for cell in _CELLS.split(line.strip())[1:-1]]
        for line in block
        if not _RULE.fullmatch(line.strip())
    ]
    heads, *entries = rows
    lines: list[str] = []
    for cells in entries:
        lines += textwrap.wrap(cells[0], width) or ["-"]
        for head, cell in zip(heads[1:], cells[1:], strict=False):
            # With two columns it is plain what the second one is.
            text = f"{head}: {cell}" if head and len(heads) > 2 else cell
            lines += textwrap.wrap(
                text, width, initial_indent=" " * _INDENT, subsequent_indent=" " * _INDENT
            )
    return lines


def _plain(text: str) -> str:
    return _draw(_LINK.sub(r"\1", text).replace("**", ""))


def _draw(text: str) -> str:
    return drawable(text.translate(_SIGNS))
