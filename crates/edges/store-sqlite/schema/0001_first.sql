-- Times are whole milliseconds since 1970 (UTC). Values that only the program reads are JSON; what a query asks for has
-- a column of its own.

-- ── outbox ─────────────────────────────────────────────────────────────────────────────────────────────────────────

-- Two reasons to wait, kept apart: a login that works again ends its rest, never a wait that the platform asked for.
CREATE TABLE account(
  account         TEXT PRIMARY KEY,
  throttled_until INTEGER NOT NULL DEFAULT 0,
  resting_until   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE lane(
  id           INTEGER PRIMARY KEY,
  account      TEXT NOT NULL REFERENCES account,
  conversation TEXT NOT NULL,
  thread       TEXT NOT NULL DEFAULT '',        -- '' is no thread; a thread's id is never empty
  next_seq     INTEGER NOT NULL DEFAULT 1,
  ready_at     INTEGER,                         -- when its head may go; NULL: nothing open, or the head is sending
  moved_to     INTEGER REFERENCES lane,         -- the platform moved the chat; new messages go there
  UNIQUE(account, conversation, thread)
) STRICT;
CREATE INDEX lane_ready ON lane(account, ready_at) WHERE ready_at IS NOT NULL;

CREATE TABLE message(
  id         INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL UNIQUE,
  source     TEXT NOT NULL,
  ordinal    INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  profile    TEXT NOT NULL,
  account    TEXT NOT NULL,
  waybill    TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE(source, ordinal)                       -- a step that runs twice stores once
) STRICT;

CREATE TABLE part(
  id            INTEGER PRIMARY KEY,
  message       INTEGER NOT NULL REFERENCES message,
  n             INTEGER NOT NULL,
  lane          INTEGER NOT NULL REFERENCES lane,
  seq           INTEGER NOT NULL,
  op            TEXT NOT NULL,
  key           TEXT NOT NULL,
  state         TEXT NOT NULL CHECK(state IN ('queued','sending','retry','unknown','held',
                                              'sent','failed','expired','cancelled','superseded')),
  attempts      INTEGER NOT NULL DEFAULT 0,
  tries         INTEGER NOT NULL DEFAULT 0,
  next_at       INTEGER NOT NULL,
  may_be_repeat INTEGER NOT NULL DEFAULT 0,
  receipt       TEXT,
  fault         TEXT,
  UNIQUE(message, n),
  UNIQUE(lane, seq)
) STRICT;
CREATE INDEX part_open ON part(lane, seq) WHERE state IN ('queued','sending','retry','unknown');
CREATE INDEX part_sending ON part(lane) WHERE state = 'sending';

CREATE TABLE attempt(
  part       INTEGER NOT NULL REFERENCES part,
  n          INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  outcome    TEXT,
  detail     TEXT,
  PRIMARY KEY(part, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead(
  part   INTEGER PRIMARY KEY REFERENCES part,
  reason TEXT NOT NULL,
  at     INTEGER NOT NULL,
  notice TEXT                                   -- the message that tells of it
) STRICT;

-- ── inbox ──────────────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE inbox(
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  account   TEXT NOT NULL,
  event_key TEXT NOT NULL,
  raw       TEXT NOT NULL,
  inbound   TEXT,
  state     TEXT NOT NULL CHECK(state IN ('new','poisoned','ignored','told','admitted','running','done')),
  reason    TEXT,
  session   TEXT,
  turn      TEXT,
  at        INTEGER NOT NULL,
  UNIQUE(account, event_key)
) STRICT;
CREATE INDEX inbox_open ON inbox(id) WHERE state IN ('new','admitted');
CREATE INDEX inbox_turn ON inbox(turn) WHERE turn IS NOT NULL;

CREATE TABLE cursor(
  account TEXT PRIMARY KEY,
  value   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- ── conversations ──────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE session(
  id         TEXT PRIMARY KEY,
  profile    TEXT NOT NULL,
  key        TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX session_running ON session(profile, key) WHERE ended_at IS NULL;

CREATE TABLE turn(
  id         INTEGER PRIMARY KEY,
  turn_id    TEXT NOT NULL UNIQUE,
  session    TEXT NOT NULL,
  scope      TEXT NOT NULL,
  state      TEXT NOT NULL CHECK(state IN ('running','ended')),
  ending     TEXT,
  resumed    INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL,
  -- What it promised so far, JSON: kept when it is taken up again.
  promised   TEXT NOT NULL,
  ended_at   INTEGER,
  input      INTEGER NOT NULL DEFAULT 0,
  cached     INTEGER NOT NULL DEFAULT 0,
  output     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX turn_running ON turn(id) WHERE state = 'running';

CREATE TABLE entry(
  id      INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  turn    TEXT NOT NULL REFERENCES turn(turn_id),
  message TEXT NOT NULL,
  at      INTEGER NOT NULL
) STRICT;
CREATE INDEX entry_session ON entry(session, id);

-- ── web chat ───────────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE web_conversation(
  conversation TEXT PRIMARY KEY,
  profile      TEXT NOT NULL,
  title        TEXT NOT NULL,
  touched_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX web_conversation_touched ON web_conversation(touched_at);

CREATE TABLE web_entry(
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation TEXT NOT NULL REFERENCES web_conversation,
  author       TEXT NOT NULL,
  content      TEXT NOT NULL,
  key          TEXT NOT NULL,
  at           INTEGER NOT NULL,
  UNIQUE(conversation, key)
) STRICT;
CREATE INDEX web_entry_place ON web_entry(conversation, id);

-- ── access ─────────────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE login(
  token      BLOB PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE browser(
  token      BLOB PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
