-- Schema 2: requests that an allocator gave up.

CREATE TABLE oom(
  id INTEGER PRIMARY KEY,           -- sequence of its record
  gpu INTEGER,                      -- NULL: the CPU's
  requested INTEGER NOT NULL,       -- CUDA: rounded as the allocator does
  allocated INTEGER, reserved INTEGER,  -- by torch's own count at this moment; NULL for the CPU
  free INTEGER, total INTEGER,      -- of the device, by CUDA; NULL where it did not say
  thread INTEGER, operator INTEGER, stack INTEGER,
  ns INTEGER NOT NULL,
  device TEXT AS (CASE WHEN gpu IS NULL THEN 'cpu' ELSE 'cuda:' || gpu END));
