# SPDX-License-Identifier: Apache-2.0
"""A report made of a database, and read as a person would see it."""

import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path
from typing import override

from appliance.report.export import export_campaign

_VOID = {"meta", "br", "link", "img", "hr", "input"}


class PageReader(HTMLParser):
    """Reads a page strictly: every element is closed where it was opened."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.text: list[str] = []
        self.is_going_on = False
        """Whether the next text is the same sentence, as with a name that is kept in one piece."""
        self.is_whole = False

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_whole = ("class", "whole") in attrs
        self.is_going_on = self.is_whole and self.is_going_on
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            self.open.append(tag)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    @override
    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"
        self.is_going_on, self.is_whole = self.is_whole, False

    @override
    def handle_data(self, data: str) -> None:
        if self.is_going_on:
            self.text[-1] += data
        elif self.open and self.open[-1] != "style":
            self.text.append(data)
        self.is_going_on = True

    @property
    def words(self) -> str:
        """All that is shown, with single spaces."""
        return " ".join(" ".join(self.text).split())


def read_page(page: str) -> PageReader:
    """The text of a page, which must be well-formed."""
    reader = PageReader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def find_charts(page: str) -> list[str]:
    """The charts in the text of a page, each a line of it."""
    return re.findall(r"^<svg id=.*</svg>$", page, flags=re.MULTILINE)


def export(connection: sqlite3.Connection, folder: Path, *, campaign_id: int = 1) -> Path:
    """The report of a campaign of the database, below `folder`."""
    return export_campaign(
        connection, campaign_id=campaign_id, reports=folder / "r", raw=folder / "raw"
    )


def read_report(folder: Path) -> PageReader:
    """The page of an exported report."""
    return read_page((folder / "report.html").read_text(encoding="utf-8"))


def words_of(folder: Path) -> str:
    """All that the page of an exported report shows."""
    return read_report(folder).words
