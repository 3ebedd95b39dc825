"""Version 1: campaigns, drives, boots, steps and their results, verdicts, events, requests."""

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE campaign (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        plan_toml TEXT NOT NULL,
        plan_sha256 TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('preparing', 'running', 'paused', 'done')),
        reason TEXT NOT NULL DEFAULT '',
        on_finish TEXT NOT NULL CHECK (on_finish IN ('poweroff', 'reboot', 'tui')),
        power_actions INTEGER NOT NULL DEFAULT 0,
        max_power_actions INTEGER NOT NULL,
        max_attempts INTEGER NOT NULL,
        wake_margin_s REAL,
        rehearsed_at TEXT,
        created_at TEXT NOT NULL,
        finished_at TEXT
    ) STRICT
    """,
    """
    CREATE TABLE drive (
        id INTEGER PRIMARY KEY,
        serial TEXT NOT NULL,
        wwn TEXT NOT NULL,
        model TEXT NOT NULL,
        firmware TEXT NOT NULL,
        size_bytes INTEGER NOT NULL,
        rotational INTEGER NOT NULL CHECK (rotational IN (0, 1)),
        transport TEXT NOT NULL,
        logical_block_bytes INTEGER NOT NULL,
        physical_block_bytes INTEGER NOT NULL,
        first_seen TEXT NOT NULL,
        last_seen TEXT NOT NULL,
        UNIQUE (serial, wwn)
    ) STRICT
    """,
    """
    CREATE TABLE campaign_drive (
        campaign_id INTEGER NOT NULL REFERENCES campaign (id),
        drive_id INTEGER NOT NULL REFERENCES drive (id),
        role TEXT NOT NULL CHECK (role IN ('target', 'control', 'cache', 'backing')),
        released INTEGER NOT NULL CHECK (released IN (0, 1)),
        slot INTEGER NOT NULL,
        released_model TEXT NOT NULL DEFAULT '',
        released_size_bytes INTEGER NOT NULL DEFAULT 0,
        install_uuid TEXT NOT NULL DEFAULT '',
        installed_at TEXT,
        failed_reason TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (campaign_id, drive_id),
        UNIQUE (campaign_id, slot)
    ) STRICT
    """,
    """
    CREATE TABLE cycle (
        id INTEGER PRIMARY KEY,
        campaign_id INTEGER NOT NULL REFERENCES campaign (id),
        drive_id INTEGER NOT NULL REFERENCES drive (id),
        position INTEGER NOT NULL,
        cycle INTEGER NOT NULL,
        charted INTEGER NOT NULL CHECK (charted IN (0, 1)),
        power TEXT NOT NULL CHECK (power IN ('cold', 'warm')),
        state TEXT NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'armed', 'done',
            'failed')),
        attempts INTEGER NOT NULL DEFAULT 0,
        entry TEXT NOT NULL DEFAULT '',
        armed_at TEXT,
        armed_boot_id TEXT NOT NULL DEFAULT '',
        left_at TEXT,
        alarm_at TEXT,
        power_cycles_before INTEGER,
        reason TEXT NOT NULL DEFAULT '',
        UNIQUE (campaign_id, drive_id, cycle, charted),
        UNIQUE (campaign_id, position)
    ) STRICT
    """,
    """
    CREATE TABLE boot_sample (
        cycle_id INTEGER PRIMARY KEY REFERENCES cycle (id),
        boot_id TEXT NOT NULL,
        at TEXT NOT NULL,
        boot_s REAL NOT NULL,
        firmware_s REAL,
        loader_s REAL,
        kernel_s REAL NOT NULL,
        initrd_s REAL NOT NULL,
        userspace_s REAL NOT NULL,
        session_s REAL NOT NULL,
        io_quiet_s REAL,
        read_bytes INTEGER NOT NULL,
        read_ios INTEGER NOT NULL,
        wake_skew_s REAL,
        cold_proof TEXT NOT NULL CHECK (cold_proof IN ('proven', 'unproven', 'warm')),
        cold_reason TEXT NOT NULL,
        power_cycles_after INTEGER,
        page_cache TEXT NOT NULL CHECK (page_cache IN ('cold', 'partial', 'warm', 'bypass',
            'bounded')),
        valid INTEGER NOT NULL CHECK (valid IN (0, 1))
    ) STRICT
    """,
    """
    CREATE TABLE step (
        id INTEGER PRIMARY KEY,
        campaign_id INTEGER NOT NULL REFERENCES campaign (id),
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        drive_id INTEGER REFERENCES drive (id),
        device TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('planned', 'running', 'done', 'failed', 'skipped')),
        reason TEXT NOT NULL DEFAULT '',
        attempts INTEGER NOT NULL DEFAULT 0,
        workload_index INTEGER NOT NULL,
        started_at TEXT,
        finished_at TEXT,
        UNIQUE (campaign_id, position)
    ) STRICT
    """,
    """
    CREATE TABLE part (
        step_id INTEGER NOT NULL REFERENCES step (id),
        name TEXT NOT NULL,
        results INTEGER NOT NULL,
        finished_at TEXT NOT NULL,
        PRIMARY KEY (step_id, name)
    ) STRICT
    """,
    """
    CREATE TABLE file_system (
        campaign_id INTEGER NOT NULL REFERENCES campaign (id),
        drive_id INTEGER NOT NULL REFERENCES drive (id),
        kind TEXT NOT NULL CHECK (kind IN ('ext4', 'xfs', 'btrfs')),
        uuid TEXT NOT NULL,
        made_at TEXT NOT NULL,
        PRIMARY KEY (campaign_id, drive_id)
    ) STRICT
    """,
    """
    CREATE TABLE result (
        id INTEGER PRIMARY KEY,
        step_id INTEGER NOT NULL REFERENCES step (id),
        device TEXT NOT NULL,
        variant TEXT NOT NULL,
        metric TEXT NOT NULL,
        unit TEXT NOT NULL,
        value REAL NOT NULL,
        page_cache TEXT NOT NULL CHECK (page_cache IN ('cold', 'partial', 'warm', 'bypass',
            'bounded')),
        page_cache_proof TEXT NOT NULL CHECK (page_cache_proof IN ('proven', 'unproven')),
        proof_reason TEXT NOT NULL,
        ballast_bytes INTEGER NOT NULL,
        drive_state TEXT NOT NULL,
        array_mode TEXT,
        array_dirty_bytes INTEGER,
        valid INTEGER NOT NULL CHECK (valid IN (0, 1)),
        at TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE ticket (
        step_id INTEGER NOT NULL REFERENCES step (id),
        pass TEXT NOT NULL,
        page_cache TEXT NOT NULL CHECK (page_cache IN ('cold', 'partial', 'warm', 'bypass',
            'bounded')),
        seq INTEGER NOT NULL,
        file TEXT NOT NULL,
        nth INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        seconds REAL NOT NULL,
        major_faults INTEGER NOT NULL,
        device_read_bytes INTEGER NOT NULL,
        resident_before_bytes INTEGER NOT NULL,
        PRIMARY KEY (step_id, pass, seq)
    ) STRICT
    """,
    """
    CREATE TABLE activity_sample (
        step_id INTEGER NOT NULL REFERENCES step (id),
        device TEXT NOT NULL,
        t_s REAL NOT NULL,
        read_bytes INTEGER NOT NULL,
        write_bytes INTEGER NOT NULL,
        read_ios INTEGER NOT NULL,
        write_ios INTEGER NOT NULL,
        busy_s REAL NOT NULL,
        PRIMARY KEY (step_id, device, t_s)
    ) STRICT
    """,
    """
    CREATE TABLE verdict (
        campaign_id INTEGER NOT NULL REFERENCES campaign (id),
        drive_id INTEGER NOT NULL REFERENCES drive (id),
        verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'accept with remarks', 'reject')),
        reasons TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (campaign_id, drive_id)
    ) STRICT
    """,
    """
    CREATE TABLE event (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        campaign_id INTEGER REFERENCES campaign (id),
        at TEXT NOT NULL,
        monotonic_s REAL NOT NULL,
        boot_id TEXT NOT NULL,
        level TEXT NOT NULL CHECK (level IN ('info', 'warning', 'error')),
        event TEXT NOT NULL,
        detail TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE request (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('start', 'resume', 'stop', 'report', 'poweroff',
            'reboot')),
        payload TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'accepted', 'refused')),
        answer TEXT NOT NULL DEFAULT '',
        exit_code INTEGER
    ) STRICT
    """,
    """
    CREATE VIEW boot_times AS
    SELECT c.campaign_id, coalesce(nullif(d.serial, ''), d.wwn) AS drive_serial, cd.role AS
        drive_role,
           c.cycle, c.power,
           coalesce(s.cold_proof, CASE c.power WHEN 'warm' THEN 'warm' ELSE 'unproven' END) AS
           cold_proof, coalesce(s.cold_reason, c.reason) AS cold_reason, coalesce(s.valid, 0) AS
           valid, c.charted, s.boot_s, s.firmware_s, s.loader_s, s.kernel_s, s.initrd_s,
           s.userspace_s, s.session_s, s.io_quiet_s, s.read_bytes, s.read_ios, s.wake_skew_s,
           coalesce(s.at, c.armed_at) AS at
    FROM cycle c
    JOIN drive d ON d.id = c.drive_id
    JOIN campaign_drive cd ON cd.campaign_id = c.campaign_id AND cd.drive_id = c.drive_id
    LEFT JOIN boot_sample s ON s.cycle_id = c.id
    WHERE c.state IN ('done', 'failed')
    """,
    """
    CREATE VIEW results AS
    SELECT t.campaign_id, r.step_id, r.device, coalesce(nullif(d.serial, ''), d.wwn, '') AS
        drive_serial,
           t.kind AS workload, r.variant, r.metric, r.unit, r.value, r.page_cache,
           r.page_cache_proof, r.ballast_bytes, r.drive_state, r.array_mode, r.array_dirty_bytes,
           r.valid, r.at
    FROM result r
    JOIN step t ON t.id = r.step_id
    LEFT JOIN drive d ON d.id = t.drive_id
    """,
    """
    CREATE VIEW tickets AS
    SELECT step_id, pass, page_cache, seq, file, nth, bytes, seconds, major_faults,
        device_read_bytes,
           resident_before_bytes
    FROM ticket
    """,
    """
    CREATE VIEW activity AS
    SELECT step_id, device, t_s, read_bytes, write_bytes, read_ios, write_ios, busy_s FROM
        activity_sample
    """,
    """
    CREATE VIEW drives AS
    SELECT serial, wwn, model, firmware, size_bytes, rotational, transport, logical_block_bytes,
           physical_block_bytes, first_seen, last_seen
    FROM drive
    """,
    """
    CREATE VIEW verdicts AS
    SELECT v.campaign_id, coalesce(nullif(d.serial, ''), d.wwn) AS drive_serial, v.verdict,
        v.reasons, v.at
    FROM verdict v
    JOIN drive d ON d.id = v.drive_id
    """,
    """
    CREATE VIEW events AS
    SELECT campaign_id, seq, at, boot_id, level, event, detail FROM event
    """,
)
