"""The report of the lab's campaign, byte for byte.

After a wanted change run it with KALTSTART_GOLDEN=write in the environment, then look at the page
and at the difference.
"""

import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["report.html", "results.csv", "results.json"])
def test_report_is_as_it_was(report: Path, name: str) -> None:
    found = (report / name).read_bytes()
    if os.environ.get("KALTSTART_GOLDEN") == "write":
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / name).write_bytes(found)
    assert found == (GOLDEN / name).read_bytes()
