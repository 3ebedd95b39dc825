# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them: rates, counts and amounts of data. Pure.

All of a page's figures go through here, so that each language has its own marks in them. Which
kind of figure is in which unit: see `appliance/units.py`; pages, reasons and reports do the same.
"""

from tui.language import _


def localise(text: str) -> str:
    """A number with its unit as English writes it, in the language that holds now."""
    like = _("1,234.5")
    return text.translate({ord(","): like[1], ord("."): like[-2]})


def show_number(value: float, specification: str) -> str:
    """Formatted as Python specifies it: `,.1f`."""
    return localise(format(value, specification))


def show_rate(bytes_per_second: float) -> str:
    """`98.4 MB/s`."""
    megabytes = bytes_per_second / 1e6
    return f"{show_number(megabytes, ',.0f' if megabytes >= 1000 else '.1f')} MB/s"


def show_count(value: float) -> str:
    """`12,345`; with a decimal where it is small."""
    return show_number(value, ",.0f" if value >= 100 else ".1f")


def show_iops(iops: float) -> str:
    """`12,345 IOPS`."""
    return f"{show_count(iops)} IOPS"


def show_bytes(value: float) -> str:
    """`12.3 MiB`: an amount of data; nothing becomes zero by rounding."""
    if round(value) < 1024:
        return f"{show_number(value, ',.0f')} B"
    units = ["TiB", "GiB", "MiB", "KiB"]
    value /= 1024
    while round(value, 1) >= 1024 and len(units) > 1:  # by what is shown: never 1024 of a unit
        value /= 1024
        units.pop()
    is_whole = round(value, 1).is_integer()
    return f"{show_number(value, ',.0f' if is_whole else ',.1f')} {units[-1]}"
