# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from appliance.plan.read import parse_plan
from appliance.units import printable
from tests.lab.campaign import Result
from tests.lab.claims import read_claims
from tests.lab.held_out_campaigns import HELD_OUT
from tests.lab.model_campaigns import CAMPAIGNS, ModelCampaign
from tests.lab.model_runs import Outcome, choose, format_table, judge_result
from tests.lab.report_page import Page

_ALL = (*CAMPAIGNS, *HELD_OUT)
_ONE = choose(["never"])[0]
_PAGE = """\
<p class="sentence">No gain from repeating: LAB-NEVER-1 (29.4 s).</p>
<ul class="findings">
<li class="flat"><strong>LAB-NEVER-1</strong>: no gain from repeating: all 6 boots</li>
</ul>
"""


@pytest.mark.parametrize("campaign", _ALL, ids=lambda each: each.name)
def test_every_campaign_asks_for_its_own_drives(campaign: ModelCampaign) -> None:
    plan = parse_plan(campaign.plan)
    serials = {drive.serial for drive in campaign.drives}
    assert {drive.serial for drive in plan.drives} == serials
    assert campaign.truths
    assert {truth.drive for truth in campaign.truths} <= {printable(each) for each in serials}
    assert all(campaign.what(truth.drive) for truth in campaign.truths)


def test_a_campaign_is_called_by_its_name() -> None:
    assert choose([]) == _ALL
    assert [each.name for each in choose(["rest", "never"])] == ["rest", "never"]
    assert len({each.name for each in _ALL}) == len(_ALL)
    with pytest.raises(ValueError, match="no campaign is called never-ever; there are: never, "):
        choose(["never-ever"])


def _result(tmp_path: Path, page: str) -> Result:
    (tmp_path / "report.html").write_text(page)
    return Result(tmp_path, outcome="done", report=tmp_path)


def test_what_is_told_stands_beside_what_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Result, "ok", property(lambda result: result.outcome == "done"))
    right = judge_result(_ONE, _result(tmp_path, _PAGE))
    assert [each.wrong for each in right] == [""]
    wrong = judge_result(_ONE, _result(tmp_path, _PAGE.replace("no gain from", "still learning:")))
    assert "still learning" in wrong[0].wrong or "first sentence" in wrong[0].wrong
    nothing = judge_result(_ONE, Result(tmp_path, outcome="timeout", reason="no line"))
    assert nothing[0].wrong == "the campaign did not end well: timeout no line"
    table = format_table([*right, *wrong])
    assert table.splitlines()[2].startswith(
        "| never | a hybrid that never learns | boots: no gain | no gain from repeating:"
    )
    assert [line.endswith("| yes |") for line in table.splitlines()[2:]] == [True, False]


def test_no_drives_name_becomes_a_part_of_the_table() -> None:
    truth = _ONE.truths[0]
    table = format_table([Outcome(_ONE, truth, "A|B <script>alert(1)</script>: 3 s", "")])
    assert "| A&#124;B &lt;script>alert(1)&lt;/script>: 3 s | yes |" in table


@pytest.mark.parametrize("campaign", _ALL, ids=lambda each: each.name)
def test_every_truth_is_about_something_that_can_be_read(campaign: ModelCampaign) -> None:
    for truth in campaign.truths:
        assert not list(read_claims(Page("", ()), truth.drive, truth.about))
    with pytest.raises(ValueError, match="no claim is about 'noise'"):
        list(read_claims(Page("", ()), "A", "noise"))
