# SPDX-License-Identifier: Apache-2.0
"""The main figures of the drive tests: surface, verify and self-test. Pure."""

from collections.abc import Iterable, Sequence

from appliance.store.read.figures import FigureRow
from appliance.workloads.surface.keys import SLICES, SurfaceVariant
from appliance.workloads.verify.keys import READ, READ_COLD, WRITE, VerifyVariant
from tui.format import show_bytes, show_number, show_rate
from tui.language import N_, _

METRICS = (
    *("bw_bytes_s", "min_slice_bytes_s", "app_read_bytes", "unreadable_bytes", "slow_ranges"),
    *("app_write_bytes", "mismatch_bytes", "unsteady_bytes", "seconds", "selftest_passed"),
)

_PHASES = tuple(map(VerifyVariant, (WRITE, READ, READ_COLD)))
_COLD = {
    "proven": N_("drive was off: proven"),
    "unproven": N_("drive was off: UNPROVEN"),
    "warm": N_("the drive was NOT OFF"),
}

type Draft = tuple[str, str, Sequence[FigureRow]]
"""A figure's name, its text, and the rows it is from."""


def draft_surface(rows: Sequence[FigureRow]) -> Iterable[Draft]:
    """Speed and the slowest slice, once all slices were read; what is unreadable, at any time."""
    whole = {row.metric: row for row in rows if row.variant == SurfaceVariant()}
    # One that was abandoned has only what was found in it.
    slices = {
        row.variant
        for row in rows
        if isinstance(row.variant, SurfaceVariant)
        and row.variant.slice is not None
        and row.metric == "app_read_bytes"
    }
    totals = list(whole.values())
    if "bw_bytes_s" in whole:
        yield _("mean speed"), f"{show_rate(whole['bw_bytes_s'].value):>12}", totals
    if "min_slice_bytes_s" in whole:
        yield _("slowest slice"), f"{show_rate(whole['min_slice_bytes_s'].value):>12}", totals
    if "unreadable_bytes" in whole:
        text = f"{show_bytes(whole['unreadable_bytes'].value):>12}"
        if "app_read_bytes" in whole:
            read = show_bytes(whole["app_read_bytes"].value)
            text += ", " + _("{amount} read").format(amount=read)
        yield _("unreadable"), text, totals
    elif bad := [row for row in rows if row.metric == "unreadable_bytes"]:
        amount = f"{show_bytes(sum(row.value for row in bad)):>12}"
        yield _("unreadable"), _("{amount} so far").format(amount=amount), bad
    if whole.get("slow_ranges") and whole["slow_ranges"].value:
        yield _("slow ranges"), show_number(whole["slow_ranges"].value, "12,.0f"), totals
    if slices and len(slices) < SLICES:
        text = _("{count:12} of {all}").format(count=len(slices), all=SLICES)
        yield _("slices read"), text, totals or [row for row in rows if row.variant in slices]


def draft_verify(rows: Sequence[FigureRow], power_offs: Sequence[str]) -> Iterable[Draft]:
    """What was written and read back, what came back wrong, and whether the power was off."""
    for phase in _PHASES:
        metrics = {row.metric: row for row in rows if row.variant == phase}
        if not metrics:
            continue
        parts = []
        if "bw_bytes_s" in metrics:
            parts.append(f"{show_rate(metrics['bw_bytes_s'].value):>12}")
        if "mismatch_bytes" in metrics:
            wrong = metrics["mismatch_bytes"].value
            unsteady = metrics["unsteady_bytes"].value if "unsteady_bytes" in metrics else 0
            if wrong or not unsteady:
                phrase = _("{amount} WRONG") if wrong else _("nothing wrong")
                parts.append(phrase.format(amount=show_bytes(wrong)))
            if unsteady:
                phrase = _("{amount} wrong once: RAM or cable")
                parts.append(phrase.format(amount=show_bytes(unsteady)))
        if "unreadable_bytes" in metrics and (bad := metrics["unreadable_bytes"].value):
            phrase = _("{amount} UNWRITABLE") if phase.phase == WRITE else _("{amount} UNREADABLE")
            parts.append(phrase.format(amount=show_bytes(bad)))
        if phase.phase == READ_COLD:
            parts.append(_describe_power_offs(power_offs))
        yield str(phase), "  ".join(parts), list(metrics.values())


def draft_selftest(rows: Sequence[FigureRow]) -> Iterable[Draft]:
    """Whether the drive passed its own test, and how long that took."""
    for name in dict.fromkeys(row.variant for row in rows if row.metric == "selftest_passed"):
        metrics = {row.metric: row for row in rows if row.variant == name}
        text = _("passed") if metrics["selftest_passed"].value else _("FAILED")
        if "seconds" in metrics:
            seconds = show_number(metrics["seconds"].value, ",.0f")
            text += " " + _("in {seconds} s").format(seconds=seconds)
        yield str(name), text, list(metrics.values())


def _describe_power_offs(power_offs: Sequence[str]) -> str:
    proofs = set(power_offs)
    if not proofs:
        return _("no power-off on record")
    # The weakest counts.
    worst = next((proof for proof in ("warm", "", "unproven") if proof in proofs), "proven")
    return _(_COLD.get(worst, N_("power-off not judged yet")))
