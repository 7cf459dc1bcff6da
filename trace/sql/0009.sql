-- Schema 9: what the kernel counts of the process's memory, beside torch's, and who holds arrays of numpy.

CREATE TABLE resident(
  id INTEGER PRIMARY KEY,           -- from 1
  seq INTEGER NOT NULL,             -- of the latest record then
  ns INTEGER NOT NULL,
  anonymous INTEGER NOT NULL,       -- bytes in memory or in swap that belong to no file
  file INTEGER NOT NULL,            -- bytes in memory of files that it has mapped
  shared INTEGER NOT NULL,          -- the same of shared memory
  torch INTEGER NOT NULL,           -- what torch's allocator of the CPU had handed out
  cgroup INTEGER);                  -- in use by its control group; NULL: not known

CREATE TABLE mapped(                -- at some of these samples: the same by what the pages are mapped for
  sample INTEGER NOT NULL,          -- resident
  class TEXT NOT NULL,              -- 'libraries' | 'files' | 'shared tensors' | 'shared memory' | 'driver' | 'malloc' |
                                    -- 'python' | 'stacks' | 'recorder' | 'other'
  bytes INTEGER NOT NULL,           -- in memory or in swap
  torch INTEGER NOT NULL,           -- of these, in blocks of torch's allocator
  size INTEGER NOT NULL,            -- of the mappings, used or not
  mappings INTEGER NOT NULL,
  name INTEGER,                     -- string: the file of the largest one
  PRIMARY KEY(sample, class)) WITHOUT ROWID;

CREATE TABLE array_holder(          -- who held arrays of numpy, those with most bytes, at each scan
  scan INTEGER NOT NULL,
  position INTEGER NOT NULL,        -- 0: most bytes
  path INTEGER NOT NULL,            -- string: a container or a variable, "main: rows"
  place INTEGER,                    -- string: as of an owner
  type INTEGER NOT NULL,            -- string: "list"; "" of a variable
  arrays INTEGER NOT NULL,
  bytes INTEGER NOT NULL,           -- of their data, each once
  PRIMARY KEY(scan, position)) WITHOUT ROWID;
