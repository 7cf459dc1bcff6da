-- Schema 2: requests that an allocator gave up; of CUDA's allocator streams, and what it has of its device.

ALTER TABLE block ADD COLUMN stream INTEGER;  -- number of its CUDA stream, 0: the default one, NULL: not known
ALTER TABLE block ADD COLUMN owner INTEGER;   -- string: who keeps it, where that is known and no tensor

CREATE TABLE oom(
  id INTEGER PRIMARY KEY,           -- sequence of its record
  gpu INTEGER,                      -- NULL: the CPU's
  requested INTEGER NOT NULL,       -- CUDA: rounded as the allocator does
  allocated INTEGER, reserved INTEGER,  -- by torch's own count at this moment; NULL for the CPU
  free INTEGER, total INTEGER,      -- of the device, by CUDA; NULL where it did not say
  thread INTEGER, operator INTEGER, stack INTEGER,
  ns INTEGER NOT NULL,
  device TEXT AS (CASE WHEN gpu IS NULL THEN 'cpu' ELSE 'cuda:' || gpu END));

-- Of torch's CUDA allocator, like the bytes it has allocated; NULL where it was not known.
ALTER TABLE interval_curve ADD COLUMN active_peak_bytes INTEGER;    -- allocated, or freed and waiting for a stream
ALTER TABLE interval_curve ADD COLUMN active_end_bytes INTEGER;
ALTER TABLE interval_curve ADD COLUMN reserved_peak_bytes INTEGER;  -- of all its segments, where they are mapped
ALTER TABLE interval_curve ADD COLUMN reserved_end_bytes INTEGER;
