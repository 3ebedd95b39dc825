# SPDX-License-Identifier: Apache-2.0
"""Who slows down whom in a campaign, in the report's own sentences. May block."""

from pathlib import Path

from appliance.phrases import list_phrases
from appliance.report.workload_findings import find_of_kind
from appliance.store.read.campaign import select_campaign
from tui.charset import one_line
from tui.figures.contention import ContentionSentence
from tui.language import _
from tui.port.stored import opened
from tui.port.watch import learn_phrases


def read_contention(database: Path, campaign_id: int) -> tuple[ContentionSentence, ...]:
    """The sentences about its workload `contention`; those about drives are warnings.

    Raises KaltstartError.
    """
    with opened(database, _("the campaign cannot be read: {reason}")) as connection:
        rows = select_campaign(connection, campaign_id=campaign_id, with_activity=False)
    sentences = find_of_kind(rows, "contention")
    learn_phrases(list_phrases([sentence.text for sentence in sentences]))
    return tuple(
        ContentionSentence(
            one_line(sentence.subject), one_line(sentence.text), sentence.subject != "contention"
        )
        for sentence in sentences
    )
