-- A summary stands for the entries of a conversation up to and including one. They stay, and can be found.
CREATE TABLE compaction (
    id      INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    turn    TEXT NOT NULL,
    through INTEGER NOT NULL,
    summary TEXT NOT NULL,
    before  INTEGER NOT NULL,
    after   INTEGER NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX compaction_by_session ON compaction(session, id);
CREATE INDEX compaction_by_turn ON compaction(turn);
