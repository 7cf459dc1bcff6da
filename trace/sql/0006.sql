-- Schema 6: since when records were lost; storages that are not followed; what is written, not read, after a release.
--
-- mark.flags of a gather, wait, release may have `untracked`: the storage is not followed, and nothing is known of its
-- bytes. mark.kind may be `write`: an operator gave a released storage other data.

ALTER TABLE loss ADD COLUMN from_ns INTEGER;  -- when the first of them was lost; NULL: not known, or see from_seq
