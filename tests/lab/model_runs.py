# SPDX-License-Identifier: Apache-2.0
"""`ci/models`: the campaigns whose right answer is known, and a table of told against true."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.lab.campaign import Result, Trial, run_campaign
from tests.lab.claims import Truth, judge
from tests.lab.held_out_campaigns import HELD_OUT
from tests.lab.model_campaigns import CAMPAIGNS, ModelCampaign
from tests.lab.report_page import parse_page
from tests.lab.stick import StickError

_ICOUNT_SHIFT = 0
"""Times are the machine's own: they do not depend on how busy the host is."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was reported of one drive, beside what is true."""

    campaign: ModelCampaign
    truth: Truth
    told: str
    """The sentence; or why there is none."""
    wrong: str
    """Why it is not true; empty where it is."""


def run_model(campaign: ModelCampaign, out: Path) -> tuple[Outcome, ...]:
    """Run it in the lab, and hold what its page says against the truth."""
    result = run_campaign(
        Trial(
            out=out,
            plan=campaign.plan,
            drives=campaign.drives,
            icount_shift=_ICOUNT_SHIFT,
            say=lambda text: print(f"{campaign.name}: {text}", flush=True),
        )
    )
    print(f"{campaign.name}: {result.seconds / 60:.0f} min", flush=True)
    return judge_result(campaign, result)


def judge_result(campaign: ModelCampaign, result: Result) -> tuple[Outcome, ...]:
    """One outcome for each truth."""
    if not result.ok or result.report is None:
        return _fail(campaign, f"{result.outcome} {result.reason}")
    return judge_report(campaign, result.report)


def judge_report(campaign: ModelCampaign, report: Path) -> tuple[Outcome, ...]:
    """The same from the folder of a report."""
    page = report / "report.html"
    if not page.exists():
        return _fail(campaign, f"{page} is missing")
    told = parse_page(page.read_text(encoding="utf-8"))
    return tuple(Outcome(campaign, truth, *judge(told, truth)) for truth in campaign.truths)


def _fail(campaign: ModelCampaign, reason: str) -> tuple[Outcome, ...]:
    wrong = f"the campaign did not end well: {reason}".strip()
    return tuple(Outcome(campaign, truth, "", wrong) for truth in campaign.truths)


def format_table(outcomes: Iterable[Outcome]) -> str:
    """The table of told against true, as Markdown."""
    lines = [
        "| campaign | drive | true | told | right |",
        "| --- | --- | --- | --- | --- |",
    ]
    for each in outcomes:
        cells = (
            each.campaign.name,
            each.campaign.what(each.truth.drive),
            _describe(each.truth),
            each.told or "nothing",
            each.wrong or "yes",
        )
        lines.append(f"| {' | '.join(map(_escape, cells))} |")
    return "\n".join(lines) + "\n"


def _escape(cell: str) -> str:
    """What Markdown would take for a table's line, or for HTML."""
    return cell.replace("|", "&#124;").replace("<", "&lt;")


def _describe(truth: Truth) -> str:
    ranges = ", ".join(f"{low:g} to {high:g}" for low, high in truth.ranges)
    return f"{truth.about}: {truth.answer}{f' ({ranges})' if ranges else ''}"


def choose(names: Sequence[str]) -> tuple[ModelCampaign, ...]:
    """The campaigns of these names, all without any. Raises ValueError."""
    known = {campaign.name: campaign for campaign in (*CAMPAIGNS, *HELD_OUT)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no campaign is called {unknown[0]}; there are: {', '.join(known)}")
    return tuple(known[name] for name in names) or tuple(known.values())


def run_all(campaigns: Sequence[ModelCampaign], out: Path, *, at_once: int) -> list[Outcome]:
    """Run them, so many at once, each in a folder of its own below `out`."""
    with ThreadPoolExecutor(max_workers=max(1, at_once)) as pool:
        runs = [pool.submit(run_model, each, out / each.name) for each in campaigns]
    return [outcome for run in runs for outcome in run.result()]


def main(words: Sequence[str]) -> int:
    """0 only if all that was reported is true."""
    parser = argparse.ArgumentParser(prog="ci/models", description=__doc__)
    parser.add_argument("name", nargs="*")
    parser.add_argument("--out", type=Path, default=Path("build/models"))
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--judge-only", action="store_true")
    asked = parser.parse_args(words)
    out: Path = asked.out.absolute()
    try:
        campaigns = choose(asked.name)
        if asked.judge_only:
            outcomes = [
                o for each in campaigns for o in judge_report(each, out / each.name / "report")
            ]
        else:
            outcomes = run_all(campaigns, out, at_once=asked.at_once)
    except (ValueError, StickError, OSError) as error:
        print(f"models: {error}", file=sys.stderr)
        return 2
    table = format_table(outcomes)
    (out / "told-against-true.md").write_text(table, encoding="utf-8")
    print(f"\n{table}")
    return 1 if any(each.wrong for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
