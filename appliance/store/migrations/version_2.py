"""Version 2: arrays of two drives, and the request to take one apart that was left behind."""

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE array_made (
        id INTEGER PRIMARY KEY,
        campaign_id INTEGER NOT NULL REFERENCES campaign (id),
        backing_drive_id INTEGER NOT NULL REFERENCES drive (id),
        cache_drive_id INTEGER NOT NULL REFERENCES drive (id),
        set_uuid TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('making', 'made', 'parting', 'apart')),
        reason TEXT NOT NULL DEFAULT '',
        at TEXT NOT NULL,
        UNIQUE (set_uuid)
    ) STRICT
    """,
    """
    CREATE TABLE array_sample (
        step_id INTEGER NOT NULL REFERENCES step (id),
        t_s REAL NOT NULL,
        dirty_bytes INTEGER NOT NULL,
        PRIMARY KEY (step_id, t_s)
    ) STRICT
    """,
    """
    CREATE VIEW array_dirty AS
    SELECT step_id, t_s, dirty_bytes FROM array_sample
    """,
    # Only the list of kinds is new; SQLite cannot change a CHECK in place.
    """
    CREATE TABLE request_2 (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('start', 'resume', 'stop', 'report', 'poweroff',
            'reboot', 'take-apart')),
        payload TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'accepted', 'refused')),
        answer TEXT NOT NULL DEFAULT '',
        exit_code INTEGER
    ) STRICT
    """,
    "INSERT INTO request_2 SELECT * FROM request",
    "DROP TABLE request",
    "ALTER TABLE request_2 RENAME TO request",
)
