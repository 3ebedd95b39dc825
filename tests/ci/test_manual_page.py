# SPDX-License-Identifier: Apache-2.0
"""The manual as one page for any browser: whole, and each link of it leads somewhere."""

import re
import subprocess
import sys
from pathlib import Path

from tests.lab.campaign import REPO


def test_manual_is_one_page_whose_links_lead_somewhere(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "ci/manual.py", tmp_path], cwd=REPO, check=True)
    page = (tmp_path / "manual.html").read_text()
    anchors = set(re.findall(r' id="([^"]+)"', page))
    links = re.findall(r'href="#([^"]+)"', page)
    assert links
    assert set(links) <= anchors
    assert "erase" in page
    for document in (REPO / "docs/manual").glob("*.md"):
        assert document.stem in anchors
    assert "README-five-minutes-is-this-drive-all-right" in anchors
    # The page lies on a stick: nothing of the repository is beside it.
    assert not re.findall(r'(?:href|src)="(?!#|https:)', page)
