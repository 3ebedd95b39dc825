# SPDX-License-Identifier: Apache-2.0
"""Two drives whose lottery has samples enough for a box, and too few for one."""

from dataclasses import replace

from appliance.samples.model import Ticket
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.measured import lottery_results, lottery_tickets

SECONDS = (1.0, 1.25, 2.0, 2.5, 4.0)


def make_reads(*seconds: float) -> tuple[Ticket, ...]:
    """Reads past the page cache, of 100 MiB each."""
    some = next(each for each in lottery_tickets() if each.page_cache == "bypass")
    return tuple(replace(some, seq=seq, seconds=each) for seq, each in enumerate(seconds, 1))


def show_spreads(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("two", cycles=0, boots={HDD: [], SSHD: []})
    results = lottery_results()
    engine.add_step(campaign_id, "lottery", HDD, results=results, tickets=make_reads(*SECONDS))
    engine.add_step(campaign_id, "lottery", SSHD, results=results, tickets=make_reads(0.5, 1.0))
    engine.say()
