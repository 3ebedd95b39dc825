# SPDX-License-Identifier: Apache-2.0
"""The errors that the machine's memory has found in itself, by the kernel's EDAC drivers.

Only memory with ECC counts, and only if the kernel knows its controller. Both counts are zero at
each start of the machine (Documentation/admin-guide/RAS/main.rst).
"""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from appliance.phrases import N_, Phrase, join_phrases
from appliance.sysfs import read_text

CORRECTED, UNCORRECTED = "memory_corrected", "memory_uncorrected"
"""As they are stored among a campaign's conditions."""
NAMES = frozenset({CORRECTED, UNCORRECTED})


def read_memory_errors(sys: Path = Path("/sys")) -> dict[str, str]:
    """Both counts of all controllers since the machine was started; empty without EDAC."""
    folders = sorted((sys / "devices/system/edac/mc").glob("mc[0-9]*"))
    totals: dict[str, str] = {}
    for name, file in ((CORRECTED, "ce_count"), (UNCORRECTED, "ue_count")):
        counts = [text for folder in folders if (text := read_text(folder / file)).isdecimal()]
        if counts:
            totals[name] = str(sum(map(int, counts)))
    return totals


def count_growth(values: Iterable[str]) -> int:
    """How many errors came between the first of some counts and the last. Pure.

    A count that fell was set to zero: the machine was started in between.
    """
    counts = [int(value) for value in values if value.isdecimal()]
    return sum(
        later - earlier if later >= earlier else later for earlier, later in pairwise(counts)
    )


def describe_growth(corrected: int, uncorrected: int) -> str:
    """A clause for people; empty where nothing came."""
    clauses = []
    if corrected:
        words = N_("corrected {count} error") if corrected == 1 else N_("corrected {count} errors")
        clauses.append(Phrase(words, count=corrected))
    if uncorrected:
        words = N_("could not correct {count} errors")
        if uncorrected == 1:
            words = N_("could not correct {count} error")
        clauses.append(Phrase(words, count=uncorrected))
    if not clauses:
        return ""
    done = join_phrases(clauses, N_("{first} and {rest}"))
    return Phrase(N_("the machine's memory {what} during the campaign"), what=done)
