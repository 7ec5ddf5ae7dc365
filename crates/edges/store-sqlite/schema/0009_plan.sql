-- What an agent has to do in a stretch of a conversation; it goes with the stretch.
CREATE TABLE plan(
  session TEXT PRIMARY KEY,
  steps   TEXT NOT NULL,
  at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every stretch of a conversation, also those that ended.
CREATE INDEX session_stretches ON session(profile, key, started_at);
