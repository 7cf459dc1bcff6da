-- Schema 8: what a container holds in storages that have no rows of their own.

ALTER TABLE container ADD COLUMN small_bytes INTEGER;  -- of storages under the followed size to which, in small_scan,
                                                       -- nothing but its entries led; NULL: not counted
ALTER TABLE container ADD COLUMN small_scan INTEGER;
