-- Schema 4: what the results of operators share with their arguments.

CREATE TABLE operator_alias(
  id INTEGER PRIMARY KEY,           -- sequence of the call that showed it, where the one before showed something else
  name INTEGER NOT NULL,            -- string: the operator, with its overload
  schema INTEGER NOT NULL,          -- string
  declared INTEGER NOT NULL,        -- bit 8 * output + argument: the schema says that the output may be the argument
  observed INTEGER NOT NULL);       -- the same: the output was on the argument's storage
