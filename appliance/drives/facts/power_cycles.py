# SPDX-License-Identifier: Apache-2.0
"""A drive's power-on count and what it proves about a boot. Reads with smartctl.

Must never start a self-test or change a setting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from appliance.drives.facts.health import Json, find_complaint, parse_answer, part, rows
from appliance.drives.model import Drive
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase, join_phrases
from appliance.run import run

TIMEOUT_S = 20

_ATA_POWER_CYCLE_COUNT = 12
_START_STOP = "SCSI start-stop log"


@dataclass(frozen=True, slots=True)
class PowerCycles:
    """A drive's own count of its power-ons. `reason` says why there is none."""

    count: int | None
    source: str = ""
    reason: str = ""

    @property
    def is_of_power(self) -> bool:
        """Whether the count rises with each power-on and with nothing else.

        SCSI's start-stop count does not: it counts how often the spindle starts, which a command or
        an enclosure that keeps its power can cause, and without a spindle its meaning is the
        maker's own (Seagate, SCSI Commands Reference Manual, Rev. J, Start-Stop Cycle Counter).
        """
        return self.source != _START_STOP


@dataclass(frozen=True, slots=True)
class ColdProof:
    """Whether a drive was without power between two boots, and why that is believed."""

    proof: Literal["proven", "unproven", "warm"]
    reason: str


def read_power_cycles(drive: Drive) -> PowerCycles:
    """Ask `drive` for its count; one that does not answer in time offers none."""
    command = ["smartctl", "--json=c", "--info", "--attributes", drive.path]
    try:
        done = run(command, check=False, timeout_s=TIMEOUT_S)
    except StepFailedError as error:
        return PowerCycles(None, reason=error.message)
    return parse_power_cycles(done.stdout)


def parse_power_cycles(text: str) -> PowerCycles:
    """The count out of smartctl's JSON. Pure."""
    data = parse_answer(text)
    complaint = find_complaint(data)
    if complaint:
        return PowerCycles(None, reason=complaint)
    return (
        _ata(data)
        or _nvme(data)
        or _scsi(data)
        or PowerCycles(None, reason=N_("the drive has no power-cycle count"))
    )


def _ata(data: Json) -> PowerCycles | None:
    for row in rows(part(data, "ata_smart_attributes"), "table"):
        if row.get("id") == _ATA_POWER_CYCLE_COUNT:
            return _counted(part(row, "raw").get("value"), "ATA attribute 12")
    return None


def _nvme(data: Json) -> PowerCycles | None:
    log = part(data, "nvme_smart_health_information_log")
    return _counted(log.get("power_cycles"), "NVMe SMART log")


def _scsi(data: Json) -> PowerCycles | None:
    counter = part(data, "scsi_start_stop_cycle_counter")
    return _counted(counter.get("accumulated_start_stop_cycles"), _START_STOP)


def _counted(value: object, source: str) -> PowerCycles | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return PowerCycles(value, source)
    return None


def judge_coldness(
    before: PowerCycles,
    after: PowerCycles,
    *,
    power: str,
    boot_id_changed: bool,
    power_offs: int = 1,
) -> ColdProof:
    """What the counts before a power-off, or a restart, and after the next start prove. Pure.

    A rise by exactly one of a count of power-ons is the only proof of cold: emulated drives and
    some bridges show the same number for ever, and more than one power-on means that the power was
    switched another time as well. Warm is what a count above zero shows that did not rise. Where
    `before` comes from the database, `after` alone has the source. `power_offs`: how many of the
    machine's lie between them, where it was switched off for other drives, too.
    """
    if not boot_id_changed:
        return ColdProof("unproven", N_("the machine did not restart"))
    doubt = _doubt_count(before, after)
    if power == "warm":
        if doubt:
            text = N_("asked for warm, and nothing shows whether power stayed: {what}")
            return ColdProof("unproven", Phrase(text, what=doubt))
        return _judge_warmth(after.source, before.count or 0, after.count or 0)
    if doubt:
        return ColdProof("unproven", doubt)
    return _judge_rise(after.source, before.count or 0, after.count or 0, power_offs=power_offs)


def _doubt_count(before: PowerCycles, after: PowerCycles) -> str:
    """Why nothing follows from the two counts; empty where something does."""
    if before.count is None or after.count is None:
        missing = before if before.count is None else after
        return missing.reason or N_("no power-cycle count was read")
    if not after.is_of_power:
        counts = f"{before.count} → {after.count}"
        return Phrase(
            N_("{source} counts starts of the spindle, not power-ons: {counts}"),
            source=after.source,
            counts=counts,
        )
    if before.count == after.count == 0:
        return N_("a count of 0 is none")  # every drive was switched on at least once
    return ""


def _judge_warmth(source: str, before: int, after: int) -> ColdProof:
    is_still = after == before
    text = (
        N_("{source} did not rise over the restart: {counts}")
        if is_still
        else N_("asked for warm, and {source} did not stand still: {counts}")
    )
    counts = f"{before} → {after}"
    return ColdProof("warm" if is_still else "unproven", Phrase(text, source=source, counts=counts))


def _judge_rise(source: str, before: int, after: int, *, power_offs: int) -> ColdProof:
    counts = f"{before} → {after}"
    rise = after - before
    if rise == power_offs:
        if rise == 1:
            reason = Phrase(N_("{source} rose by one: {counts}"), source=source, counts=counts)
        else:
            rose = N_("{source} rose by {rise} over {power_offs} power-offs: {counts}")
            reason = Phrase(rose, source=source, rise=rise, power_offs=power_offs, counts=counts)
        return ColdProof("proven", reason)
    return ColdProof("unproven", _doubt_rise(rise, counts, power_offs=power_offs))


def _doubt_rise(rise: int, counts: str, *, power_offs: int) -> str:
    """What is said of one that is no proof."""
    if rise == 0:
        stood = N_("count did not rise although the machine was powered off: {counts}")
        return Phrase(stood, counts=counts)
    if rise < 0:
        return Phrase(N_("count fell: {counts}"), counts=counts)
    if power_offs == 1:
        once = N_("count rose by {rise} over one power-off: {counts}")
        return Phrase(once, rise=rise, counts=counts)
    rose = N_("count rose by {rise} over {power_offs} power-offs: {counts}")
    return Phrase(rose, rise=rise, power_offs=power_offs, counts=counts)


def join_proofs(proofs: Sequence[tuple[str, ColdProof]]) -> ColdProof:
    """What the proofs of an array's drives, each with its identity, prove of its boot. Pure.

    Cold is only what was cold on each of them: one that kept its power kept what its RAM had. Warm
    is only what was warm on each.
    """
    if len(proofs) == 1:
        return proofs[0][1]
    doubts = [(name, proof) for name, proof in proofs if proof.proof == "unproven"]
    reasons = join_phrases(
        Phrase("{drive}: {what}", drive=name, what=proof.reason) for name, proof in doubts or proofs
    )
    joined = "unproven" if doubts else proofs[0][1].proof
    return ColdProof(joined, reasons)
