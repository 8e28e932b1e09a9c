-- Behind all others, whose pages then are where those of earlier versions are.
--
-- The recordings that this one was made of by `tidemark merge`, in the order in which they were
-- named; none in what a recorder wrote. Ids, seqs and times of their rows are this recording's.
CREATE TABLE merged(
  id            INTEGER PRIMARY KEY,
  file          TEXT NOT NULL,    -- its name, without folders
  host          TEXT,             -- host name; NULL = not known
  way           TEXT NOT NULL,    -- by what its clock was aligned to those before: 'first' (they are
                                  -- aligned to it), 'same clock' (a recorder on the same machine),
                                  -- 'collectives', 'calendar', 'begin' (nothing says when it was)
  meeting       TEXT,             -- of way 'collectives': what met
  meetings      INTEGER NOT NULL, -- and how many were used
  offset_ns     INTEGER NOT NULL, -- where its own zero is in this recording
  drift_ppb     INTEGER NOT NULL, -- nanoseconds that this recording gains on it in a second
  error_ns      INTEGER,          -- how far its times may be off; NULL = not known
  first_process INTEGER NOT NULL, -- its processes: process.id from here
  last_process  INTEGER NOT NULL, -- to here
  schema_version INTEGER NOT NULL, -- of its file
  finished      INTEGER NOT NULL  -- 1 = its recorder came to its own end
);
