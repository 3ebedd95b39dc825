"""Version 5: requests of any kind, so that a new kind needs no new version of the schema."""

STATEMENTS: tuple[str, ...] = (
    # SQLite cannot take a CHECK away in place.
    """
    CREATE TABLE request_5 (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        payload TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'accepted', 'refused')),
        answer TEXT NOT NULL DEFAULT '',
        exit_code INTEGER
    ) STRICT
    """,
    "INSERT INTO request_5 SELECT * FROM request",
    "DROP TABLE request",
    "ALTER TABLE request_5 RENAME TO request",
)
