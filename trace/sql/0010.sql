-- Schema 10: segments of CUDA's caching allocator, where a memory snapshot of torch has them.

CREATE TABLE segment(
  id INTEGER PRIMARY KEY,           -- from 1
  gpu INTEGER NOT NULL,
  address INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  stream INTEGER NOT NULL,          -- as of a block
  expandable INTEGER NOT NULL,      -- 1: a part of an expandable segment that was mapped at once
  from_seq INTEGER NOT NULL,        -- 0: it was there before the first record
  to_seq INTEGER,                   -- NULL: it lasts
  from_ns INTEGER NOT NULL,
  to_ns INTEGER,
  device TEXT AS ('cuda:' || gpu));
