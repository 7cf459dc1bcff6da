-- Schema 5: of a gathered parameter, what type its elements have.

ALTER TABLE mark ADD COLUMN dtype INTEGER;  -- string: gather, wait: of the tensor that was given; NULL: not known
