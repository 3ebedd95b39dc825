# SPDX-License-Identifier: Apache-2.0
"""Conclusions from workloads' figures, in plain sentences, each by a stated rule. Pure.

Only figures speak that are valid and proven, at least in how they began; each says how much of it
RAM answered, which is never told as the drive's.
"""

from collections.abc import Iterable, Sequence

from appliance.kinds import KINDS
from appliance.report import sustained
from appliance.report.arrays.findings import (
    ARRAY_RULES,
    find_array_findings,
    find_covered,
    find_order_findings,
)
from appliance.report.blocks import count, format_bytes, format_rate
from appliance.report.boots.findings import Finding
from appliance.report.figures import Workload, group_workloads
from appliance.report.section import find_section
from appliance.samples.variants import OTHER, TOTAL
from appliance.store.read.campaign import CampaignRows

_RULE_OF_FIGURES = (
    "Of workloads only figures speak that are valid, whose cache state is proven, or which"
    " are proven to have begun with an empty page cache and say how much RAM answered since;"
    " n is how many."
)
_RULE_OF_WRITING = (
    "Writing falls: all that was written is cut into pieces of equal size. Three quarters of"
    f" the pieces before the fall are at least {sustained.DROP:.1f} times as fast as three"
    " quarters of those behind, and so is the median of the three right before it to that of"
    " the three right behind. Only of steps that wrote in one way."
)


def list_rules(workloads: Sequence[Workload]) -> tuple[str, ...]:
    """The rules behind the sentences about these workloads."""
    arrays = any(step.place == "array" for workload in workloads for step in workload.steps)
    of_kinds = [rule for kind in KINDS for rule in find_section(kind).rules]
    return (_RULE_OF_FIGURES, *of_kinds, _RULE_OF_WRITING, *(ARRAY_RULES if arrays else ()))


def find_workload_findings(workloads: Sequence[Workload]) -> tuple[Finding, ...]:
    """What each workload showed, the array's place and gains first; then failures and doubts.

    Drives that did the same share one sentence, so that many drives stay readable.
    """
    findings = list(find_order_findings(workloads))
    for workload in workloads:
        judge = find_section(workload.kind).judge
        covered = find_covered(workload)
        section_findings = judge(workload) if judge else ()
        findings += [finding for finding in section_findings if finding.subject not in covered]
        findings += _judge_writing(workload)
    findings += find_array_findings(workloads)
    findings.sort(key=lambda finding: finding.kind != "gain")
    for workload in workloads:
        findings += _judge_states(workload)
        findings += _judge_throttling(workload)
        findings += _judge_kernel_errors(workload)
        findings += _judge_proofs(workload)
    return tuple(findings)


def find_of_kind(rows: CampaignRows, kind: str) -> tuple[Finding, ...]:
    """What one kind of workload alone showed."""
    judge = find_section(kind).judge
    workloads = group_workloads(rows) if judge else ()
    return tuple(
        finding
        for workload in workloads
        if judge and workload.kind == kind
        for finding in judge(workload)
    )


def _judge_writing(workload: Workload) -> Iterable[Finding]:
    """Where a drive began to write more slowly; why it did, the figures do not say."""
    is_shown = find_section(workload.kind).shows_writing
    for step in workload.steps:
        # Beside others it may have had less of what they share.
        is_alone = not any(figure.beside for figure in step.figures)
        drop = sustained.find_drop(step) if is_shown and is_alone else None
        if drop is not None:
            at_least = "at least " if drop.is_brief else ""
            text = (
                f"writing fell from {at_least}{format_rate(drop.fast_bytes_s)} to"
                f" {format_rate(drop.slow_bytes_s)} MB/s once {format_bytes(drop.after_bytes)} were"
                f" written, and stayed there ({workload.kind}; medians)."
            )
            yield Finding("flat", step.label, text)


def _judge_states(workload: Workload) -> Iterable[Finding]:
    for step in workload.steps:
        if step.step.state in {"failed", "skipped"}:
            reason = step.step.reason or "no reason recorded"
            kind = step.step.kind
            yield Finding("remark", step.label, f"{kind} {step.step.state}: {reason}.")


def _judge_throttling(workload: Workload) -> Iterable[Finding]:
    for step in workload.steps:
        for row in step.throttling:
            if row.sentence:
                yield Finding("remark", step.label, f"{workload.kind}: {row.sentence}.")


def _judge_kernel_errors(workload: Workload) -> Iterable[Finding]:
    """What the drive or its link did wrong, also where the kernel tried again with success."""
    for step in workload.steps:
        for row in step.kernel_errors:
            member = f"{row.drive_serial}: " if step.place == "array" else ""
            told = f"the kernel reported {row.errors.sentence}" if row.messages else ""
            lost = "" if row.complete else "not all of the kernel's messages could be read"
            for text in filter(None, (told, lost)):
                yield Finding("remark", step.label, f"{workload.kind}: {member}{text}.")


def _judge_proofs(workload: Workload) -> Iterable[Finding]:
    figures = [
        (step.label, figure)
        for step in workload.steps
        for figure in step.figures
        # The total of SQL is a sum without caches of its own.
        if figure.variant not in {OTHER, TOTAL}
    ]
    invalid = [label for label, figure in figures if not figure.valid]
    unproven = [label for label, figure in figures if figure.valid and not figure.is_state_known]
    beside = [label for label, figure in figures if figure.valid and figure.beside]
    kind, total = workload.kind, count(len(figures), "figure")
    if invalid:
        verb = "is" if len(invalid) == 1 else "are"
        text = f"{kind}: {len(invalid)} of {total} {verb} invalid and left out of every mean."
        yield Finding("remark", ", ".join(dict.fromkeys(invalid)), text)
    if unproven:
        text = (
            f"{kind}: for {len(unproven)} of {total}, neither the state of the page cache nor a"
            " cold beginning is proven; no sentence here is built on them."
        )
        yield Finding("proof", ", ".join(dict.fromkeys(unproven)), text)
    if beside and not find_section(kind).is_beside:
        verb = "was" if len(beside) == 1 else "were"
        text = (
            f"{kind}: {len(beside)} of {total} {verb} taken while other drives were tested; no"
            " sentence about speed is built on them."
        )
        yield Finding("proof", ", ".join(dict.fromkeys(beside)), text)
