# SPDX-License-Identifier: Apache-2.0
"""The section of the contention test: who falls behind when all work. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from appliance.phrases import N_, Phrase, join_phrases
from appliance.report.blocks import format_rate
from appliance.report.boots.findings import Finding
from appliance.report.figures import StepFigures, Workload
from appliance.report.section import Row, Section
from appliance.samples.processor_load import FULL_SHARE
from appliance.workloads.contention.keys import ContentionVariant
from appliance.workloads.contention.sharing import LEAST_FALL, Member, Share, find_shares

RULE = (
    "Contention: a drive falls behind if each of its readings with the others was slower than each"
    f" of its readings alone, the median by {LEAST_FALL * 100:.0f} % at least. What drives are said"
    " to share is the last thing that connects all of them; the narrow place is there or between it"
    " and the drives. Nothing is said of a drive whose cache state is not proven."
)


def _read_rates(step: StepFigures, company: str) -> tuple[float, ...]:
    return tuple(
        rate
        for figure in step.figures
        if isinstance(figure.variant, ContentionVariant)
        and figure.variant.company == company
        and figure.is_state_known
        and bool(figure.beside) == (company == "together")
        and (rate := figure.get("bw_bytes_s"))
    )


def make_member(step: StepFigures) -> Member:
    """One drive's readings that count."""
    chain = tuple(filter(None, step.topology.split(" > ")))
    return Member(step.label, chain, _read_rates(step, "alone"), _read_rates(step, "together"))


def _read_rows(step: StepFigures) -> Iterator[Row]:
    for company in ("alone", "together"):
        figures = tuple(
            figure
            for figure in step.figures
            if isinstance(figure.variant, ContentionVariant) and figure.variant.company == company
        )
        member = make_member(step)
        rate = member.alone_bytes_s if company == "alone" else member.together_bytes_s
        yield f"read {company}", "MB/s", False, rate or None, figures


def _judge(workload: Workload) -> Iterable[Finding]:
    members = [make_member(step) for step in workload.steps]
    measured = [member for member in members if member.is_measured]
    shares = find_shares(measured)
    for share in shares:
        phrases = (_describe(share), _say_processor(workload), _say_missing(workload))
        yield Finding("flat", _name(share.members), join_phrases(phrases, _SENTENCES))
    if measured and not shares:
        none = Phrase(_NONE, count=len(measured))
        text = join_phrases((none, _say_missing(workload)), _SENTENCES)
        yield Finding("flat", "contention", text)
    for member in members:
        if not member.is_measured:
            yield Finding(
                "remark",
                member.label,
                N_("not compared with the others: too few readings that count"),
            )


_SENTENCES = "{first} {rest}"
_NONE = N_(
    "no drive is slowed down by the others: {count} drives were read alone and together, and none "
    "fell behind by a tenth and by more than its own readings differ."
)


def _name(members: Sequence[Member]) -> str:
    return ", ".join(member.label for member in members)


def _describe(share: Share) -> str:
    rates = [member.alone_bytes_s for member in share.members]
    low, high = format_rate(min(rates)), format_rate(max(rates))
    rate = format_rate(share.bytes_s)
    if len(share.members) == 1:
        template = N_(
            "falls behind when all drives work: alone it reads {low} MB/s, with the others {rate} "
            "MB/s. Nothing that it has in common with another drive explains this."
        )
        return Phrase(template, low=low, rate=rate)
    count, where = len(share.members), ", ".join(reversed(share.node))
    together = (
        Phrase(
            N_("{count} drives behind {where} share {rate} MB/s"),
            count=count,
            where=where,
            rate=rate,
        )
        if where
        else Phrase(
            N_("{count} drives behind nothing but the machine itself share {rate} MB/s"),
            count=count,
            rate=rate,
        )
    )
    alone = (
        Phrase(N_("alone each reads {low} MB/s."), low=low)
        if low == high
        else Phrase(N_("alone each reads {low} to {high} MB/s."), low=low, high=high)
    )
    return join_phrases((together, alone))


def _say_processor(workload: Workload) -> str:
    busiest = [
        figure.get("processor_ratio") or 0.0
        for step in workload.steps
        for figure in step.figures
        if isinstance(figure.variant, ContentionVariant) and figure.variant.company == "together"
    ]
    if max(busiest, default=0.0) < FULL_SHARE:
        return ""
    return N_("A processor was at its limit meanwhile: it may be what they share.")


def _say_missing(workload: Workload) -> str:
    """What of the load was not there: a drive that had failed, was in use or was gone."""
    besides = [
        figure.beside
        for step in workload.steps
        for figure in step.figures
        if isinstance(figure.variant, ContentionVariant)
        and figure.variant.company == "together"
        and figure.beside
    ]
    all_others = len(workload.steps) - 1
    least = min(besides, default=all_others)
    if least >= all_others:
        return ""
    template = N_("Not all of the others were read each time: of {all_others} only {least}.")
    return Phrase(template, all_others=all_others, least=least)


SECTION = Section(
    title="Contention",
    note="Each drive was read alone, then while all the others were read as well, with O_DIRECT"
    " from the first sixteenth of the drive.",
    name="contention",
    read_rows=_read_rows,
    judge=_judge,
    rules=(RULE,),
    is_beside=True,
)
