-- Which rows name which captured bytes. Kept by triggers, so that no writer can forget it: whoever writes JSON that names an
-- artifact, by its object (a profile beside a blob or a hash) or by its id (PROFILE/HASH), holds its bytes from that statement
-- on, in the same transaction. Texts that name none cost one search for a few letters.

CREATE TABLE reference(
  profile TEXT NOT NULL,
  hash    TEXT NOT NULL,
  holder  TEXT NOT NULL CHECK(holder IN ('part','turn','entry','inbox','web_entry')),
  id      INTEGER NOT NULL,                     -- the row in the holder's table
  PRIMARY KEY(profile, hash, holder, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reference_holder ON reference(holder, id);

-- Found when a turn's row goes: without it each one would read the whole transcript.
CREATE INDEX entry_turn ON entry(turn);

-- A part, until what it showed was dropped.

CREATE TRIGGER part_names AFTER INSERT ON part
WHEN NEW.op GLOB '*"hash":*' AND json_valid(NEW.op) AND NEW.forgotten = 0 BEGIN
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'part', id FROM (
    SELECT NEW.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM json_tree(NEW.op) AS node
    WHERE node.type = 'object')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER part_names_others AFTER UPDATE OF op, forgotten ON part
WHEN (OLD.op GLOB '*"hash":*' OR NEW.op GLOB '*"hash":*') AND json_valid(NEW.op) BEGIN
  DELETE FROM reference WHERE holder = 'part' AND id = OLD.id;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'part', id FROM (
    SELECT NEW.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM json_tree(NEW.op) AS node
    WHERE node.type = 'object' AND NEW.forgotten = 0)
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER part_names_none AFTER DELETE ON part BEGIN
  DELETE FROM reference WHERE holder = 'part' AND id = OLD.id;
END;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'part', id FROM (
    SELECT held.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM part AS held, json_tree(CASE WHEN json_valid(held.op) THEN held.op ELSE '{}' END) AS node
    WHERE node.type = 'object'
      AND held.op GLOB '*"hash":*' AND held.forgotten = 0)
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';

-- What a turn promised, while it runs.

CREATE TRIGGER turn_names AFTER INSERT ON turn
WHEN NEW.promised GLOB '*"hash":*' AND json_valid(NEW.promised) AND NEW.state = 'running' BEGIN
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'turn', id FROM (
    SELECT NEW.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM json_tree(NEW.promised) AS node
    WHERE node.type = 'object')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER turn_names_others AFTER UPDATE OF promised, state ON turn
WHEN (OLD.promised GLOB '*"hash":*' OR NEW.promised GLOB '*"hash":*') AND json_valid(NEW.promised) BEGIN
  DELETE FROM reference WHERE holder = 'turn' AND id = OLD.id;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'turn', id FROM (
    SELECT NEW.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM json_tree(NEW.promised) AS node
    WHERE node.type = 'object' AND NEW.state = 'running')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER turn_names_none AFTER DELETE ON turn BEGIN
  DELETE FROM reference WHERE holder = 'turn' AND id = OLD.id;
END;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'turn', id FROM (
    SELECT held.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM turn AS held, json_tree(CASE WHEN json_valid(held.promised) THEN held.promised ELSE '{}' END) AS node
    WHERE node.type = 'object'
      AND held.promised GLOB '*"hash":*' AND held.state = 'running')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';

-- A transcript.

CREATE TRIGGER entry_names AFTER INSERT ON entry
WHEN NEW.message GLOB '*"hash":*' AND json_valid(NEW.message) BEGIN
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'entry', id FROM (
    SELECT NEW.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM json_tree(NEW.message) AS node
    WHERE node.type = 'object')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER entry_names_others AFTER UPDATE OF message ON entry
WHEN (OLD.message GLOB '*"hash":*' OR NEW.message GLOB '*"hash":*') AND json_valid(NEW.message) BEGIN
  DELETE FROM reference WHERE holder = 'entry' AND id = OLD.id;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'entry', id FROM (
    SELECT NEW.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM json_tree(NEW.message) AS node
    WHERE node.type = 'object')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER entry_names_none AFTER DELETE ON entry BEGIN
  DELETE FROM reference WHERE holder = 'entry' AND id = OLD.id;
END;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'entry', id FROM (
    SELECT held.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM entry AS held, json_tree(CASE WHEN json_valid(held.message) THEN held.message ELSE '{}' END) AS node
    WHERE node.type = 'object'
      AND held.message GLOB '*"hash":*')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';

-- What a person sent, until it was handled. A file that came with it is named by its handle; the web chat's are ids.

CREATE TRIGGER inbox_names AFTER INSERT ON inbox
WHEN NEW.inbound GLOB '*"handle":*' AND json_valid(NEW.inbound) AND NEW.state NOT IN ('poisoned','ignored','told','done') BEGIN
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT substr(handle, 1, length(handle) - 65), substr(handle, -64), 'inbox', id FROM (
    SELECT NEW.id AS id, node.atom AS handle
    FROM json_tree(NEW.inbound) AS node
    WHERE node.key = 'handle' AND node.type = 'text')
  WHERE length(handle) > 65 AND substr(handle, -65, 1) = '/' AND substr(handle, -64) NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER inbox_names_others AFTER UPDATE OF inbound, state ON inbox
WHEN OLD.inbound GLOB '*"handle":*' OR NEW.inbound GLOB '*"handle":*' BEGIN
  DELETE FROM reference WHERE holder = 'inbox' AND id = OLD.id;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT substr(handle, 1, length(handle) - 65), substr(handle, -64), 'inbox', id FROM (
    SELECT NEW.id AS id, node.atom AS handle
    FROM json_tree(CASE WHEN json_valid(NEW.inbound) THEN NEW.inbound ELSE '{}' END) AS node
    WHERE node.key = 'handle' AND node.type = 'text' AND NEW.state NOT IN ('poisoned','ignored','told','done'))
  WHERE length(handle) > 65 AND substr(handle, -65, 1) = '/' AND substr(handle, -64) NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER inbox_names_none AFTER DELETE ON inbox BEGIN
  DELETE FROM reference WHERE holder = 'inbox' AND id = OLD.id;
END;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT substr(handle, 1, length(handle) - 65), substr(handle, -64), 'inbox', id FROM (
    SELECT held.id AS id, node.atom AS handle
    FROM inbox AS held, json_tree(CASE WHEN json_valid(held.inbound) THEN held.inbound ELSE '{}' END) AS node
    WHERE node.key = 'handle' AND node.type = 'text'
      AND held.inbound GLOB '*"handle":*' AND held.state NOT IN ('poisoned','ignored','told','done'))
  WHERE length(handle) > 65 AND substr(handle, -65, 1) = '/' AND substr(handle, -64) NOT GLOB '*[^0-9a-f]*';

-- What the web chat shows.

CREATE TRIGGER web_entry_names AFTER INSERT ON web_entry
WHEN NEW.content GLOB '*"hash":*' AND json_valid(NEW.content) BEGIN
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'web_entry', id FROM (
    SELECT NEW.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM json_tree(NEW.content) AS node
    WHERE node.type = 'object')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER web_entry_names_others AFTER UPDATE OF content ON web_entry
WHEN (OLD.content GLOB '*"hash":*' OR NEW.content GLOB '*"hash":*') AND json_valid(NEW.content) BEGIN
  DELETE FROM reference WHERE holder = 'web_entry' AND id = OLD.id;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'web_entry', id FROM (
    SELECT NEW.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM json_tree(NEW.content) AS node
    WHERE node.type = 'object')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER web_entry_names_none AFTER DELETE ON web_entry BEGIN
  DELETE FROM reference WHERE holder = 'web_entry' AND id = OLD.id;
END;
  INSERT INTO reference(profile, hash, holder, id)
  SELECT DISTINCT profile, hash, 'web_entry', id FROM (
    SELECT held.id AS id, node.value ->> '$.profile' AS profile,
           coalesce(node.value ->> '$.blob.hash', node.value ->> '$.hash') AS hash
    FROM web_entry AS held, json_tree(CASE WHEN json_valid(held.content) THEN held.content ELSE '{}' END) AS node
    WHERE node.type = 'object'
      AND held.content GLOB '*"hash":*')
  WHERE profile IS NOT NULL AND length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*';
