-- Derived tables: written while recording, so that an instant is found without reading all rows;
-- each can be dropped and rebuilt from the facts.

-- What lives at each N events: the blocks of all processes that are alive after event seq.
CREATE TABLE keyframe(
  seq        INTEGER NOT NULL,
  allocation INTEGER NOT NULL,    -- allocation.seq
  PRIMARY KEY(seq, allocation)
) WITHOUT ROWID;

-- Bytes over time, in buckets of 2^level nanoseconds: bucket b is [b << level, (b + 1) << level).
-- Only buckets in which something happened are there; in between, the value is the last one.
CREATE TABLE curve(
  heap     INTEGER NOT NULL,
  quantity TEXT NOT NULL,         -- 'allocated' or 'reserved'
  level    INTEGER NOT NULL,
  bucket   INTEGER NOT NULL,
  first    INTEGER NOT NULL,      -- value before the first event in the bucket
  min      INTEGER NOT NULL,
  max      INTEGER NOT NULL,
  last     INTEGER NOT NULL,      -- value after the last event in the bucket
  PRIMARY KEY(heap, quantity, level, bucket)
) WITHOUT ROWID;
