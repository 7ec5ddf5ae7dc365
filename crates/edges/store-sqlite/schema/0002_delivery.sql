-- Delivery complete: other forms of a part, several phases, what the owner did, notices that are gathered.

ALTER TABLE message ADD COLUMN replaces TEXT;                              -- of one name and lane the newest wins
ALTER TABLE message ADD COLUMN when_unknown TEXT NOT NULL DEFAULT 'repeat'
  CHECK(when_unknown IN ('repeat','hold'));
ALTER TABLE message ADD COLUMN lines TEXT;                                 -- JSON: a notice's first sentences, the number of the rest

ALTER TABLE part ADD COLUMN way TEXT NOT NULL DEFAULT 'direct' CHECK(way IN ('direct','carried'));
ALTER TABLE part ADD COLUMN step TEXT;                                     -- the last durable step
ALTER TABLE part ADD COLUMN rendition INTEGER NOT NULL DEFAULT 0;
ALTER TABLE part ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE part ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;          -- 1: its words were dropped since
CREATE INDEX part_held ON part(lane) WHERE state = 'held';
-- What ended otherwise than well, for lists. What waits and what arrived pays nothing for it.
CREATE INDEX part_over ON part(lane, state, message) WHERE state IN ('failed','expired','cancelled','superseded');
CREATE INDEX message_replaces ON message(replaces) WHERE replaces IS NOT NULL;

ALTER TABLE dead ADD COLUMN resolved_at INTEGER;
ALTER TABLE dead ADD COLUMN resolution TEXT;

-- What the platform asked a chat to wait holds for whatever comes next in its lane, also when the part that met it is taken back.
ALTER TABLE lane ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;
UPDATE lane SET not_before = coalesce((SELECT max(next_at) FROM part
  WHERE lane = lane.id AND state = 'retry' AND fault -> '$.kind.throttled' IS NOT NULL), 0);

-- Notices come at once until there were too many in a while; the rest is gathered here and goes as one message.
ALTER TABLE lane ADD COLUMN noticed_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lane ADD COLUMN noticed INTEGER NOT NULL DEFAULT 0;
CREATE TABLE gathering(
  lane       INTEGER NOT NULL REFERENCES lane,
  profile    TEXT NOT NULL,                                                -- whose: two profiles' notices never mix
  message_id TEXT NOT NULL UNIQUE,
  message    TEXT NOT NULL,                                                -- JSON: the message, with the first sentence
  lines      TEXT NOT NULL,                                                -- JSON: the first sentences, the number of the rest
  due_at     INTEGER NOT NULL,
  PRIMARY KEY(lane, profile)
) STRICT;
CREATE INDEX gathering_due ON gathering(due_at);
