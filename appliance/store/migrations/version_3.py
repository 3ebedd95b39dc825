"""Version 3: what an array's cache drive counted of its power-ons.

The columns that were there before are its backing drive's.
"""

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE cycle ADD COLUMN cache_power_cycles_before INTEGER",
    "ALTER TABLE boot_sample ADD COLUMN cache_power_cycles_after INTEGER",
)
