-- The index over what was said: a file of its own, made from the transcripts and made anew when it is lost. It holds words and
-- no text: what is shown of a hit is read from the transcript, so what is gone there is shown nowhere.

-- Indexed entries of the transcript, by their number there.
CREATE TABLE line(
  id      INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  profile TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE words USING fts5(
  text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

-- The last entry that was looked at, and its turn: another turn there means another transcript.
CREATE TABLE mark(
  one  INTEGER PRIMARY KEY CHECK(one = 1),
  id   INTEGER NOT NULL,
  turn TEXT NOT NULL
) STRICT;
INSERT INTO mark VALUES(1, 0, '');
