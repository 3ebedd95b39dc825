# SPDX-License-Identifier: Apache-2.0
"""Drives whose right answer is known: what the page of a campaign tells of them is true.

`ci/models` runs the same and writes a table. Which drives these are: docs/models.md.
"""

from pathlib import Path

import pytest

from tests.lab.held_out_campaigns import HELD_OUT
from tests.lab.model_campaigns import CAMPAIGNS, ModelCampaign
from tests.lab.model_runs import format_table, run_model

_QUICK = "lottery"
"""Of the default tier: drives that do not learn, beside some that do."""


@pytest.mark.parametrize(
    "campaign",
    [
        pytest.param(
            campaign,
            id=campaign.name,
            marks=[] if campaign.name == _QUICK else [pytest.mark.long],
        )
        for campaign in (*CAMPAIGNS, *HELD_OUT)
    ],
)
def test_what_is_told_of_a_drive_is_true(out: Path, campaign: ModelCampaign) -> None:
    outcomes = run_model(campaign, out)
    print(format_table(outcomes))
    assert [each.wrong for each in outcomes] == [""] * len(campaign.truths)
