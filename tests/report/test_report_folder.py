# SPDX-License-Identifier: Apache-2.0
"""Whose a report is, told by the ends of its `results.json`."""

import json
import sqlite3
from pathlib import Path

import pytest

from appliance.report.folder import find_report
from appliance.store.tables.campaigns import select_campaign


def test_of_a_long_results_file_only_its_ends_are_read(
    report: Path, lab: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stick may have hundreds of them, of megabytes each."""
    path = report / "results.json"
    found = json.loads(path.read_text())
    found["slices"] = [{"number": number} for number in range(10_000)]
    path.write_text(f"{json.dumps(found, indent=1)}\n")
    campaign = select_campaign(lab, 1)
    assert campaign is not None
    with monkeypatch.context() as patch:
        patch.setattr(json, "loads", lambda _: pytest.fail("read whole"))
        assert find_report(lab, report.parent, campaign) == report
    found["events"][-1]["boot_id"] = "of a clone"
    path.write_text(f"{json.dumps(found, indent=1)}\n")
    assert find_report(lab, report.parent, campaign) is None


@pytest.mark.parametrize("changes", [{"events": []}, {"later": [{"a": 1}]}, {"plan": "x" * 40_000}])
def test_a_results_file_of_another_layout_is_read_whole(
    report: Path, lab: sqlite3.Connection, changes: dict[str, object]
) -> None:
    path = report / "results.json"
    found = json.loads(path.read_text())
    found["campaign"]["plan_toml"] = changes.pop("plan", "")
    path.write_text(f"{json.dumps(found | changes, indent=1)}\n")
    campaign = select_campaign(lab, 1)
    assert campaign is not None
    assert find_report(lab, report.parent, campaign) == report
