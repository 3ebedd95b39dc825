"""Version 13: how long a processor was at its limit while a part of a step ran.

Of steps of earlier versions nothing is known. A part that was interrupted and begun again has the
times of all attempts; what lies between the parts is under the empty name.
"""

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE processor_load (
        step_id INTEGER NOT NULL REFERENCES step (id),
        part TEXT NOT NULL,
        seconds REAL NOT NULL,
        full_s REAL NOT NULL,
        PRIMARY KEY (step_id, part)
    ) STRICT
    """,
)
