# SPDX-License-Identifier: Apache-2.0
"""A row of the drive list as text for the command line. Pure.

Texts from devices are made printable here.
"""

from collections.abc import Iterator
from typing import Any

from appliance.units import format_drive_size, printable


def describe_row(row: dict[str, Any]) -> tuple[str, ...]:
    """One line for the drive, and one for each thing worth knowing about it."""
    kind = "disk " if row["rotational"] else "flash"
    said = (("may be used" if row["offered"] else ""), printable(row["reason"]))
    head = (
        f"{row['path']:14} {printable(row['model']) or '-':24} "
        f"{printable(row['serial'] or row['wwn']) or '-':24} "
        f"{format_drive_size(row['size_bytes']):>8} {row['transport']:5} "
        f"{kind} {': '.join(filter(None, said))}"
    )
    return (head, *(f"    {printable(line)}" for line in _more(row)))


def describe_unlisted(row: dict[str, Any]) -> tuple[str, ...]:
    """What cannot be in the list: one line for where it is, one for each thing to know."""
    named = " ".join(filter(None, (row["model"], row["serial"])))
    lines = [f"not listed: {row['place']}" + (f" {printable(named)}" if named else "")]
    lines += [f"    {row['what']}", f"    {row['remedy']}"]
    health = row["health"]
    if health is not None:
        verdict = {True: "passed", False: "FAILING", None: "no verdict of its own"}
        lines.append(f"    health: {verdict[health['passed']]}")
    return tuple(lines)


def _more(row: dict[str, Any]) -> Iterator[str]:
    if row["answer"] != "answered":
        yield ": ".join(filter(None, (row["answer"], row["answer_reason"])))
    details = row["details"]
    wwn = f"WWN {row['wwn']}" if row["serial"] and row["wwn"] else ""
    facts = ", ".join(filter(None, (wwn, *(_facts(details) if details else ()))))
    if facts:
        yield facts
    for finding in details["findings"] if details else ():
        yield f"! {finding}"


def _facts(details: dict[str, Any]) -> Iterator[str]:
    yield from filter(None, (details["form_factor"], details["sector_format"]))
    if details["rotation_rpm"]:
        yield f"{details['rotation_rpm']} rpm"
    if details["link_now"]:
        most = details["link_max"]
        yield details["link_now"] + (f" of {most}" if most and most != details["link_now"] else "")
    if details["write_cache"]:
        yield f"write cache {details['write_cache']}"
    if details["trim"] is not None:
        yield "TRIM" if details["trim"] else "no TRIM"
    yield from filter(None, (details["zoned"], details["hybrid"]))
    if details["security"]:
        yield f"ATA security {details['security']}"
    on_it = filter(None, (details["partition_table"], *details["file_systems"]))
    content = ", ".join(on_it)
    if content:
        yield f"on it: {content}"
