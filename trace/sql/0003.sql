-- Schema 3: parameters that Python functions gather and release, without an operator.

CREATE TABLE parameter(
  graph INTEGER NOT NULL,           -- below 0: stands for the mechanism
  key INTEGER NOT NULL,
  name INTEGER,                     -- string: as the framework calls it, NULL where that is not known
  mechanism INTEGER NOT NULL,       -- string: who gathers and releases it
  PRIMARY KEY(graph, key)) WITHOUT ROWID;
