# SPDX-License-Identifier: Apache-2.0
"""The power-on hours of Seagate's FARM log, which a reset of the SMART counters leaves alone.

FARM (Field Accessible Reliability Metrics) is GP log 0xA6 of ATA drives and page 0x3D, sub-page 3
of SAS drives; smartctl reads it since 7.4. Its hours per head are not used: drives answer with
nonsense there (farm-check issue 23: 907,443,464 hours), and its hours of flying heads differ from
SMART's on healthy drives (issue 18: 8,029 and 7,712).
"""

import json
import re
from typing import Any

from appliance.drives.facts.health import FARM, find_farm_hours, number, parse_answer, part
from appliance.drives.facts.implausible import HOURS_APART, MOST_HOURS
from appliance.errors import KaltstartError
from appliance.phrases import N_, Phrase
from appliance.run import StillRunningError, run

_COMMAND = ["smartctl", "--json=c", "--log=farm"]
# Seagate's model numbers, and the prefix that they have behind SCSI.
_SEAGATE = re.compile(r"(SEAGATE )?ST\d+[A-Z]")

type Json = dict[str, Any]


def ask_farm(path: str, smart: str, *, timeout_s: float) -> str:
    """The output of health.SMARTCTL, with the FARM log of a Seagate drive.

    Reads only, and asks no other drive. What cannot be asked is left out. Raises StillRunningError
    where the question hangs.
    """
    data = parse_answer(smart)
    if not is_seagate(data):
        return smart
    try:
        answer = parse_answer(run([*_COMMAND, path], check=False, timeout_s=timeout_s).stdout)
    except StillRunningError:
        raise
    except KaltstartError:
        return smart
    log = part(answer, FARM)
    return json.dumps(data | {FARM: log}) if log else smart


def is_seagate(data: Json) -> bool:
    """Whether an ATA or SCSI drive is Seagate's by its model number, or keeps such a log."""
    if part(data, "device").get("protocol") not in {"ATA", "SCSI"}:
        return False
    model = data.get("model_name") or data.get("scsi_model_name")
    return bool(_SEAGATE.match(str(model))) or part(data, FARM).get("supported") is True


def find_reset(data: Json) -> str:
    """A sentence if the SMART counters of the drive were reset; else empty."""
    farm, smart = find_farm_hours(data), number(part(data, "power_on_time").get("hours"))
    if farm is None or smart is None or farm > MOST_HOURS or farm - smart <= HOURS_APART:
        return ""
    return describe_hours(farm, smart)


def describe_hours(farm: float, smart: float) -> str:
    """Both counts, and what follows."""
    text = N_("FARM counts {farm} h, SMART {smart} h")
    if farm - smart > HOURS_APART:
        text = N_("FARM counts {farm} h, SMART {smart} h: the counters were reset")
    return Phrase(text, farm=f"{farm:.0f}", smart=f"{smart:.0f}")
