"""Rates, counts and sizes as people read them: decimal, as on a drive's box. Pure."""


def show_rate(bytes_per_second: float) -> str:
    """`98.4 MB/s`."""
    megabytes = bytes_per_second / 1e6
    return f"{megabytes:,.0f} MB/s" if megabytes >= 1000 else f"{megabytes:.1f} MB/s"


def show_count(value: float) -> str:
    """`12,345`; with a decimal where it is small."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def show_iops(iops: float) -> str:
    """`12,345 IOPS`."""
    return f"{show_count(iops)} IOPS"


def show_bytes(value: float) -> str:
    """`12.3 MB`."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9)):
        if value >= factor:
            return f"{value / factor:,.1f} {unit}"
    return f"{value / 1e6:,.1f} MB"


def show_exact(size_bytes: float) -> str:
    """`4,096 B`, `12.3 MB`: nothing becomes zero by rounding."""
    return f"{size_bytes:,.0f} B" if size_bytes < 1e6 else show_bytes(size_bytes)
