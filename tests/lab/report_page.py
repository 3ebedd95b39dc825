# SPDX-License-Identifier: Apache-2.0
"""What the page of a campaign says: its first sentence and its findings. Pure.

Knows the page by its marks alone: the paragraph `sentence`, the lists `findings`.
"""

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import override


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a list of findings."""

    kind: str
    """gain | flat | remark | proof"""
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """What is reported in words."""

    sentence: str
    findings: tuple[Finding, ...]

    def list_of(self, subject: str) -> tuple[Finding, ...]:
        """The findings of one subject."""
        return tuple(each for each in self.findings if each.subject == subject)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sentence = ""
        self.findings: list[Finding] = []
        self._takes_sentence = False
        self._is_list = False
        self._kind = ""
        self._is_subject = False
        self._subject: list[str] = []
        self._text: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = (dict(attrs).get("class") or "").split()
        if tag == "p" and "sentence" in names:
            self._takes_sentence = True
        elif tag == "ul":
            self._is_list = "findings" in names
        elif tag == "li" and self._is_list:
            self._kind, self._subject, self._text = " ".join(names), [], []
        elif tag == "strong" and self._kind and not self._text:
            self._is_subject = True

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self._takes_sentence = False
        elif tag == "strong":
            self._is_subject = False
        elif tag == "li" and self._kind:
            text = "".join(self._text).removeprefix(": ")
            self.findings.append(Finding(self._kind, "".join(self._subject), text))
            self._kind = ""

    @override
    def handle_data(self, data: str) -> None:
        if self._takes_sentence:
            self.sentence += data
        elif self._is_subject:
            self._subject.append(data)
        elif self._kind:
            self._text.append(data)


def parse_page(page: str) -> Page:
    """The words of a `report.html`."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return Page(reader.sentence, tuple(reader.findings))
