"""What the headlines need of a step, read from the views that the database documents.

May block on the stick, so it is for the port only.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tui.headlines import METRICS
from tui.rows import PowerOff, Row, TicketSum
from tui.spreads import Sample

type Execute = Callable[[str, Sequence[object]], Iterable[Any]]
"""What runs a statement with its parameters: that of an open connection."""


def select_results(execute: Execute, step_id: int) -> tuple[Row, ...]:
    """The figures that are looked at, without what the drive served beside the parts."""
    rows = execute(
        f"""
        SELECT variant, metric, value, page_cache, page_cache_proof, valid,
               coalesce(array_mode, ''), coalesce(array_dirty_bytes, 0)
        FROM results
        WHERE step_id = ? AND variant <> 'other'
          AND (metric IN ({", ".join("?" * len(METRICS))}) OR metric = 'warm_up_rounds'
               OR variant = 'array' OR variant LIKE 'array/%' AND metric = 'hit_ratio')
        """,  # noqa: S608  # question marks only
        (step_id, *METRICS),
    )
    return tuple(
        Row(row[0], row[1], row[2], row[3], row[4], bool(row[5]), row[6], row[7]) for row in rows
    )


def select_tickets(execute: Execute, step_id: int) -> tuple[TicketSum, ...]:
    """Its tickets, added up by pass and cache state."""
    rows = execute(
        """
        SELECT pass, page_cache, sum(bytes), sum(seconds) FROM tickets
        WHERE step_id = ? GROUP BY pass, page_cache
        """,
        (step_id,),
    )
    return tuple(TicketSum(*row) for row in rows)


def select_power_offs(execute: Execute, step_id: int) -> tuple[PowerOff, ...]:
    """How often the power was off in the middle of it."""
    rows = execute("SELECT cold_proof FROM power_offs WHERE step_id = ?", (step_id,))
    return tuple(PowerOff(*row) for row in rows)


def select_samples(execute: Execute, step_id: int) -> tuple[Sample, ...]:
    """What the step measured again and again: reads of a lottery, slices of a surface."""
    reads = execute(
        "SELECT pass, page_cache, bytes / seconds FROM tickets "
        "WHERE step_id = ? AND seconds > 0 ORDER BY pass, seq",
        (step_id,),
    )
    slices = execute(
        "SELECT '', '', mean_bytes_s FROM slices WHERE step_id = ? AND read_bytes > 0 "
        "ORDER BY slice",
        (step_id,),
    )
    return tuple(Sample(*row) for row in (*reads, *slices))
