"""What a drive says of itself once it was asked: its make and its health. Pure data, drawable."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counter:
    """One figure a drive keeps of itself."""

    name: str
    """With blanks: `reallocated sectors`."""
    value: float
    unit: str
    """1 | B | h | %"""
    doubt: str
    """Why it is not to be believed; empty where nothing speaks against it."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a drive says of its condition."""

    passed: bool | None
    """Its own verdict; None where it gives none."""
    counters: tuple[Counter, ...]
    temperature_celsius: float | None
    limit_celsius: float | None
    reason: str
    """Why there is nothing, where there is nothing."""


@dataclass(frozen=True, slots=True)
class Details:
    """What else there is to know of a drive. A text that is empty is not known."""

    form_factor: str
    rotation_rpm: int | None
    sector_format: str
    """512n | 512e | 4Kn"""
    link_now: str
    link_max: str
    write_cache: str
    """on | off"""
    trim: bool | None
    zoned: str
    """host-aware | host-managed; empty also where it is not zoned"""
    hybrid: str
    security: str
    """not supported | disabled | enabled | locked | frozen"""
    partition_table: str
    file_systems: tuple[str, ...]
    findings: tuple[str, ...]
    """Sentences on what a person should look at."""
