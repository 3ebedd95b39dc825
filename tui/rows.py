"""Rows of the database's views as the headlines take them. Pure data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the view `results`."""

    variant: str
    metric: str
    value: float
    page_cache: str
    proof: str
    valid: bool
    array_mode: str = ""
    """Empty where it was not measured on an array."""
    array_dirty_bytes: int = 0
    """What was only in the array's cache when it began to be measured."""


@dataclass(frozen=True, slots=True)
class TicketSum:
    """The tickets of one pass that met one cache state."""

    pass_name: str
    page_cache: str
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PowerOff:
    """The drive was without power in the middle of a step, as far as that is proven."""

    cold_proof: str
    """proven | unproven | warm; empty: not judged yet"""
