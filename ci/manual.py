# SPDX-License-Identifier: Apache-2.0
"""Writes the manual as one page that any browser opens: FOLDER/manual.html.

Usage: python3 ci/manual.py FOLDER. The chapters are the README and docs/manual, in the order of the
interface. What a link leads to is in the page or on the web, or it is no link.
"""

import re
import sys
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

_REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_REPO))

from appliance import VERSION  # noqa: E402  # a script: the repository is not installed
from tui.port.session import MANUAL_ORDER  # noqa: E402

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>Kaltstart {version}: manual</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1f24; background: #fff; overflow-wrap: break-word }}
table {{ border-collapse: collapse; display: block; overflow-x: auto }}
th, td {{ border: 1px solid #c8ccd0; padding: .3rem .6rem; text-align: left; vertical-align: top }}
code, pre {{ font-family: ui-monospace, monospace; font-size: .9em }}
pre {{ background: #f3f4f6; padding: .6rem; overflow-x: auto }}
nav li {{ list-style: none }}
@media print {{ nav {{ display: none }} h1 {{ break-before: page }} }}
</style>
<nav><ul>
{contents}
</ul></nav>
{chapters}
</html>
"""


def make_page(documents: dict[str, str]) -> str:
    """The page of these documents, Markdown by file name. Links between them stay in the page.

    Raises ValueError for a link to a heading that no document has.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    contents: list[str] = []
    chapters: list[str] = []
    anchors: set[str] = set()
    links: set[str] = set()
    for name, text in documents.items():
        stem = Path(name).stem
        tokens = markdown.parse(_keep_links_inside(text, set(documents)))
        for index, token in enumerate(tokens):
            if token.type == "heading_open":
                title = tokens[index + 1].content.replace("`", "")
                anchor = stem if token.tag == "h1" else f"{stem}-{_slug(title)}"
                token.attrSet("id", anchor)
                anchors.add(anchor)
                if token.tag in {"h1", "h2"}:
                    indent = "" if token.tag == "h1" else ' style="margin-left:1.5rem"'
                    contents.append(f'<li{indent}><a href="#{anchor}">{escape(title)}</a></li>')
            links |= {_point_inside(link, stem) for link in _list_links(token)}
        chapters.append(markdown.renderer.render(tokens, markdown.options, {}))
    if broken := {link for link in links if link.startswith("#")} - {f"#{a}" for a in anchors}:
        raise ValueError(f"links that lead nowhere: {', '.join(sorted(broken))}")
    return _PAGE.format(version=VERSION, contents="\n".join(contents), chapters="\n".join(chapters))


def _keep_links_inside(text: str, names: set[str]) -> str:
    """Without the pictures, and without links to files of the repository but `names`."""

    def replace(match: re.Match[str]) -> str:
        is_picture, label, target = match.groups()
        file, _, heading = target.partition("#")
        name = Path(file).name
        if is_picture:
            return ""
        if name and name not in names:
            return label
        return f"[{label}]({name}#{heading})" if heading else f"[{label}]({name})"

    return re.sub(r"(!?)\[([^]]*)\]\((?!https:)([^)]*)\)", replace, text)


def _list_links(token: Token) -> list[Token]:
    return [child for child in token.children or () if child.type == "link_open"]


def _point_inside(link: Token, stem: str) -> str:
    """Where a link leads in the page; of a document that is not in it the address stays."""
    target = str(link.attrGet("href"))
    file, _, heading = target.partition("#")
    if not file or re.fullmatch(r"[\w-]+\.md", file):
        base = Path(file).stem if file else stem
        target = f"#{base}-{heading}" if heading else f"#{base}"
        link.attrSet("href", target)
    return target


def _slug(title: str) -> str:
    """As hosting sites make a heading's anchor: lower case, hyphens, no punctuation."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    _, target_folder = sys.argv
    sources = {"README.md": (_REPO / "README.md").read_text()}
    sources |= {name: (_REPO / "docs/manual" / name).read_text() for name in MANUAL_ORDER}
    Path(target_folder).mkdir(parents=True, exist_ok=True)
    (Path(target_folder) / "manual.html").write_text(make_page(sources))
