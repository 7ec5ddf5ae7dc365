-- Who may ask by the API, and requests that may be asked again.

-- A name belongs to one profile for ever; a revoked key's name can get another key.
CREATE TABLE api_key(
  name         TEXT PRIMARY KEY,
  profile      TEXT NOT NULL,
  hash         BLOB NOT NULL UNIQUE,             -- BLAKE3 of 256 random bits
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER,
  revoked_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE api_request(
  client       TEXT NOT NULL,
  key          BLOB NOT NULL,                    -- BLAKE3 of the key that its sender gave it
  asks         BLOB NOT NULL,                    -- BLAKE3 of what it asks
  request      TEXT NOT NULL,
  conversation TEXT NOT NULL,
  at           INTEGER NOT NULL,
  PRIMARY KEY(client, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX api_request_age ON api_request(at);
