-- Events that are edited, put aside or taken again, and chats that got another id.

ALTER TABLE inbox ADD COLUMN conversation TEXT;                            -- with the anchor: which message it is
ALTER TABLE inbox ADD COLUMN anchor TEXT;
ALTER TABLE inbox ADD COLUMN version INTEGER NOT NULL DEFAULT 0;           -- grows with each change of its words or its chat
ALTER TABLE inbox ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;             -- handled so often without coming to an end
ALTER TABLE inbox ADD COLUMN told INTEGER NOT NULL DEFAULT 0;              -- 1: somebody was told that it was poisoned
UPDATE inbox SET conversation = inbound ->> '$.chat.conversation', anchor = inbound ->> '$.anchor'
  WHERE inbound IS NOT NULL AND json_valid(inbound);
CREATE INDEX inbox_said ON inbox(account, conversation, anchor, id) WHERE anchor IS NOT NULL;
CREATE INDEX inbox_poisoned ON inbox(told, id) WHERE state = 'poisoned';

-- What the platform says has another id: the conversation is `target` now.
CREATE TABLE moved(
  account      TEXT NOT NULL,
  conversation TEXT NOT NULL,
  target       TEXT NOT NULL,
  at           INTEGER NOT NULL,
  told         INTEGER NOT NULL DEFAULT 0,                                 -- 1: the owner knows
  PRIMARY KEY(account, conversation)
) STRICT, WITHOUT ROWID;
CREATE INDEX moved_target ON moved(account, target);
