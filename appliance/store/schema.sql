-- Kaltstart's database, schema version 1.
--
-- Tables have singular names and may change with every version; the views at the end are public
-- (docs/database.md) and keep their columns. A name ends in its unit: _s, _bytes, _bytes_s. Times
-- of day are UTC in ISO 8601. Truth values are 0 and 1. NULL means "not measured", or "not yet".
-- checksum: a stick may give back other bits than it took (checksums.py).
-- Comments stay outside of the statements: SQLite would store them, and each bit of what is stored
-- is one more that the stick can spoil.


-- Drives and campaigns ----------------------------------------------------------------------------

-- Every drive that was ever seen. A path such as /dev/sda is no identity, so none is stored.
-- identity: by what people and views know it.
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
    identity TEXT NOT NULL AS (coalesce(nullif(serial, ''), wwn)),
    UNIQUE (serial, wwn)
) STRICT;

-- One plan that was started. The plan's text is kept: every later boot works from it, whatever is
-- on KALTSTART by then. power_actions counts automatic power-offs and restarts before each happens,
-- against max_power_actions: no campaign goes on for ever.
-- wake_margin_s: NULL until the rehearsal has shown how long a shutdown takes.
-- power_on_by: what switches the machine on again, its clock or people; 'asked': the clock was not
-- seen to do it, and a person is asked what to do.
-- settle_s: how long the machine is idle before each boot, with the drive under power.
-- cool: whether each drive is made to forget before each of its boots.
-- temperature_band: how far from its first boot's temperature a drive may begin another; 0: any.
-- pause_asked_at: a person wants it to pause at its next safe point.
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
    settle_s INTEGER NOT NULL DEFAULT 0,
    temperature_band INTEGER NOT NULL DEFAULT 0,
    cool TEXT NOT NULL DEFAULT 'none' CHECK (cool IN ('none', 'evict')),
    power_on_by TEXT NOT NULL DEFAULT 'clock' CHECK (power_on_by IN ('clock', 'asked', 'people')),
    pause_asked_at TEXT,
    created_at TEXT NOT NULL,
    finished_at TEXT,
    checksum INTEGER
) STRICT;

-- A drive's part in a campaign: what it may be used for, and how it is known again before each
-- write. slot numbers its boot entry.
-- released_*: the drive when a person released it. A verdict is on the drive as the campaign met
-- it, hence transport and rotational again.
-- asked_*: what the drive itself answered then, which an enclosure may not show; empty: nothing.
-- serial_doubt: why the serial number may be another drive's too.
-- label: the plan's own words for it, such as its bay.
-- released_content: what was on it, until this campaign first writes to it.
-- install_uuid, mark_uuid, mark_sha256: the partition table or the ends that the campaign left on
-- it; with written_over they may be gone, as a step was cut off while it wrote.
-- failed_reason: why the campaign gave the drive up, and whose fault that was (errors.Blame).
CREATE TABLE campaign_drive (
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    drive_id INTEGER NOT NULL REFERENCES drive (id),
    role TEXT NOT NULL CHECK (role IN ('target', 'control', 'cache', 'backing')),
    slot INTEGER NOT NULL,
    transport TEXT NOT NULL DEFAULT '',
    rotational INTEGER NOT NULL DEFAULT 0 CHECK (rotational IN (0, 1)),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    released_model TEXT NOT NULL DEFAULT '',
    released_size_bytes INTEGER NOT NULL DEFAULT 0,
    released_content TEXT,
    asked_serial TEXT NOT NULL DEFAULT '',
    asked_wwn TEXT NOT NULL DEFAULT '',
    asked_model TEXT NOT NULL DEFAULT '',
    asked_size_bytes INTEGER NOT NULL DEFAULT 0,
    serial_doubt TEXT NOT NULL DEFAULT '',
    label TEXT NOT NULL DEFAULT '',
    paused TEXT NOT NULL DEFAULT '' CHECK (paused IN ('', 'after its part', 'at once')),
    install_uuid TEXT NOT NULL DEFAULT '',
    installed_at TEXT,
    mark_uuid TEXT NOT NULL DEFAULT '',
    mark_sha256 TEXT NOT NULL DEFAULT '',
    written_over INTEGER NOT NULL DEFAULT 0 CHECK (written_over IN (0, 1)),
    failed_reason TEXT NOT NULL DEFAULT '',
    failed_blame TEXT NOT NULL DEFAULT 'drive' CHECK (failed_blame IN ('drive', 'other', 'none')),
    checksum INTEGER,
    PRIMARY KEY (campaign_id, drive_id),
    UNIQUE (campaign_id, slot)
) STRICT;

-- What decides about a campaign's figures beside the drives: machine, tools, settings. A row is
-- never changed: where a later start of the same campaign finds another value, a further row says
-- since when. drive_id: NULL of the machine.
CREATE TABLE condition (
    id INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    drive_id INTEGER REFERENCES drive (id),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    since TEXT NOT NULL,
    checksum INTEGER
) STRICT;

-- A file system that a campaign made on a drive: known again by its UUID, and made only once.
CREATE TABLE file_system (
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    drive_id INTEGER NOT NULL REFERENCES drive (id),
    kind TEXT NOT NULL CHECK (kind IN ('ext4', 'xfs', 'btrfs')),
    uuid TEXT NOT NULL,
    made_at TEXT NOT NULL,
    PRIMARY KEY (campaign_id, drive_id)
) STRICT;

-- An array of two drives. Its row is there before anything is on the drives, and says afterwards
-- what is left on them, also after a power cut.
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
) STRICT;

-- A trial whether a machine wakes by its clock: a restart shows how long a shutdown takes at most,
-- then the machine is switched off with the alarm set. Of this stick alone, and of no campaign:
-- the next one on the same machine knows it.
-- machine: its UUID; empty where it tells none. campaign_id: the campaign that it was made for;
-- NULL where a person asked for it. boot_id: of the boot that it left last. alarm_at, skew_s: by
-- the hardware clock; NULL until power is asked to go, and where the alarm was not accepted.
-- counts_before: the drives' power-cycle counts as JSON, by serial number and WWN; of `counted` of them, `moved`
-- were others afterwards. result: empty while it is under way.
CREATE TABLE wake_trial (
    id INTEGER PRIMARY KEY,
    machine TEXT NOT NULL,
    campaign_id INTEGER,
    boot_id TEXT NOT NULL,
    restarted_at TEXT NOT NULL,
    margin_s REAL,
    alarm_at TEXT,
    counts_before TEXT NOT NULL DEFAULT '{}',
    result TEXT NOT NULL DEFAULT ''
        CHECK (result IN ('', 'wakes', 'asleep', 'unclear', 'stopped')),
    skew_s REAL,
    counted INTEGER NOT NULL DEFAULT 0,
    moved INTEGER NOT NULL DEFAULT 0,
    ended_at TEXT
) STRICT;


-- Boots -------------------------------------------------------------------------------------------

-- A planned boot of a drive; of an array it is under the backing drive. All are stored when the
-- campaign starts, so that the next one is known after any power cut. Armed: the next start of the
-- machine is to be this one. Skipped: a person gave it up before it was ever tried.
-- charted: recorded with a boot chart, which perturbs. trained: before the timed ones, and not timed
-- itself, so that the drive has learned. left_at: when power was asked to go; NULL
-- while the boot that armed it goes on. path: whose ESP the loader, the kernel and the initrds are
-- to come from (of a replay the stick's, which starts the appliance); 'installed': the drive's own
-- system is started, and nothing is installed. celsius_before: of the drive when it was armed. blame: whose fault a failure is (errors.Blame).
CREATE TABLE cycle (
    id INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    drive_id INTEGER NOT NULL REFERENCES drive (id),
    position INTEGER NOT NULL,
    cycle INTEGER NOT NULL,
    charted INTEGER NOT NULL CHECK (charted IN (0, 1)),
    trained INTEGER NOT NULL DEFAULT 0 CHECK (trained IN (0, 1)),
    power TEXT NOT NULL CHECK (power IN ('cold', 'warm')),
    mode TEXT NOT NULL DEFAULT 'install' CHECK (mode IN ('install', 'replay')),
    path TEXT NOT NULL DEFAULT 'stick' CHECK (path IN ('stick', 'drive', 'installed')),
    state TEXT NOT NULL DEFAULT 'planned'
        CHECK (state IN ('planned', 'armed', 'done', 'failed', 'skipped')),
    reason TEXT NOT NULL DEFAULT '',
    blame TEXT NOT NULL DEFAULT 'drive' CHECK (blame IN ('drive', 'other', 'none')),
    attempts INTEGER NOT NULL DEFAULT 0,
    entry TEXT NOT NULL DEFAULT '',
    armed_at TEXT,
    armed_boot_id TEXT NOT NULL DEFAULT '',
    alarm_at TEXT,
    left_at TEXT,
    celsius_before REAL,
    power_cycles_before INTEGER,
    cache_power_cycles_before INTEGER,
    checksum INTEGER,
    UNIQUE (campaign_id, drive_id, cycle, charted),
    UNIQUE (campaign_id, position)
) STRICT;

-- What a boot measured. Committed before the drives are asked for their counts, which are added
-- afterwards: cold_proof is 'unproven' until then. Of a boot that is not timed, no time is stored.
-- drive_celsius, cpu_celsius: right after the boot; NULL without a sensor. kernel_errors: what the
-- kernel reported of errors of the drive in it.
-- Of a replay boot_s is how long its reads took, and the parts of a start-up are NULL.
-- path: whose ESP the loader says it came from; 'installed': as the drive's own system reported it,
-- of which one that keeps no count of its reads leaves read_bytes and read_ios NULL.
CREATE TABLE boot_sample (
    cycle_id INTEGER PRIMARY KEY REFERENCES cycle (id),
    boot_id TEXT NOT NULL,
    at TEXT NOT NULL,
    boot_s REAL,
    firmware_s REAL,
    loader_s REAL,
    kernel_s REAL,
    initrd_s REAL,
    userspace_s REAL,
    session_s REAL,
    io_quiet_s REAL,
    read_bytes INTEGER,
    read_ios INTEGER,
    wake_skew_s REAL,
    cold_proof TEXT NOT NULL CHECK (cold_proof IN ('proven', 'unproven', 'warm')),
    cold_reason TEXT NOT NULL,
    power_cycles_after INTEGER,
    cache_power_cycles_after INTEGER,
    drive_celsius REAL,
    cpu_celsius REAL,
    kernel_errors TEXT NOT NULL DEFAULT '',
    session_wait_s REAL,
    off_s REAL,
    page_cache TEXT NOT NULL
        CHECK (page_cache IN ('cold', 'partial', 'warm', 'bypass', 'bounded')),
    path TEXT NOT NULL DEFAULT 'stick' CHECK (path IN ('stick', 'drive', 'installed')),
    valid INTEGER NOT NULL CHECK (valid IN (0, 1)),
    checksum INTEGER
) STRICT;

-- When the units of a measured boot began and were ready, asked of systemd behind its sample; not of
-- a boot that is not timed. units: a JSON list of [unit, began_s, ready_s, place in the critical
-- chain from 0 or null], seconds since the kernel's start.
CREATE TABLE start_up (
    cycle_id INTEGER PRIMARY KEY REFERENCES cycle (id),
    units TEXT NOT NULL,
    checksum INTEGER
) STRICT;

-- The reads of every boot of a campaign in replay mode, the same for each of its drives.
-- origin: 'built-in', or the trace's file. version, seed: of the generator; NULL of a trace.
-- extents: a JSON list of [offset, length] or [offset, length, seconds to wait before].
CREATE TABLE replay_list (
    campaign_id INTEGER PRIMARY KEY REFERENCES campaign (id),
    origin TEXT NOT NULL,
    version INTEGER,
    seed INTEGER,
    sha256 TEXT NOT NULL,
    extents TEXT NOT NULL
) STRICT;

-- How long the reads of one boot took, committed with its sample. before_*: what the drive had
-- delivered since the machine's start when the first of them began, by the kernel's count.
-- times_ns: a JSON list, in the list's order.
CREATE TABLE replay (
    cycle_id INTEGER PRIMARY KEY REFERENCES cycle (id),
    list_sha256 TEXT NOT NULL,
    started_s REAL NOT NULL,
    before_read_ios INTEGER NOT NULL,
    before_read_bytes INTEGER NOT NULL,
    p50_ns INTEGER NOT NULL,
    p95_ns INTEGER NOT NULL,
    p99_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL,
    times_ns TEXT NOT NULL,
    checksum INTEGER
) STRICT;

-- That a drive was made to forget before a boot; of several attempts the last one counts. The row is
-- there before the first read, with its reason, and has figures once it came to its end.
-- remembered_*: how many of a probe's blocks of the boot came as quickly as if the drive knew them.
-- *_before_ns, *_after_ns: median times of these blocks, and of others that were never read.
-- probes: a JSON list of [[times of the boot's blocks], [times of the others]], the first one
-- from before.
CREATE TABLE cooling (
    id INTEGER PRIMARY KEY,
    cycle_id INTEGER NOT NULL REFERENCES cycle (id),
    at TEXT NOT NULL,
    proof TEXT NOT NULL CHECK (proof IN ('proven', 'unproven')),
    reason TEXT NOT NULL,
    rounds INTEGER,
    read_bytes INTEGER,
    seconds REAL,
    probed INTEGER,
    remembered_before INTEGER,
    remembered_after INTEGER,
    boot_before_ns INTEGER,
    other_before_ns INTEGER,
    boot_after_ns INTEGER,
    other_after_ns INTEGER,
    probes TEXT NOT NULL DEFAULT '[]',
    checksum INTEGER
) STRICT;


-- Steps and what they measure ---------------------------------------------------------------------

-- A workload on one drive, or on the array. workload_index says which of the plan it is; steps of
-- the same one belong together. drive_id: NULL of an array; device is then 'array', else the
-- drive's identity. blame: whose fault a failure is (errors.Blame).
CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    drive_id INTEGER REFERENCES drive (id),
    device TEXT NOT NULL,
    workload_index INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('planned', 'running', 'done', 'failed', 'skipped')),
    reason TEXT NOT NULL DEFAULT '',
    blame TEXT NOT NULL DEFAULT 'drive' CHECK (blame IN ('drive', 'other', 'none')),
    attempts INTEGER NOT NULL DEFAULT 0,
    started_at TEXT,
    finished_at TEXT,
    checksum INTEGER,
    UNIQUE (campaign_id, position)
) STRICT;

-- A part of a step that has come to its end: committed with its results, and never done again.
CREATE TABLE part (
    step_id INTEGER NOT NULL REFERENCES step (id),
    name TEXT NOT NULL,
    results INTEGER NOT NULL,
    finished_at TEXT NOT NULL,
    PRIMARY KEY (step_id, name)
) STRICT;

-- A figure. None is without the state of the page cache that its I/O met, and what proves it.
-- began_cold: whether no page was in RAM at the first access, though RAM answered later ones;
-- empty where no cold page cache was requested. beside: how many other drives were being tested
-- meanwhile.
CREATE TABLE result (
    id INTEGER PRIMARY KEY,
    step_id INTEGER NOT NULL REFERENCES step (id),
    device TEXT NOT NULL,
    variant TEXT NOT NULL,
    metric TEXT NOT NULL,
    unit TEXT NOT NULL,
    value REAL NOT NULL,
    page_cache TEXT NOT NULL
        CHECK (page_cache IN ('cold', 'partial', 'warm', 'bypass', 'bounded')),
    page_cache_proof TEXT NOT NULL CHECK (page_cache_proof IN ('proven', 'unproven')),
    began_cold TEXT NOT NULL DEFAULT '' CHECK (began_cold IN ('', 'proven', 'unproven')),
    proof_reason TEXT NOT NULL,
    ballast_bytes INTEGER NOT NULL,
    drive_state TEXT NOT NULL,
    array_mode TEXT,
    array_dirty_bytes INTEGER,
    valid INTEGER NOT NULL CHECK (valid IN (0, 1)),
    at TEXT NOT NULL,
    beside INTEGER NOT NULL DEFAULT 0,
    checksum INTEGER
) STRICT;

-- One file read in a lottery. Each draw is kept: what a hybrid drive has learned shows only in the
-- order of them.
CREATE TABLE ticket (
    step_id INTEGER NOT NULL REFERENCES step (id),
    pass TEXT NOT NULL,
    page_cache TEXT NOT NULL
        CHECK (page_cache IN ('cold', 'partial', 'warm', 'bypass', 'bounded')),
    seq INTEGER NOT NULL,
    file TEXT NOT NULL,
    nth INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    seconds REAL NOT NULL,
    major_faults INTEGER NOT NULL,
    device_read_bytes INTEGER NOT NULL,
    resident_before_bytes INTEGER NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (step_id, pass, seq)
) STRICT;

-- How fast a drive is over its bytes: a slice that a surface scan has read to its end.
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
    checksum INTEGER,
    PRIMARY KEY (step_id, slice)
) STRICT;

-- Where on a drive something is wrong; also what a part found that did not come to its end.
CREATE TABLE lba_range (
    id INTEGER PRIMARY KEY,
    step_id INTEGER NOT NULL REFERENCES step (id),
    part TEXT NOT NULL,
    kind TEXT NOT NULL
        CHECK (kind IN ('unreadable', 'slow', 'mismatch', 'alias', 'lost', 'unsteady')),
    first_byte INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    seconds REAL NOT NULL,
    detail TEXT NOT NULL DEFAULT '',
    checksum INTEGER
) STRICT;

-- A power-off in the middle of a step, counted here before it happens. left_at: when power was
-- asked to go; NULL while a key could still stop it.
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
    cold_proof TEXT NOT NULL DEFAULT ''
        CHECK (cold_proof IN ('', 'proven', 'unproven', 'warm')),
    cold_reason TEXT NOT NULL DEFAULT '',
    back_at TEXT,
    checksum INTEGER,
    UNIQUE (step_id, part)
) STRICT;


-- What was watched beside a step ------------------------------------------------------------------

-- What a device did in the interval that ended at t_s, counted from the start of the step. What an
-- array wrote is not known: NULL.
CREATE TABLE activity_sample (
    step_id INTEGER NOT NULL REFERENCES step (id),
    device TEXT NOT NULL,
    t_s REAL NOT NULL,
    read_bytes INTEGER NOT NULL,
    write_bytes INTEGER,
    read_ios INTEGER NOT NULL,
    write_ios INTEGER NOT NULL,
    busy_s REAL NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (step_id, device, t_s)
) STRICT;

-- What was only in an array's cache at that moment.
CREATE TABLE array_sample (
    step_id INTEGER NOT NULL REFERENCES step (id),
    t_s REAL NOT NULL,
    dirty_bytes INTEGER NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (step_id, t_s)
) STRICT;

-- How hot a drive was at that moment.
CREATE TABLE temperature_sample (
    step_id INTEGER NOT NULL REFERENCES step (id),
    drive_id INTEGER NOT NULL REFERENCES drive (id),
    t_s REAL NOT NULL,
    celsius REAL NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (step_id, drive_id, t_s)
) STRICT;

-- For how long a processor was at its limit (full_s, of the seconds watched), so that the machine
-- is not taken for the drive. A part that was begun again has the times of all attempts; what lies
-- between the parts is under the empty name.
CREATE TABLE processor_load (
    step_id INTEGER NOT NULL REFERENCES step (id),
    part TEXT NOT NULL,
    seconds REAL NOT NULL,
    full_s REAL NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (step_id, part)
) STRICT;

-- How often and how long an NVMe drive slowed itself down because of its heat in a step, by its own
-- counters: lightly, with little loss of speed; heavily, whatever the loss. A row of zeros: not at
-- all. No row: the drive does not count it. What it did right before a power cut is not in it.
CREATE TABLE throttling (
    step_id INTEGER NOT NULL REFERENCES step (id),
    drive_id INTEGER NOT NULL REFERENCES drive (id),
    lightly REAL NOT NULL,
    lightly_s REAL NOT NULL,
    heavily REAL NOT NULL,
    heavily_s REAL NOT NULL,
    too_hot_minutes REAL NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (step_id, drive_id)
) STRICT;

-- What the kernel reported of errors of a drive in a step, in all of its attempts, without what it
-- reported right before a power cut. A row with 0 messages: nothing. No row: its log was not read.
-- texts: the first few different messages, one per line. complete: no message was overwritten before
-- it was read.
CREATE TABLE kernel_error (
    step_id INTEGER NOT NULL REFERENCES step (id),
    drive_id INTEGER NOT NULL REFERENCES drive (id),
    messages INTEGER NOT NULL,
    texts TEXT NOT NULL,
    complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
    checksum INTEGER,
    PRIMARY KEY (step_id, drive_id)
) STRICT;


-- Health and verdicts -----------------------------------------------------------------------------

-- What a drive says of itself, with its tool's whole output: a counter's meaning may be learned
-- later. reason: why nothing was read. limit_celsius: the drive's own.
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
    checksum INTEGER,
    UNIQUE (campaign_id, drive_id, moment)
) STRICT;

-- One of its counters. doubt: why the value makes no sense; nothing is concluded from such a one.
CREATE TABLE health_counter (
    reading_id INTEGER NOT NULL REFERENCES health_reading (id),
    counter TEXT NOT NULL,
    value REAL NOT NULL,
    unit TEXT NOT NULL,
    doubt TEXT NOT NULL DEFAULT '',
    checksum INTEGER,
    PRIMARY KEY (reading_id, counter)
) STRICT;

-- By which policy a campaign was judged, with its text: the file on KALTSTART may have changed
-- since. problem: why the last try came to nothing.
CREATE TABLE judging (
    campaign_id INTEGER PRIMARY KEY REFERENCES campaign (id),
    at TEXT NOT NULL,
    policy TEXT NOT NULL,
    origin TEXT NOT NULL,
    policy_toml TEXT NOT NULL,
    problem TEXT NOT NULL,
    tried_at TEXT NOT NULL,
    checksum INTEGER
) STRICT;

-- The newest verdict on a drive; earlier ones are in event. drive_class: as what it was judged.
-- depth: how deep this campaign looked at it. read_percent: how much of its surface was read, or
-- written and read back, without doubt.
CREATE TABLE verdict (
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    drive_id INTEGER NOT NULL REFERENCES drive (id),
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'accept with remarks', 'reject')),
    reasons TEXT NOT NULL,
    at TEXT NOT NULL,
    drive_class TEXT NOT NULL DEFAULT '',
    depth TEXT NOT NULL CHECK (depth IN ('quick look', 'surface read', 'written and read back')),
    read_percent REAL NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (campaign_id, drive_id)
) STRICT;

-- A limit of the policy that the drive was held against: what the verdict follows from.
CREATE TABLE verdict_limit (
    campaign_id INTEGER NOT NULL,
    drive_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('kept', 'remark', 'reject', 'not measured')),
    measured TEXT NOT NULL,
    allowed TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT '',
    checksum INTEGER,
    PRIMARY KEY (campaign_id, drive_id, position),
    FOREIGN KEY (campaign_id, drive_id) REFERENCES verdict (campaign_id, drive_id)
) STRICT;


-- The log, and what the interface asks for --------------------------------------------------------

-- What happened, over all starts. The clock of a bench machine may be wrong: seq is the order.
-- detail: its sentence in English. fields: a JSON object of what is put in there, for other languages.
CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign_id INTEGER REFERENCES campaign (id),
    at TEXT NOT NULL,
    monotonic_s REAL NOT NULL,
    boot_id TEXT NOT NULL,
    level TEXT NOT NULL CHECK (level IN ('info', 'warning', 'error')),
    event TEXT NOT NULL,
    detail TEXT NOT NULL,
    fields TEXT
) STRICT;

-- What a text in a reason, an answer or an event was made of, for other languages: words is the sentence with {names},
-- fields a JSON object of what is put in.
CREATE TABLE phrase (
    id INTEGER PRIMARY KEY,
    campaign_id INTEGER REFERENCES campaign (id),
    text TEXT NOT NULL,
    words TEXT NOT NULL,
    fields TEXT NOT NULL
) STRICT;
CREATE INDEX phrase_by_text ON phrase (campaign_id, text);

-- What a person asks the engine for: the interface inserts a row, and the engine alone answers it.
-- kind is checked by the program, whose kinds these are. payload: a JSON object.
CREATE TABLE request (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'accepted', 'refused')),
    answer TEXT NOT NULL DEFAULT '',
    exit_code INTEGER
) STRICT;


-- Public views: further columns only at the end (docs/database.md) ----------------------------------

-- A boot that failed has a row without times; one that was skipped has none.
CREATE VIEW boot_times AS
SELECT c.campaign_id, d.identity AS drive_serial, cd.role AS drive_role, c.cycle, c.power,
       coalesce(s.cold_proof, iif(c.power = 'warm', 'warm', 'unproven')) AS cold_proof,
       coalesce(s.cold_reason, c.reason) AS cold_reason, coalesce(s.valid, 0) AS valid, c.charted,
       s.boot_s, s.firmware_s, s.loader_s, s.kernel_s, s.initrd_s, s.userspace_s, s.session_s,
       s.io_quiet_s, s.read_bytes, s.read_ios, s.wake_skew_s, coalesce(s.at, c.armed_at) AS at,
       c.mode, c.trained, s.drive_celsius, s.cpu_celsius,
       coalesce(s.kernel_errors, '') AS kernel_errors, coalesce(s.path, c.path) AS path, cd.label,
       iif(p.cool = 'none', 'none', coalesce((SELECT k.proof FROM cooling k
           WHERE k.cycle_id = c.id ORDER BY k.id DESC LIMIT 1), 'unproven')) AS cooling,
       s.session_wait_s, s.off_s, d.wwn AS drive_wwn
FROM cycle c
JOIN campaign p ON p.id = c.campaign_id
JOIN drive d ON d.id = c.drive_id
JOIN campaign_drive cd ON cd.campaign_id = c.campaign_id AND cd.drive_id = c.drive_id
LEFT JOIN boot_sample s ON s.cycle_id = c.id
WHERE c.state IN ('done', 'failed');

CREATE VIEW replays AS
SELECT c.campaign_id, d.identity AS drive_serial, c.cycle, l.origin, l.version, l.seed,
       r.list_sha256, r.started_s, r.before_read_ios, r.before_read_bytes, r.p50_ns, r.p95_ns,
       r.p99_ns, r.max_ns, d.wwn AS drive_wwn
FROM replay r
JOIN cycle c ON c.id = r.cycle_id
JOIN drive d ON d.id = c.drive_id
LEFT JOIN replay_list l ON l.campaign_id = c.campaign_id;

CREATE VIEW coolings AS
SELECT c.campaign_id, d.identity AS drive_serial, c.cycle, k.at, k.proof, k.reason, k.rounds,
       k.read_bytes, k.seconds, k.probed, k.remembered_before, k.remembered_after,
       k.boot_before_ns, k.other_before_ns, k.boot_after_ns, k.other_after_ns,
       d.wwn AS drive_wwn
FROM cooling k
JOIN cycle c ON c.id = k.cycle_id
JOIN drive d ON d.id = c.drive_id;

CREATE VIEW replay_reads AS
SELECT c.campaign_id, d.identity AS drive_serial, c.cycle, t.key AS seq,
       json_extract(e.value, '$[0]') AS offset_bytes, json_extract(e.value, '$[1]') AS length_bytes,
       t.value AS read_ns, d.wwn AS drive_wwn
FROM replay r
JOIN cycle c ON c.id = r.cycle_id
JOIN drive d ON d.id = c.drive_id
JOIN replay_list l ON l.campaign_id = c.campaign_id
JOIN json_each(r.times_ns) t
JOIN json_each(l.extents) e ON e.key = t.key;

CREATE VIEW boot_units AS
SELECT c.campaign_id, d.identity AS drive_serial, c.cycle, c.charted,
       json_extract(u.value, '$[0]') AS unit, json_extract(u.value, '$[1]') AS began_s,
       json_extract(u.value, '$[2]') AS ready_s, json_extract(u.value, '$[3]') AS chain,
       d.wwn AS drive_wwn
FROM start_up s
JOIN cycle c ON c.id = s.cycle_id
JOIN drive d ON d.id = c.drive_id
JOIN json_each(s.units) u;

CREATE VIEW results AS
SELECT t.campaign_id, r.step_id, r.device, coalesce(d.identity, '') AS drive_serial,
       t.kind AS workload, r.variant, r.metric, r.unit, r.value, r.page_cache, r.page_cache_proof,
       r.ballast_bytes, r.drive_state, r.array_mode, r.array_dirty_bytes, r.valid, r.at,
       r.beside, coalesce(d.wwn, '') AS drive_wwn
FROM result r
JOIN step t ON t.id = r.step_id
LEFT JOIN drive d ON d.id = t.drive_id;

CREATE VIEW tickets AS
SELECT step_id, pass, page_cache, seq, file, nth, bytes, seconds, major_faults, device_read_bytes,
       resident_before_bytes
FROM ticket;

CREATE VIEW activity AS
SELECT step_id, device, t_s, read_bytes, write_bytes, read_ios, write_ios, busy_s
FROM activity_sample;

CREATE VIEW slices AS
SELECT step_id, slice, first_byte, end_byte, read_bytes, unreadable_bytes, min_bytes_s,
       mean_bytes_s, max_bytes_s
FROM surface_slice;

CREATE VIEW ranges AS
SELECT step_id, part, kind, first_byte, size_bytes, seconds, detail FROM lba_range;

CREATE VIEW power_offs AS
SELECT t.campaign_id, p.step_id, d.identity AS drive_serial, p.part, p.manner, p.cold_proof,
       p.cold_reason, p.power_cycles_before, p.power_cycles_after, p.left_at, p.back_at,
       d.wwn AS drive_wwn
FROM power_off p
JOIN step t ON t.id = p.step_id
JOIN drive d ON d.id = p.drive_id;

CREATE VIEW array_dirty AS
SELECT step_id, t_s, dirty_bytes FROM array_sample;

CREATE VIEW temperatures AS
SELECT t.step_id, d.identity AS drive_serial, t.t_s, t.celsius, d.wwn AS drive_wwn
FROM temperature_sample t
JOIN drive d ON d.id = t.drive_id;

CREATE VIEW kernel_errors AS
SELECT t.campaign_id, k.step_id, d.identity AS drive_serial, k.messages, k.texts, k.complete,
       d.wwn AS drive_wwn
FROM kernel_error k
JOIN step t ON t.id = k.step_id
JOIN drive d ON d.id = k.drive_id;

CREATE VIEW drives AS
SELECT serial, wwn, model, firmware, size_bytes, rotational, transport, logical_block_bytes,
       physical_block_bytes, first_seen, last_seen
FROM drive;

CREATE VIEW conditions AS
SELECT c.campaign_id, coalesce(d.identity, '') AS drive_serial, c.name, c.value, c.since,
       c.id AS seq, coalesce(d.wwn, '') AS drive_wwn
FROM condition c
LEFT JOIN drive d ON d.id = c.drive_id;

CREATE VIEW health AS
SELECT h.campaign_id, d.identity AS drive_serial, h.moment, h.passed, h.reason, c.counter, c.value,
       c.unit, c.doubt, h.at, d.wwn AS drive_wwn
FROM health_reading h
JOIN drive d ON d.id = h.drive_id
LEFT JOIN health_counter c ON c.reading_id = h.id;

CREATE VIEW verdicts AS
SELECT v.campaign_id, d.identity AS drive_serial, v.verdict, v.reasons, v.at, v.depth,
       coalesce(cd.label, '') AS label, v.read_percent, d.wwn AS drive_wwn
FROM verdict v
JOIN drive d ON d.id = v.drive_id
LEFT JOIN campaign_drive cd ON cd.campaign_id = v.campaign_id AND cd.drive_id = v.drive_id;

CREATE VIEW verdict_limits AS
SELECT l.campaign_id, d.identity AS drive_serial, l.position, l.name, l.outcome, l.measured,
       l.allowed, l.detail, d.wwn AS drive_wwn
FROM verdict_limit l
JOIN drive d ON d.id = l.drive_id;

CREATE VIEW events AS
SELECT campaign_id, seq, at, boot_id, level, event, detail FROM event;
