-- Schema 11: what is in use of the memory of GPUs, by the driver's count, while the program runs.

CREATE TABLE gpu_memory(
  id INTEGER PRIMARY KEY,           -- from 1
  ns INTEGER NOT NULL,
  gpu INTEGER NOT NULL,             -- the number that torch has for it
  used INTEGER NOT NULL,            -- bytes, of all processes
  total INTEGER NOT NULL,           -- bytes that the GPU has for programs
  process INTEGER,                  -- of the used ones, those of this process; NULL: not known
  reserved INTEGER NOT NULL,        -- what torch's allocator of this process had reserved
  device TEXT AS ('cuda:' || gpu));
