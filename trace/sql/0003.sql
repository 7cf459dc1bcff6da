-- Schema 3: parameters that Python functions gather and release, without an operator; how long freed blocks of CUDA's
-- allocator waited for streams.

CREATE TABLE parameter(
  graph INTEGER NOT NULL,           -- below 0: stands for the mechanism
  key INTEGER NOT NULL,
  name INTEGER,                     -- string: as the framework calls it, NULL where that is not known
  mechanism INTEGER NOT NULL,       -- string: who gathers and releases it
  PRIMARY KEY(graph, key)) WITHOUT ROWID;

-- Of a freed block that other streams still used: how long until they were through with it, from its free on; 0: not to
-- the end of the trace. NULL: nothing waited.
ALTER TABLE block ADD COLUMN wait_seq_length INTEGER;
ALTER TABLE block ADD COLUMN wait_ns_length INTEGER;
ALTER TABLE block ADD COLUMN done_seq INTEGER AS (CASE WHEN wait_seq_length > 0 THEN to_seq + wait_seq_length END);
ALTER TABLE block ADD COLUMN done_ns INTEGER AS (CASE WHEN wait_seq_length > 0 THEN to_ns + wait_ns_length END);
