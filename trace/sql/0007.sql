-- Schema 7: who owns storages, as the recorder read it in the memory of the process while the process went on.

CREATE TABLE scan(
  id INTEGER PRIMARY KEY,           -- from 1
  from_seq INTEGER NOT NULL,        -- of the last record before it began
  from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,
  storages INTEGER NOT NULL,        -- that were found, and alive by the records from its begin to its end
  owned INTEGER NOT NULL,           -- of them with an owner
  objects INTEGER NOT NULL,         -- of Python and C++ that were decoded
  torn INTEGER NOT NULL,            -- of them that changed while they were read
  collecting INTEGER NOT NULL);     -- 1: Python's collector was running

CREATE TABLE owner(
  id INTEGER PRIMARY KEY,
  storage INTEGER NOT NULL,
  scan INTEGER NOT NULL,            -- the first that found it
  last_scan INTEGER NOT NULL,       -- the last that did: it was there in every one between
  position INTEGER NOT NULL,        -- among the owners of the storage, 0: the one that reads best
  path INTEGER NOT NULL,            -- string: from the root to what holds the storage
  place INTEGER,                    -- string: file:line where the frame stood that is the root; NULL: another root
  confirmed INTEGER NOT NULL);      -- 1: each reference of the path was there in a second reading

-- What the latest scan that found a storage says of it.
CREATE TABLE held(
  storage INTEGER PRIMARY KEY,
  scan INTEGER NOT NULL,
  role TEXT,                        -- 'parameter' | 'gradient'; NULL: neither
  otherwise INTEGER NOT NULL);      -- 0: nothing but entries of the containers in held_in leads to it

-- Lists, dictionaries and other objects whose entries hold storages.
CREATE TABLE container(
  id INTEGER PRIMARY KEY,
  path INTEGER NOT NULL,            -- string
  place INTEGER,                    -- as of an owner
  type INTEGER NOT NULL,            -- string: "list"; "graph": a tensor's; "finished frame": ended by an exception
  entries INTEGER NOT NULL,         -- that held storages, in the last scan
  scan INTEGER NOT NULL, last_scan INTEGER NOT NULL);

CREATE TABLE held_in(
  storage INTEGER NOT NULL,
  container INTEGER NOT NULL,
  scan INTEGER NOT NULL,            -- the latest that found it there
  PRIMARY KEY(storage, container)) WITHOUT ROWID;
