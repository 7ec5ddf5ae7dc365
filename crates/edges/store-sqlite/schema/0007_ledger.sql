-- What models were used for: of each turn, and by day, profile and model.

ALTER TABLE turn ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;           -- of those, calls whose cost nobody knows
ALTER TABLE turn ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;               -- of the others, in millionths of a US dollar
CREATE INDEX turn_of_session ON turn(session);

CREATE TABLE ledger(
  day      INTEGER NOT NULL,                                               -- days since 1970-01-01 UTC
  profile  TEXT NOT NULL,
  route    TEXT NOT NULL,
  calls    INTEGER NOT NULL,
  unpriced INTEGER NOT NULL,
  input    INTEGER NOT NULL,
  cached   INTEGER NOT NULL,
  output   INTEGER NOT NULL,
  cost     INTEGER NOT NULL,
  PRIMARY KEY(day, profile, route)
) STRICT, WITHOUT ROWID;
