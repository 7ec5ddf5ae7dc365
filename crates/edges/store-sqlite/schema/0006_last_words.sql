-- Messages that go out only if the gateway dies before it takes them back: what it would have wanted to say.

CREATE TABLE last_words(
  source  TEXT PRIMARY KEY,
  message TEXT NOT NULL                          -- JSON: the message
) STRICT, WITHOUT ROWID;
