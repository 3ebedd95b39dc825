# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them: rates, counts and sizes, decimal as on a drive's box. Pure.

All of a page's figures go through here, so that each language has its own marks in them.
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
    """`12.3 MB`."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9)):
        if value >= factor:
            return f"{show_number(value / factor, ',.1f')} {unit}"
    return f"{show_number(value / 1e6, ',.1f')} MB"


def show_exact(size_bytes: float) -> str:
    """`4,096 B`, `12.3 MB`: nothing becomes zero by rounding."""
    return f"{show_number(size_bytes, ',.0f')} B" if size_bytes < 1e6 else show_bytes(size_bytes)
