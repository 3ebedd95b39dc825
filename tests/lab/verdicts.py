# SPDX-License-Identifier: Apache-2.0
"""`ci/verdicts`: the built-in policy on captured outputs of real drives.

Each output is judged as if the drive had been inspected now: the output is the health before and
after, the whole surface was read without a fault, nothing else was measured. What comes out is what
the drive's own words make of it.
"""

import argparse
import json
import os
import sys
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.drives.facts.details import says_hybrid
from appliance.drives.facts.health import find_complaint, parse_health, part
from appliance.drives.facts.hidden_capacity import read_hidden_capacity
from appliance.store.tables.health import HealthRow
from appliance.verdict.evidence import Evidence, Figure
from appliance.verdict.gather_health import find_unread_health, read_health
from appliance.verdict.judge import Judged, judge
from appliance.verdict.limits import title_of
from appliance.verdict.policy_file import Policy, parse_policy
from tests.lab.smartctl_text import convert_text, split_outputs

type Json = dict[str, Any]

_LARGEST_BYTES = 4 << 20
_CLASSES = ("hdd", "sata-ssd", "nvme", "hybrid", "usb", "")
_VERDICTS = ("accept", "accept with remarks", "reject", "none")


@dataclass(frozen=True, slots=True)
class Capture:
    """One output of one drive."""

    name: str
    """The file's path below the folder, with `#2` for the second output in it."""
    data: Json


@dataclass(frozen=True, slots=True)
class JudgedCapture:
    """What became of it."""

    capture: Capture
    judged: Judged


def find_captures(folder: Path) -> Iterator[Capture]:
    """Every output in the files below `folder`, JSON or text."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if each != ".git")
        for file in sorted(files):
            path = Path(root) / file
            if path.is_symlink() or not 0 < path.stat().st_size <= _LARGEST_BYTES:
                continue
            text = path.read_bytes().decode("utf-8", errors="replace")
            yield from parse_captures(text, str(path.relative_to(folder)))


def parse_captures(text: str, name: str) -> Iterator[Capture]:
    """The outputs in one file's `text` that tell of a drive. Pure."""
    data = _find_json(text)
    found = [data] if data else [convert_text(each) for each in split_outputs(text)]
    told = [each for each in found if _tells(each)]
    for number, each in enumerate(told, start=1):
        yield Capture(name if number == 1 else f"{name}#{number}", each)


def _find_json(text: str) -> Json:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) and part(data, "smartctl") else {}


def _tells(data: Json) -> bool:
    """Whether it is an answer about a drive's health: no list of drives, no identity alone."""
    keys = ("ata_smart_attributes", "nvme_smart_health_information_log", "scsi_grown_defect_list")
    return bool(part(data, "smart_status") or any(data.get(key) is not None for key in keys))


def model_of(data: Json) -> str:
    """As the kernel would put it, where the output has it."""
    keys = ("model_name", "scsi_model_name", "scsi_product")
    return next((str(data[key]) for key in keys if data.get(key)), "")


def transport_of(capture: Capture) -> str:
    """As far as the output, or where it is kept, tells.

    smartctl asks a SATA drive behind a USB bridge as any other: then a path with "usb" in it does.
    """
    device = part(capture.data, "device")
    kind, info = str(device.get("type")), str(device.get("info_name"))
    usb = kind.startswith(("usb", "snt")) or "USB" in info or "usb" in capture.name.lower()
    if usb:
        return "usb"
    if device.get("protocol") == "NVMe":
        return "nvme"
    if device.get("protocol") == "ATA":
        return "sata"
    sas = str(part(capture.data, "scsi_transport_protocol").get("name")).startswith("SAS")
    return "sas" if sas else "scsi"


def judge_captures(policy: Policy, captures: Iterable[Capture]) -> Iterator[JudgedCapture]:
    """Each alone, as the only drive of its campaign."""
    for number, capture in enumerate(captures, start=1):
        (judged,) = judge(policy, [_gather(number, capture)])
        yield JudgedCapture(capture, judged)


def _gather(number: int, capture: Capture) -> Evidence:
    text = json.dumps(capture.data)
    health = parse_health(text)
    readings = [
        HealthRow(
            drive_id=number,
            drive_serial="",
            moment=moment,
            passed=health.passed,
            reason=health.reason,
            counters={each.name: each for each in health.counters},
            at="",
        )
        for moment in ("before", "after")
    ]
    figures, doubts = read_health(readings)
    hidden = read_hidden_capacity(text)
    return Evidence(
        drive_id=number,
        name=capture.name,
        model=model_of(capture.data),
        transport=transport_of(capture),
        # The kernel, too, takes for rotating what does not say.
        rotational=capture.data.get("rotation_rate") != 0,
        figures={**figures, "given_up": Figure(0), "surface_unreadable_bytes": Figure(0)},
        doubts=doubts,
        hybrid=says_hybrid(text),
        hidden_capacity=hidden.sentence if hidden else "",
        surface_unread="",
        health_unread=find_unread_health(readings),
    )


def describe(found: Sequence[JudgedCapture]) -> Iterator[str]:
    """The table of classes and verdicts, and what was remarked and rejected how often."""
    tally: Tally[tuple[str, str]] = Tally(
        (each.judged.drive_class or "", each.judged.verdict or "none") for each in found
    )
    yield f"{len(found)} outputs of {len({model_of(each.capture.data) for each in found})} models"
    yield "class".ljust(12) + "".join(name.rjust(21) for name in _VERDICTS)
    for drive_class in _CLASSES:
        counts = [tally[drive_class, verdict] for verdict in _VERDICTS]
        if any(counts):
            shown = "".join(str(each).rjust(21) for each in counts)
            yield (drive_class or "no class").ljust(12) + shown
    why = Tally(
        (row.outcome, row.name)
        for each in found
        for row in each.judged.limits
        if row.outcome in {"reject", "remark"}
    )
    for (outcome, name), count in sorted(why.items(), key=lambda item: (item[0][0], -item[1])):
        yield f"{outcome:8}{count:6}  {title_of(name)}"


def main(words: Sequence[str]) -> int:
    """Print the table, then a line for each output that is not accepted."""
    parser = argparse.ArgumentParser(prog="ci/verdicts", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--per-model", action="store_true", help="one output of each model")
    parser.add_argument("--summary", action="store_true", help="the table alone")
    asked = parser.parse_args(words)
    missing = [each for each in asked.folder if not each.is_dir()]
    if missing:
        print(f"verdicts: {missing[0]}: is no folder; name one with outputs", file=sys.stderr)
        return 2
    captures: Iterable[Capture] = (each for path in asked.folder for each in find_captures(path))
    if asked.per_model:
        captures = {model_of(each.data): each for each in captures}.values()
    found = list(judge_captures(parse_policy(""), captures))
    if not found:
        print("verdicts: no output of smartctl in there", file=sys.stderr)
        return 2
    print("\n".join(describe(found)))
    if not asked.summary:
        for each in sorted(found, key=lambda each: each.judged.verdict or ""):
            if each.judged.verdict != "accept":
                model = model_of(each.capture.data)
                said = f"{each.judged.verdict}: {model}: {each.judged.reasons}"
                print(f"{said} [{each.capture.name}]")
    complaints = sum(bool(find_complaint(each.capture.data)) for each in found)
    if complaints:
        print(f"{complaints} of them say nothing: smartctl could not ask the drive")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
