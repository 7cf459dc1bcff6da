-- Schema 1 of a dc-memtrace trace (application_id 'DCMT'). See docs/schema.md for worked queries.
-- A row is a lifetime: from_* is its begin, to_* its end, NULL while it lasts. seq orders all rows of one process.
-- ns is CLOCK_MONOTONIC of the traced machine. Ids start at 1; a reference column is NULL where there is nothing.

CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;

CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE thread(
  id INTEGER PRIMARY KEY,           -- the agent's thread number
  tid INTEGER NOT NULL,
  name INTEGER,                     -- string
  from_seq INTEGER NOT NULL, from_ns INTEGER NOT NULL);

CREATE TABLE frame(
  id INTEGER PRIMARY KEY,
  file INTEGER NOT NULL, function INTEGER NOT NULL,  -- string
  line INTEGER NOT NULL);

CREATE TABLE stack(                 -- parent-linked: a stack is its innermost frame and the stack of its caller
  id INTEGER PRIMARY KEY,
  parent INTEGER,                   -- stack of the caller, NULL at the outermost frame
  frame INTEGER NOT NULL);

-- Of the four tables that grow with the run, ids are the sequence of the record that made the row. What lies near the id
-- is stored as its distance from it, since a small number takes less room; the columns to read are generated:
--   X_back  the id less X                 late  the id less from_seq, as a rule 0
--   seq_length, ns_length  to_* less from_*, NULL while it lasts

CREATE TABLE operator(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  parent_back INTEGER,
  name INTEGER NOT NULL,            -- string
  scope_code INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,         -- the thread's operator number
  late INTEGER NOT NULL, seq_length INTEGER, from_ns INTEGER NOT NULL, ns_length INTEGER,
  parent INTEGER AS (id - parent_back),  -- operator
  scope TEXT AS (CASE scope_code WHEN 0 THEN 'function' WHEN 1 THEN 'backward' ELSE 'user' END),
  from_seq INTEGER AS (id - late), to_seq INTEGER AS (id - late + seq_length), to_ns INTEGER AS (from_ns + ns_length));

CREATE TABLE block(                 -- what an allocator handed out
  id INTEGER PRIMARY KEY,
  address INTEGER NOT NULL,
  bytes INTEGER NOT NULL,           -- requested
  gpu INTEGER,                      -- NULL: the CPU's
  storage_back INTEGER,
  thread INTEGER, operator_back INTEGER, stack INTEGER,
  free_thread INTEGER, free_operator_back INTEGER, free_stack INTEGER,
  late INTEGER NOT NULL, seq_length INTEGER, from_ns INTEGER NOT NULL, ns_length INTEGER,
  device TEXT AS (CASE WHEN gpu IS NULL THEN 'cpu' ELSE 'cuda:' || gpu END),
  storage INTEGER AS (id - storage_back),  -- the storage that owns it, where known
  operator INTEGER AS (id - operator_back),
  free_operator INTEGER AS (id - free_operator_back),
  from_seq INTEGER AS (id - late), to_seq INTEGER AS (id - late + seq_length), to_ns INTEGER AS (from_ns + ns_length));

CREATE TABLE storage(
  id INTEGER PRIMARY KEY,
  address INTEGER NOT NULL,
  bytes INTEGER NOT NULL,           -- at birth; later sizes are marks of kind 'resize'
  first_seen INTEGER NOT NULL,      -- 1: the birth is the first sight, the constructor was not seen
  thread INTEGER, operator_back INTEGER, stack INTEGER,              -- of the birth
  end_thread INTEGER, end_operator_back INTEGER, end_stack INTEGER,  -- of the last reference going
  end_ordinal INTEGER,              -- operators begun on end_thread by then
  late INTEGER NOT NULL, seq_length INTEGER, from_ns INTEGER NOT NULL, ns_length INTEGER,
  operator INTEGER AS (id - operator_back),
  end_operator INTEGER AS (id - end_operator_back),
  from_seq INTEGER AS (id - late), to_seq INTEGER AS (id - late + seq_length), to_ns INTEGER AS (from_ns + ns_length));

CREATE TABLE tensor(                -- a stay of one tensor object on one storage
  id INTEGER PRIMARY KEY,
  first INTEGER,                    -- row of the object's first stay, NULL: this one
  address INTEGER NOT NULL,
  storage_back INTEGER,
  thread INTEGER, operator_back INTEGER, stack INTEGER,
  late INTEGER NOT NULL, seq_length INTEGER, from_ns INTEGER NOT NULL, ns_length INTEGER,
  object INTEGER AS (coalesce(first, id)),  -- the same for all stays of one tensor object
  storage INTEGER AS (id - storage_back),
  operator INTEGER AS (id - operator_back),
  from_seq INTEGER AS (id - late), to_seq INTEGER AS (id - late + seq_length), to_ns INTEGER AS (from_ns + ns_length));

CREATE TABLE mark(                  -- a named moment (to_seq = from_seq) or span
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,               -- step | phase | user | gather | wait | persist | release | read | touch | census | resize | repoint
  name INTEGER,                     -- string: step's, phase's or mark's name; operator of a gather, release, read; kernel
  thread INTEGER,
  graph INTEGER, key INTEGER,       -- of a parameter's cycle
  cycle INTEGER,                    -- which gather of the key, from 1
  storage INTEGER, tensor INTEGER,
  bytes INTEGER,                    -- of the storage: gather: after it; release: before it; read, resize: then
  bytes_after INTEGER,              -- release: right after the operator
  bytes_settled INTEGER,            -- release: at the thread's next operator; NULL if there was none
  settled_seq INTEGER, settled_ns INTEGER,
  declared INTEGER, remaining INTEGER,  -- release: the count of uses, and those left
  flags TEXT,                       -- comma separated; release: final, persistent, mismatch, no_gather, explicit, unwound, not_settled,
                                    -- metadata_only
                                    -- census: unstable, other_threads_unseen, sharing_lossy; read: kernel
  ordinal INTEGER,                  -- the thread's operator number
  trigger TEXT,                     -- census: 'release' | 'out_of_memory' | 'call'
  parent INTEGER,                   -- mark: census -> its release; read -> the release before it
  value INTEGER,                    -- step: its number; touch: launches since the gather
  operator INTEGER, stack INTEGER,
  from_seq INTEGER NOT NULL, to_seq INTEGER, from_ns INTEGER NOT NULL, to_ns INTEGER);

CREATE TABLE launches(              -- calls that gave the GPU work while a released storage was alive, so far in the run
  id INTEGER PRIMARY KEY,           -- sequence
  ns INTEGER NOT NULL,
  looking INTEGER NOT NULL,         -- 1: such calls are looked at from here on; 0: they are not
  calls INTEGER NOT NULL,           -- kernels, copies, fills, graphs
  graphs INTEGER NOT NULL, nccl INTEGER NOT NULL,     -- of them, those that do not show what they work on: by reason
  unknown INTEGER NOT NULL, copies INTEGER NOT NULL);

CREATE TABLE sample(                -- a count seen by a census, and how much of it is explained
  id INTEGER PRIMARY KEY,
  census INTEGER NOT NULL,          -- mark
  subject TEXT NOT NULL,            -- 'storage' | 'tensor' | 'object' (the tensor's Python object)
  storage INTEGER, tensor INTEGER,
  count INTEGER NOT NULL,           -- as read
  explained INTEGER NOT NULL,       -- holders named (for the tensor: its Python object; for the object: names + the tensor's own reference)
  unexplained INTEGER NOT NULL);

CREATE TABLE edge(                  -- holder -> held
  id INTEGER PRIMARY KEY,
  census INTEGER NOT NULL,          -- mark
  storage INTEGER NOT NULL,         -- the storage this edge keeps alive in the end
  held TEXT NOT NULL,               -- 'storage' | 'tensor' | 'object'
  tensor INTEGER,                   -- tensor row of the held tensor or object, or of the holder where holder = 'tensor'
  holder TEXT NOT NULL,             -- 'tensor' (of a storage) | 'python_object', 'view' (of a tensor) | 'local' | 'cell' | 'free' | 'eval_stack'
  object INTEGER,                   -- address of the Python object, of the view
  thread INTEGER,                   -- of the frame
  name INTEGER,                     -- string: the variable
  function INTEGER, file INTEGER,   -- string: of the frame
  line INTEGER,                     -- of the assignment that reaches this moment
  assignment INTEGER,               -- string: text of that line
  current_line INTEGER,             -- where the frame stood
  delete_line INTEGER,              -- first delete that can follow, NULL: none before the return
  return_line INTEGER,
  model_file INTEGER, model_line INTEGER, model_text INTEGER,  -- the model's source of a generated line
  confidence TEXT NOT NULL,         -- 'certain' | 'unproven'
  from_seq INTEGER NOT NULL, to_seq INTEGER, from_ns INTEGER NOT NULL, to_ns INTEGER);

CREATE TABLE source(                -- files copied at first sight
  id INTEGER PRIMARY KEY,
  path INTEGER NOT NULL,            -- string
  text TEXT NOT NULL);

CREATE TABLE source_line(           -- generated line -> the model's source
  source_path INTEGER NOT NULL,     -- string
  line INTEGER NOT NULL,            -- from this line on
  model_file INTEGER, model_line INTEGER, model_text INTEGER,
  stack_text INTEGER NOT NULL);     -- string: what the compiler kept

CREATE TABLE diagnostic(
  id INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL, ns INTEGER NOT NULL,
  code TEXT NOT NULL,
  text INTEGER NOT NULL);           -- string

CREATE TABLE loss(
  id INTEGER PRIMARY KEY,
  reason TEXT NOT NULL,             -- 'no_room' | 'in_flight'
  count INTEGER NOT NULL,
  from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL, ns INTEGER NOT NULL);

CREATE TABLE interval(              -- consecutive stretches of the run, as a rule its steps; every record is in one
  id INTEGER PRIMARY KEY,
  step INTEGER,                     -- number of the step that ends here; NULL: none, or a part of one that goes on
  steps INTEGER NOT NULL,           -- 0 or 1; more where steps share one row because the disk bound is near
  kept TEXT,                        -- why its rows are in the trace: 'all' | 'steps' | 'every' | 'peak' | 'finding' | 'last'
                                    -- NULL: its rows are not, only these sums are
  records INTEGER NOT NULL,
  operators INTEGER NOT NULL, storages INTEGER NOT NULL, tensors INTEGER NOT NULL,  -- begun in it
  releases INTEGER NOT NULL,        -- final ones
  residual INTEGER NOT NULL, residual_bytes INTEGER NOT NULL,  -- of them: alive at the thread's next operator
  from_seq INTEGER NOT NULL,        -- the end of the one before: excluded
  to_seq INTEGER NOT NULL,          -- included
  from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL);

CREATE INDEX interval_from ON interval(from_seq);

CREATE TABLE interval_curve(        -- exact, whether the interval's rows are kept or not
  interval INTEGER NOT NULL, device TEXT NOT NULL,
  begin_bytes INTEGER NOT NULL,     -- allocated when it began
  peak_bytes INTEGER NOT NULL, peak_seq INTEGER NOT NULL, peak_ns INTEGER NOT NULL,  -- first reached there
  end_bytes INTEGER NOT NULL,
  allocs INTEGER NOT NULL, alloc_bytes INTEGER NOT NULL, frees INTEGER NOT NULL, free_bytes INTEGER NOT NULL,
  PRIMARY KEY(interval, device)) WITHOUT ROWID;

CREATE TABLE key_sum(               -- exact counts over the whole run
  graph INTEGER NOT NULL, key INTEGER NOT NULL,
  gathers INTEGER NOT NULL,
  releases INTEGER NOT NULL, final INTEGER NOT NULL,  -- final: of those, the ones that ended the use
  residual INTEGER NOT NULL, residual_bytes INTEGER NOT NULL,
  reads INTEGER NOT NULL,           -- by operators, after a release
  empty_reads INTEGER NOT NULL,     -- of those: the data was gone
  kernel_reads INTEGER NOT NULL,    -- by kernels: launches that got an address in the released storage
  PRIMARY KEY(graph, key)) WITHOUT ROWID;

CREATE VIEW release AS
  SELECT m.*, string.text AS operator_name FROM mark m LEFT JOIN string ON string.id = m.name WHERE m.kind = 'release';

CREATE VIEW allocated AS            -- the exact curve: bytes allocated right after each event; of an interval without
  SELECT device, seq, ns, delta,    -- rows its peak and its end
         SUM(delta) OVER (PARTITION BY device ORDER BY seq) AS bytes FROM (
    SELECT device, seq, ns, delta FROM (
      SELECT device, from_seq AS seq, from_ns AS ns, bytes AS delta FROM block
      UNION ALL SELECT device, to_seq, to_ns, -bytes FROM block WHERE to_seq IS NOT NULL) event
    WHERE NOT EXISTS (SELECT 1 FROM (SELECT kept FROM interval WHERE from_seq < event.seq ORDER BY from_seq DESC LIMIT 1)
                      WHERE kept IS NULL)
    UNION ALL SELECT device, peak_seq, peak_ns, peak_bytes - begin_bytes
      FROM interval_curve JOIN interval ON interval.id = interval WHERE kept IS NULL
    UNION ALL SELECT device, to_seq, to_ns, end_bytes - peak_bytes
      FROM interval_curve JOIN interval ON interval.id = interval WHERE kept IS NULL);

CREATE VIEW holder AS
  SELECT e.id, e.census, e.storage, e.held, e.holder, n.text AS name, fn.text AS function, f.text AS file, e.line,
         a.text AS assignment, e.delete_line, e.return_line, mf.text AS model_file, e.model_line, mt.text AS model_text,
         e.confidence, e.from_seq, e.to_seq
  FROM edge e LEFT JOIN string n ON n.id = e.name LEFT JOIN string fn ON fn.id = e.function
  LEFT JOIN string f ON f.id = e.file LEFT JOIN string a ON a.id = e.assignment
  LEFT JOIN string mf ON mf.id = e.model_file LEFT JOIN string mt ON mt.id = e.model_text;
