# SPDX-License-Identifier: Apache-2.0
"""What the appliance makes of each captured machine, in words: tests/fixtures/machines/NAME.txt.

`python3 -m tests.unit.drives.describe` rewrites them; look at what changed before committing it.
"""

from collections.abc import Iterator

from appliance.drives.facts.query import Answer
from appliance.drives.model import Drive, DriveDetails
from appliance.drives.safety import may_offer, may_write
from appliance.samples.health import Health
from appliance.store.tables.health import HealthRow, Moment
from appliance.units import format_drive_size, printable
from appliance.verdict.evidence import Evidence
from appliance.verdict.gather_health import find_unread_health, read_health
from appliance.verdict.judge import Judged, judge
from appliance.verdict.policy_file import parse_policy
from tests.unit.drives.machines import FOLDER, NAMES, FoundMachine, load_machine

_MOMENTS: tuple[Moment, ...] = ("before", "after")


def describe(machine: FoundMachine) -> str:
    """All drives: who they are, what may be done with them and why, what they say, the verdict."""
    verdicts = judge_health(machine)
    lines: list[str] = []
    for drive in machine.drives:
        lines += _describe(drive, machine)
        lines += [f"    verdict: {_say_verdict(verdicts[drive.path])}", ""]
    return "\n".join(lines) or "no drive\n"


def _describe(drive: Drive, machine: FoundMachine) -> Iterator[str]:
    size = format_drive_size(drive.size_bytes)
    sectors = f"{drive.logical_block_bytes}/{drive.physical_block_bytes}"
    turning = "rotating" if drive.rotational else "not rotating"
    yield f"{drive.path}  {drive.transport}  {size} in {sectors}  {turning}"
    for name in ("serial", "wwn", "model", "firmware"):
        text = getattr(drive, name)
        if text:
            yield f"    {name}: '{printable(text)}'"
    offered, remark = may_offer(drive, stick=machine.stick)
    yield f"    offer: {'yes' if offered else 'no'}{', ' if remark else ''}{remark}"
    yield f"    write: {_writable(drive, machine.stick)}"
    answer = machine.answers.get(drive.path)
    if answer is not None:
        yield from _say_answer(answer)


def _writable(drive: Drive, stick: Drive | None) -> str:
    """Whether releasing it by its own identity would do, and whether any other text would."""
    allowed, reason = may_write(drive, stick=stick, released_identity=drive.identity)
    for other in ("", "x" + drive.identity):
        assert not may_write(drive, stick=stick, released_identity=other)[0]
    return "yes, once released" if allowed else f"no, {reason}"


def _say_answer(answer: Answer) -> Iterator[str]:
    yield f"    answer: {answer.state}{', ' if answer.reason else ''}{printable(answer.reason)}"
    if answer.details is not None:
        yield f"    details: {_say_details(answer.details)}"
        for finding in answer.details.findings:
            yield f"    finding: {printable(finding)}"
    if answer.health is not None:
        yield f"    health: {_say_health(answer.health)}"


def _say_details(details: DriveDetails) -> str:
    facts = {
        "sectors": details.sector_format,
        "form": details.form_factor,
        "rpm": details.rotation_rpm,
        "link": details.link_now,
        "at most": details.link_max,
        "cache": details.write_cache,
        "trim": None if details.trim is None else ("yes" if details.trim else "no"),
        "zoned": details.zoned,
        "hybrid": details.hybrid,
        "security": details.security,
        "table": details.partition_table,
        "holds": " ".join(details.file_systems),
    }
    return "; ".join(f"{name} {printable(str(value))}" for name, value in facts.items() if value)


def _say_health(health: Health) -> str:
    passed = {True: "passed", False: "FAILED", None: "no word of its own"}[health.passed]
    counters = (
        f"{each.name} {each.value:g}{' (in doubt)' if each.doubt else ''}"
        for each in health.counters
    )
    celsius = health.temperature_celsius
    heat = [] if celsius is None else [f"{celsius:g} C"]
    return "; ".join([passed, *counters, *heat, *filter(None, [printable(health.reason)])])


def _say_verdict(judged: Judged) -> str:
    words = f"{judged.drive_class or 'no class'}, {judged.verdict or 'none'}"
    return words + (f": {judged.reasons}" if judged.reasons else "")


def judge_health(machine: FoundMachine) -> dict[str, Judged]:
    """By path, what the built-in policy says of each drive by its health alone."""
    evidence = []
    for number, drive in enumerate(machine.drives):
        answer = machine.answers.get(drive.path)
        health = answer.health if answer else None
        rows = _rows(number, drive, health) if health else []
        figures, doubts = read_health(rows)
        evidence.append(
            Evidence(
                drive_id=number,
                name=drive.identity,
                model=drive.model,
                transport=drive.transport,
                rotational=drive.rotational,
                figures=figures,
                doubts=doubts,
                hybrid=bool(answer and answer.details and answer.details.hybrid),
                health_unread=find_unread_health(rows),
            )
        )
    judged = judge(parse_policy(""), evidence)
    return {drive.path: each for drive, each in zip(machine.drives, judged, strict=True)}


def _rows(number: int, drive: Drive, health: Health) -> list[HealthRow]:
    """The same reading before and after a campaign."""
    return [
        HealthRow(
            drive_id=number,
            drive_serial=drive.serial,
            moment=moment,
            passed=health.passed,
            reason=health.reason,
            counters={counter.name: counter for counter in health.counters},
            at="",
        )
        for moment in _MOMENTS
    ]


def main() -> None:
    """Rewrite all descriptions."""
    for name in NAMES:
        (FOLDER / f"{name}.txt").write_text(describe(load_machine(name)))


if __name__ == "__main__":
    main()
