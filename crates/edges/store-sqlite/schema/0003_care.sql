-- What the store notes about itself, by name:
--   generation         the run of this database that is under way; `state/generation` beside it holds the same
--   generation_before  what that file held when this generation was begun; no row: there was no file
--   restored           the generation in which the database was found to be put back; gone once the owner was told
CREATE TABLE meta(
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
