"""Version 4, field testing: health, temperature, ranges of a drive, power-offs, a verdict's limits.

The power-offs are those in the middle of a step; the limits are those behind a verdict.
"""

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE health_reading (
        id INTEGER PRIMARY KEY,
        campaign_id INTEGER NOT NULL REFERENCES campaign (id),
        drive_id INTEGER NOT NULL REFERENCES drive (id),
        moment TEXT NOT NULL CHECK (moment IN ('before', 'after')),
        passed INTEGER,
        reason TEXT NOT NULL DEFAULT '',
        celsius REAL,
        limit_celsius REAL,
        raw TEXT NOT NULL DEFAULT '',
        at TEXT NOT NULL,
        UNIQUE (campaign_id, drive_id, moment)
    ) STRICT
    """,
    """
    CREATE TABLE health_counter (
        reading_id INTEGER NOT NULL REFERENCES health_reading (id),
        counter TEXT NOT NULL,
        value REAL NOT NULL,
        unit TEXT NOT NULL,
        doubt TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (reading_id, counter)
    ) STRICT
    """,
    """
    CREATE VIEW health AS
    SELECT h.campaign_id, coalesce(nullif(d.serial, ''), d.wwn) AS drive_serial, h.moment,
           h.passed, h.reason, c.counter, c.value, c.unit, c.doubt, h.at
    FROM health_reading h
    JOIN drive d ON d.id = h.drive_id
    LEFT JOIN health_counter c ON c.reading_id = h.id
    """,
    """
    CREATE TABLE temperature_sample (
        step_id INTEGER NOT NULL REFERENCES step (id),
        drive_id INTEGER NOT NULL REFERENCES drive (id),
        t_s REAL NOT NULL,
        celsius REAL NOT NULL,
        PRIMARY KEY (step_id, drive_id, t_s)
    ) STRICT
    """,
    """
    CREATE VIEW temperatures AS
    SELECT t.step_id, coalesce(nullif(d.serial, ''), d.wwn) AS drive_serial, t.t_s, t.celsius
    FROM temperature_sample t
    JOIN drive d ON d.id = t.drive_id
    """,
    """
    CREATE TABLE surface_slice (
        step_id INTEGER NOT NULL REFERENCES step (id),
        slice INTEGER NOT NULL,
        first_byte INTEGER NOT NULL,
        end_byte INTEGER NOT NULL,
        read_bytes INTEGER NOT NULL,
        unreadable_bytes INTEGER NOT NULL,
        min_bytes_s REAL NOT NULL,
        mean_bytes_s REAL NOT NULL,
        max_bytes_s REAL NOT NULL,
        PRIMARY KEY (step_id, slice)
    ) STRICT
    """,
    """
    CREATE VIEW slices AS
    SELECT step_id, slice, first_byte, end_byte, read_bytes, unreadable_bytes, min_bytes_s,
           mean_bytes_s, max_bytes_s
    FROM surface_slice
    """,
    """
    CREATE TABLE lba_range (
        id INTEGER PRIMARY KEY,
        step_id INTEGER NOT NULL REFERENCES step (id),
        part TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('unreadable', 'slow', 'mismatch', 'alias', 'lost')),
        first_byte INTEGER NOT NULL,
        size_bytes INTEGER NOT NULL,
        seconds REAL NOT NULL,
        detail TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    """
    CREATE VIEW ranges AS
    SELECT step_id, part, kind, first_byte, size_bytes, seconds, detail FROM lba_range
    """,
    """
    CREATE TABLE power_off (
        id INTEGER PRIMARY KEY,
        step_id INTEGER NOT NULL REFERENCES step (id),
        drive_id INTEGER NOT NULL REFERENCES drive (id),
        part TEXT NOT NULL,
        manner TEXT NOT NULL CHECK (manner IN ('orderly', 'abrupt')),
        boot_id TEXT NOT NULL,
        left_at TEXT,
        power_cycles_before INTEGER,
        power_cycles_after INTEGER,
        cold_proof TEXT NOT NULL DEFAULT '' CHECK (cold_proof IN ('', 'proven', 'unproven',
            'warm')),
        cold_reason TEXT NOT NULL DEFAULT '',
        back_at TEXT,
        UNIQUE (step_id, part)
    ) STRICT
    """,
    """
    CREATE VIEW power_offs AS
    SELECT t.campaign_id, p.step_id, coalesce(nullif(d.serial, ''), d.wwn) AS drive_serial, p.part,
           p.manner, p.cold_proof, p.cold_reason, p.power_cycles_before, p.power_cycles_after,
           p.left_at, p.back_at
    FROM power_off p
    JOIN step t ON t.id = p.step_id
    JOIN drive d ON d.id = p.drive_id
    """,
    """
    CREATE TABLE verdict_limit (
        campaign_id INTEGER NOT NULL,
        drive_id INTEGER NOT NULL,
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        outcome TEXT NOT NULL CHECK (outcome IN ('kept', 'remark', 'reject', 'not measured')),
        measured TEXT NOT NULL,
        allowed TEXT NOT NULL,
        detail TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (campaign_id, drive_id, position),
        FOREIGN KEY (campaign_id, drive_id) REFERENCES verdict (campaign_id, drive_id)
    ) STRICT
    """,
    "ALTER TABLE verdict ADD COLUMN drive_class TEXT NOT NULL DEFAULT ''",
    # A verdict is on the drive as the campaign met it; of older ones what is known now has to do.
    "ALTER TABLE campaign_drive ADD COLUMN transport TEXT NOT NULL DEFAULT ''",
    (
        "ALTER TABLE campaign_drive ADD COLUMN rotational INTEGER NOT NULL DEFAULT 0 "
        "CHECK (rotational IN (0, 1))"
    ),
    """
    UPDATE campaign_drive SET
        transport = (SELECT transport FROM drive d WHERE d.id = drive_id),
        rotational = (SELECT rotational FROM drive d WHERE d.id = drive_id)
    """,
    # Whose fault a failure was: errors.Blame.
    (
        "ALTER TABLE campaign_drive ADD COLUMN failed_blame TEXT NOT NULL DEFAULT 'drive' "
        "CHECK (failed_blame IN ('drive', 'other', 'none'))"
    ),
    (
        "ALTER TABLE cycle ADD COLUMN blame TEXT NOT NULL DEFAULT 'drive' "
        "CHECK (blame IN ('drive', 'other', 'none'))"
    ),
    (
        "ALTER TABLE step ADD COLUMN blame TEXT NOT NULL DEFAULT 'drive' "
        "CHECK (blame IN ('drive', 'other', 'none'))"
    ),
    """
    CREATE TABLE judging (
        campaign_id INTEGER PRIMARY KEY REFERENCES campaign (id),
        at TEXT NOT NULL,
        policy TEXT NOT NULL,
        origin TEXT NOT NULL,
        policy_toml TEXT NOT NULL,
        problem TEXT NOT NULL,
        tried_at TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE VIEW verdict_limits AS
    SELECT l.campaign_id, coalesce(nullif(d.serial, ''), d.wwn) AS drive_serial, l.position,
           l.name, l.outcome, l.measured, l.allowed, l.detail
    FROM verdict_limit l
    JOIN drive d ON d.id = l.drive_id
    """,
)
