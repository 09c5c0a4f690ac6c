"""The tables, as migrations: each is applied once, in one transaction with the record that it was applied."""

from __future__ import annotations

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

migrations = Migrations("research_scrapers")

_LEDGER = """
CREATE TABLE runs (
    id           TEXT PRIMARY KEY,
    spider       TEXT NOT NULL,
    status       TEXT NOT NULL,           -- in_progress | success | failed | cancelled
    reason       TEXT,                    -- why it stopped, when it did not finish
    jobdir       TEXT,                    -- the JOBDIR that names this run, if one does
    links        TEXT,                    -- where the links came from
    links_digest TEXT,                    -- of the links once all of them are in `jobs`
    config       TEXT NOT NULL,           -- JSON snapshot, without secrets
    created_at   TEXT NOT NULL,
    finished_at  TEXT,
    quota_used   INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_by_jobdir ON runs (jobdir);

CREATE TABLE jobs (
    id        INTEGER PRIMARY KEY,
    run_id    TEXT NOT NULL REFERENCES runs (id),
    provider  TEXT,
    video_id  TEXT,
    link      TEXT NOT NULL,
    line      INTEGER NOT NULL,
    priority  INTEGER NOT NULL DEFAULT 0,
    status    TEXT NOT NULL,              -- pending | in_progress | success | failed | cancelled | invalid
    reason    TEXT,
    detail    TEXT,
    UNIQUE (run_id, provider, video_id)
);
CREATE UNIQUE INDEX jobs_invalid ON jobs (run_id, line, link) WHERE status = 'invalid';

CREATE TABLE sub_jobs (
    id             INTEGER PRIMARY KEY,
    job_id         INTEGER NOT NULL REFERENCES jobs (id),
    run_id         TEXT NOT NULL REFERENCES runs (id),
    provider       TEXT NOT NULL,
    video_id       TEXT NOT NULL,
    kind           TEXT NOT NULL,         -- metadata | transcript | comments | danmaku
    priority       INTEGER NOT NULL DEFAULT 0,
    status         TEXT NOT NULL,         -- pending | in_progress | success | failed | cancelled
    outcome        TEXT,                  -- of a success: complete | empty | partial
    reason         TEXT,
    detail         TEXT,
    retriable      INTEGER NOT NULL DEFAULT 0,
    owner          TEXT,
    attempt        INTEGER NOT NULL DEFAULT 0,
    lease_until    REAL,
    not_before     REAL,
    route          TEXT,
    session        TEXT NOT NULL DEFAULT '{}',
    pages          INTEGER NOT NULL DEFAULT 0,
    claimed        INTEGER,               -- what the site says there is
    claimed_exact  INTEGER,
    top_level      INTEGER NOT NULL DEFAULT 0,
    replies        INTEGER NOT NULL DEFAULT 0,
    threads_found  INTEGER NOT NULL DEFAULT 0,
    threads_done   INTEGER NOT NULL DEFAULT 0,
    threads_failed INTEGER NOT NULL DEFAULT 0,
    quota_used     INTEGER NOT NULL DEFAULT 0,
    note           TEXT,
    limited        INTEGER NOT NULL DEFAULT 0,  -- 1: a limit that the person set cut something off
    contiguous     INTEGER NOT NULL DEFAULT 0,  -- 1: from its newest record down, nothing is missing
    started_at     TEXT,
    finished_at    TEXT,
    UNIQUE (job_id, kind)
);
CREATE INDEX sub_jobs_to_claim ON sub_jobs (run_id, kind, status, priority DESC, id);
CREATE INDEX sub_jobs_of_video ON sub_jobs (provider, video_id, kind);

CREATE TABLE checkpoints (
    sub_job_id INTEGER NOT NULL REFERENCES sub_jobs (id),
    chain      TEXT NOT NULL,             -- '' is the main chain, else the root id of a reply thread
    step       TEXT NOT NULL,
    token      TEXT NOT NULL,
    first_step TEXT NOT NULL,             -- where the chain began, for when the site forgets its token
    first_token TEXT NOT NULL,
    claimed    INTEGER,
    state      TEXT NOT NULL,             -- open | done | failed
    pages      INTEGER NOT NULL DEFAULT 0,
    records    INTEGER NOT NULL DEFAULT 0,  -- different ones, in this walk
    stale      INTEGER NOT NULL DEFAULT 0,  -- pages in a row that brought nothing new
    walk       INTEGER NOT NULL DEFAULT 0,  -- how often the chain was begun anew
    restarts   INTEGER NOT NULL DEFAULT 0,  -- of these, in this session
    reason     TEXT,
    detail     TEXT,
    PRIMARY KEY (sub_job_id, chain)
) WITHOUT ROWID;

CREATE TABLE artifacts (
    id         INTEGER PRIMARY KEY,
    run_id     TEXT NOT NULL REFERENCES runs (id),
    sub_job_id INTEGER REFERENCES sub_jobs (id),
    kind       TEXT NOT NULL,             -- raw_body
    location   TEXT NOT NULL,
    checksum   TEXT NOT NULL,
    version    INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX artifacts_of_sub_job ON artifacts (sub_job_id);
"""

_RECORDS = """
CREATE TABLE videos (
    provider      TEXT NOT NULL,
    video_id      TEXT NOT NULL,
    title         TEXT,
    channel_id    TEXT,
    channel_name  TEXT,
    published_at  TEXT,
    duration_s    INTEGER,
    view_count    INTEGER,
    like_count    INTEGER,
    comment_count INTEGER,
    language      TEXT,
    parts         INTEGER,
    fetched_at    TEXT NOT NULL,
    extras        TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (provider, video_id)
);

CREATE TABLE comments (
    id                 INTEGER PRIMARY KEY,
    provider           TEXT NOT NULL,
    video_id           TEXT NOT NULL,
    comment_id         TEXT NOT NULL,
    parent_id          TEXT,
    root_id            TEXT NOT NULL,
    depth              INTEGER NOT NULL,
    text               TEXT NOT NULL,
    author_id          TEXT,
    author_name        TEXT,
    author_is_uploader INTEGER NOT NULL,
    like_count         INTEGER,
    reply_count        INTEGER,
    published_text     TEXT,
    published_after    TEXT,
    published_before   TEXT,
    is_pinned          INTEGER NOT NULL,
    is_hearted         INTEGER NOT NULL,
    is_edited          INTEGER NOT NULL,
    paid_amount        TEXT,
    pictures           TEXT NOT NULL,
    position           INTEGER,
    content_hash       TEXT NOT NULL,
    fetched_at         TEXT NOT NULL,
    extras             TEXT NOT NULL DEFAULT '{}',
    UNIQUE (provider, video_id, comment_id)
);

CREATE TABLE comment_revisions (
    id           INTEGER PRIMARY KEY,
    comment      INTEGER NOT NULL REFERENCES comments (id),
    text         TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    fetched_at   TEXT NOT NULL,           -- when this wording was read
    replaced_at  TEXT NOT NULL            -- when another wording was read
);
CREATE INDEX comment_revisions_of ON comment_revisions (comment);

-- Which sub-job saw which comment: coverage, loop detection, incremental runs and feeds are read from it.
CREATE TABLE sightings (
    sub_job_id INTEGER NOT NULL REFERENCES sub_jobs (id),
    comment    INTEGER NOT NULL REFERENCES comments (id),
    walk       INTEGER NOT NULL,
    PRIMARY KEY (sub_job_id, comment)
) WITHOUT ROWID;

CREATE VIEW coverage AS
SELECT s.run_id, s.provider, s.video_id, v.title, s.kind, s.status, s.outcome, s.reason, s.detail, s.note, s.route,
       s.claimed, s.claimed_exact, s.top_level, s.replies, s.top_level + s.replies AS collected,
       max(s.claimed - s.top_level - s.replies, 0) AS gap,
       s.threads_found, s.threads_done, s.threads_failed, s.pages, s.quota_used, s.attempt, s.finished_at
FROM sub_jobs s LEFT JOIN videos v ON v.provider = s.provider AND v.video_id = s.video_id;
"""

_TRANSCRIPTS = """
CREATE TABLE transcripts (
    id           INTEGER PRIMARY KEY,
    provider     TEXT NOT NULL,
    video_id     TEXT NOT NULL,
    part         INTEGER NOT NULL,
    language     TEXT NOT NULL,
    kind         TEXT NOT NULL,           -- manual | asr | translated
    name         TEXT NOT NULL,
    version      INTEGER NOT NULL,        -- 1, 2 …: a changed transcript is a new version
    segments     INTEGER NOT NULL,        -- how many
    content_hash TEXT NOT NULL,
    fetched_at   TEXT NOT NULL,
    extras       TEXT NOT NULL DEFAULT '{}',
    UNIQUE (provider, video_id, part, language, kind, name, version)
);

CREATE TABLE transcript_segments (
    transcript INTEGER NOT NULL REFERENCES transcripts (id),
    position   INTEGER NOT NULL,
    start      REAL NOT NULL,             -- seconds
    duration   REAL,
    text       TEXT NOT NULL,
    words      TEXT,                      -- JSON: [[start, word], …] where the site tells them
    PRIMARY KEY (transcript, position)
) WITHOUT ROWID;

-- Which sub-job saw which transcript.
CREATE TABLE transcript_sightings (
    sub_job_id INTEGER NOT NULL REFERENCES sub_jobs (id),
    transcript INTEGER NOT NULL REFERENCES transcripts (id),
    PRIMARY KEY (sub_job_id, transcript)
) WITHOUT ROWID;
"""

_DANMAKU = """
CREATE TABLE danmaku (
    id           INTEGER PRIMARY KEY,
    provider     TEXT NOT NULL,
    video_id     TEXT NOT NULL,
    part         INTEGER NOT NULL,
    cid          TEXT NOT NULL,           -- the site's id of the part
    danmaku_id   TEXT NOT NULL,
    progress_ms  INTEGER NOT NULL,        -- when it flies over the video
    text         TEXT NOT NULL,
    mode         INTEGER NOT NULL,
    color        INTEGER NOT NULL,
    font_size    INTEGER NOT NULL,
    pool         INTEGER NOT NULL,
    weight       INTEGER,
    sent_at      TEXT,
    author_hash  TEXT,
    content_hash TEXT NOT NULL,
    fetched_at   TEXT NOT NULL,
    extras       TEXT NOT NULL DEFAULT '{}',
    UNIQUE (provider, video_id, danmaku_id, cid)
);

-- Which sub-job saw which danmaku.
CREATE TABLE danmaku_sightings (
    sub_job_id INTEGER NOT NULL REFERENCES sub_jobs (id),
    danmaku    INTEGER NOT NULL REFERENCES danmaku (id),
    PRIMARY KEY (sub_job_id, danmaku)
) WITHOUT ROWID;

ALTER TABLE jobs ADD COLUMN parts TEXT NOT NULL DEFAULT '';          -- those that links name; '' = all
ALTER TABLE sub_jobs ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;    -- 1: for its job's metadata
ALTER TABLE jobs ADD COLUMN deadline REAL NOT NULL DEFAULT 9e15;     -- after this moment it is not worth beginning
ALTER TABLE sub_jobs ADD COLUMN deadline REAL NOT NULL DEFAULT 9e15;
ALTER TABLE sub_jobs ADD COLUMN shuffle INTEGER NOT NULL DEFAULT 0;  -- by chance, so that no channel is hammered
ALTER TABLE runs ADD COLUMN cancel INTEGER NOT NULL DEFAULT 0;       -- 1: somebody asked it to stop
ALTER TABLE runs ADD COLUMN live TEXT;                               -- JSON: what a running process last told of itself
DROP INDEX sub_jobs_to_claim;
CREATE INDEX sub_jobs_to_claim ON sub_jobs
    (run_id, provider, kind, status, waits, priority DESC, deadline, shuffle, id);
"""

_SAMPLES = """
CREATE TABLE samples (
    id        INTEGER PRIMARY KEY,
    run_id    TEXT NOT NULL REFERENCES runs (id),
    line      TEXT NOT NULL,              -- the spider's name
    at        REAL NOT NULL,              -- when the interval ended, seconds since 1970
    seconds   REAL NOT NULL,              -- how long it was; the numbers up to `cached` are what happened in it
    requests  INTEGER NOT NULL,
    retries   INTEGER NOT NULL,
    pages     INTEGER NOT NULL,
    records   INTEGER NOT NULL,
    ended     INTEGER NOT NULL,           -- sub-jobs
    cached    INTEGER NOT NULL,           -- answers from the HTTP cache
    in_flight INTEGER NOT NULL,           -- from here on: how it stood when the interval ended
    waiting   INTEGER NOT NULL,
    queue     INTEGER NOT NULL,
    busy      INTEGER NOT NULL,           -- workers
    breaker   TEXT NOT NULL,
    errors    TEXT NOT NULL,              -- JSON: how many answers of the interval were refused, by reason
    latency   TEXT NOT NULL               -- JSON: endpoint → bucket → answers of the interval; see `Histogram`
);
CREATE INDEX samples_of_run ON samples (run_id, at);
"""


def _run_script(db: Database, script: str) -> None:
    # Statement by statement: executescript would commit the migration's own transaction first.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if line.split("--")[0].rstrip().endswith(";"):
            db.execute(statement)
            statement = ""


@migrations()
def m0001_ledger(db: Database) -> None:
    """Runs, jobs, sub-jobs, checkpoints, artifacts."""
    _run_script(db, _LEDGER)


@migrations()
def m0002_records(db: Database) -> None:
    """Videos, comments with revisions and sightings, the full-text index."""
    _run_script(db, _RECORDS)
    db.table("comments").enable_fts(["text", "author_name"], create_triggers=True)


@migrations()
def m0003_transcripts(db: Database) -> None:
    """Transcripts with their versions and segments."""
    _run_script(db, _TRANSCRIPTS)


@migrations()
def m0004_danmaku(db: Database) -> None:
    """Danmaku, the parts of a video, and sub-jobs that wait for their job's metadata."""
    _run_script(db, _DANMAKU)


@migrations()
def m0005_raw_bodies(db: Database) -> None:
    """What reading an artifact's body again needs."""
    db.execute("ALTER TABLE artifacts ADD COLUMN context TEXT")  # JSON: cursor, address, status, time …


@migrations()
def m0006_samples(db: Database) -> None:
    """How a run went, every few seconds."""
    _run_script(db, _SAMPLES)


@migrations()
def m0007_project(db: Database) -> None:
    """Which project this is, what its runs hide, and by which key."""
    db.execute("CREATE TABLE project (id TEXT NOT NULL, policy TEXT, key_check TEXT)")


_SEARCH = """
DROP TABLE comments_fts;
CREATE VIRTUAL TABLE comments_fts USING fts5 (text, author_name, tokenize = 'unicode61');
INSERT INTO comments_fts (rowid, text, author_name) SELECT id, segmented(text), segmented(author_name) FROM comments;
CREATE TRIGGER comments_ai AFTER INSERT ON comments BEGIN INSERT INTO comments_fts (rowid, text, author_name)
    VALUES (new.id, segmented(new.text), segmented(new.author_name)); END;
CREATE TRIGGER comments_ad AFTER DELETE ON comments BEGIN DELETE FROM comments_fts WHERE rowid = old.id; END;
CREATE TRIGGER comments_au AFTER UPDATE OF text, author_name ON comments BEGIN UPDATE comments_fts
    SET text = segmented(new.text), author_name = segmented(new.author_name) WHERE rowid = old.id; END;
"""


@migrations()
def m0008_search(db: Database) -> None:
    """A full-text index that finds Chinese; why so: `store.search`."""
    old = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'comments'").fetchall()
    for (name,) in old:
        db.execute(f"DROP TRIGGER [{name}]")
    _run_script(db, _SEARCH)


_RESUME = """
CREATE INDEX sub_jobs_held ON sub_jobs (run_id, owner) WHERE status = 'in_progress';
CREATE INDEX sub_jobs_again ON sub_jobs (run_id) WHERE retriable = 1;
CREATE INDEX sub_jobs_parked ON sub_jobs (run_id, not_before) WHERE not_before IS NOT NULL;
CREATE INDEX sub_jobs_torn ON sub_jobs (run_id) WHERE threads_failed > 0;
CREATE INDEX checkpoints_failed ON checkpoints (sub_job_id) WHERE state = 'failed';
CREATE INDEX checkpoints_restarted ON checkpoints (sub_job_id) WHERE restarts > 0;
"""


@migrations()
def m0009_resume(db: Database) -> None:
    """What a run that comes back must look at, without reading all that waits."""
    _run_script(db, _RESUME)


def known_migrations() -> set[str]:
    """The names of every migration that this version has."""
    return {migration.name for migration in migrations.pending(Database(memory=True))}
