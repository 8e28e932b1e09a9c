-- Facts: what was seen. Rows are appended while a program runs and never rewritten, but for the
-- columns that a later event completes (marked "completed"). Nothing here is derived.
--
-- What a stretch of time was is known some time later. Until then it stands in `phase` with `settled`
-- NULL, in `phase_device` and in `stretch`, as it would be if the program ended there. That is no fact
-- yet: each commit replaces all of it.
--
-- Units: bytes are integers. Times are integer nanoseconds since the run began (CLOCK_MONOTONIC);
-- table clock ties them to the calendar. `seq` is the recorder's own running number of events in the
-- run; inside one process it grows with the order of that process's events. NULL means "not known
-- from this source", never zero.

-- What the run was, one fact a row. schema/README.md lists the keys.
CREATE TABLE meta(
  key   TEXT PRIMARY KEY,
  value                           -- text or integer
) WITHOUT ROWID;

-- One process image: an exec in the same pid begins a new row.
CREATE TABLE process(
  id         INTEGER PRIMARY KEY, -- 1 = the recorded command itself
  pid        INTEGER NOT NULL,    -- as the recorder sees it
  parent     INTEGER,             -- process.id of the parent, NULL if it is not recorded
  origin     TEXT NOT NULL,       -- 'root', 'exec' (new image in a pid seen before), 'fork', 'spawn',
                                  -- 'armed' (its recording began in the middle of it),
                                  -- 'import' (out of a file that another tool wrote; pid is 0)
  start_ns   INTEGER NOT NULL,    -- when it said hello
  end_ns     INTEGER,             -- completed
  rank       INTEGER,             -- RANK of torch.distributed
  local_rank INTEGER,
  world_size INTEGER,
  host       TEXT,                -- host name
  argv       TEXT,                -- arguments separated by spaces, quoted as a shell would need it
  live       TEXT,                -- sources that were live, joined by ', '
  why_not    TEXT,                -- why others were not, joined by '; '
  ended      TEXT,                -- completed: 'exit', 'signal', 'exec', 'left running', 'unknown'
  exit_code  INTEGER,             -- completed: with 'exit', where it could be known
  signal     INTEGER,             -- completed: with 'signal'
  first_seq  INTEGER,             -- completed: its first and last event
  last_seq   INTEGER,
  events     INTEGER              -- completed: events stored of it
);

CREATE TABLE device(
  id          INTEGER PRIMARY KEY,
  kind        TEXT NOT NULL,      -- 'cpu', 'cuda', 'xpu', 'virtual', 'other'
  ordinal     INTEGER NOT NULL,   -- index among its kind, -1 = not known
  name        TEXT,               -- as the driver calls it
  total_bytes INTEGER             -- its memory
);

-- Process x device x stream x pool.
CREATE TABLE heap(
  id      INTEGER PRIMARY KEY,
  process INTEGER NOT NULL,       -- process.id
  device  INTEGER NOT NULL,       -- device.id
  stream  INTEGER NOT NULL,       -- the source's own name, 0 = default
  pool    INTEGER NOT NULL,       -- 0 = the shared pools
  name    TEXT
);

CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE frame(
  id       INTEGER PRIMARY KEY,
  function INTEGER,               -- string.id
  file     INTEGER,               -- string.id
  line     INTEGER                -- NULL = not known
);

-- A call stack: the frames of a site, depth 0 innermost.
CREATE TABLE site(
  site  INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  frame INTEGER NOT NULL,         -- frame.id
  PRIMARY KEY(site, depth)
) WITHOUT ROWID;

-- What a block was said to be for; allocation.tag points here.
CREATE TABLE tag(
  id       INTEGER PRIMARY KEY,
  category INTEGER NOT NULL,      -- 1 parameter, 2 gradient, 3 optimizer state, 4 activation,
                                  -- 5 input, 6 bucket, 7 workspace, 8 other
  name     TEXT                   -- a parameter's name, for instance
);

-- A named stretch of a process. The time between is of kind 'other', so that time and bytes add up.
-- settled: 1, 2, ... in the order in which it became known what phases were. From then on the row
-- stays, and so do its rows in other tables, but for what is thinned; `ended` is not NULL. Before that
-- the next commit replaces it, under the same id, or takes it out if the id is 2^40 or more: those
-- ids say nothing.
CREATE TABLE phase(
  id        INTEGER PRIMARY KEY,
  process   INTEGER NOT NULL,     -- process.id
  thread    INTEGER,              -- kernel thread id; NULL for kind 'other'
  parent    INTEGER,              -- phase.id of the phase around it
  ordinal   INTEGER NOT NULL,     -- counts phases of one name inside one step of a process, from 0
  kind      TEXT NOT NULL,        -- 'zero_grad', 'forward', 'loss', 'backward', 'optimizer', 'eval',
                                  -- 'forward_no_grad', 'recompute', 'after_backward', 'user',
                                  -- 'other'
  name      TEXT NOT NULL,        -- the program's own; or, where marks of a framework made it, what
                                  -- the kind is called: 'forward (no grad)', 'after backward', and
                                  -- 'checkpointed forward' for the kind forward
  step      INTEGER,              -- NULL = outside of any step
  begin_seq INTEGER NOT NULL,     -- the phase has the events begin_seq <= seq <= end_seq
  end_seq   INTEGER,              -- completed; NULL = still open at the last commit
  begin_ns  INTEGER NOT NULL,
  end_ns    INTEGER,              -- completed
  scope     TEXT NOT NULL,        -- 'process': threads without a phase have this one; 'thread';
                                  -- 'range': it need not nest, is nobody's, has no step and no
                                  -- row in phase_device
  ended     TEXT,                 -- completed: 'end', 'exception', 'unbalanced', 'process end'
  domain    TEXT,                 -- of a library that names its own by NVTX: no block is in it;
                                  -- NULL = the program's
  settled   INTEGER               -- completed; NULL = the row may change
);

-- What a phase did on each device that had blocks before or during it.
CREATE TABLE phase_device(
  phase             INTEGER NOT NULL,
  device            INTEGER NOT NULL,
  begin_allocated   INTEGER NOT NULL, -- bytes of blocks handed out, when the phase began
  allocated         INTEGER NOT NULL, -- and when it ended; values of an open phase: at the commit
  requested         INTEGER,          -- bytes asked for in living blocks; NULL if any is not known
  active            INTEGER,          -- allocated + freed but waiting for a stream
  reserved          INTEGER,          -- bytes of segments
  inactive_split    INTEGER,          -- free bytes in segments that also hold live blocks
  max_allocated     INTEGER NOT NULL, -- running maximum since the process began, at the phase's end
  max_allocated_seq INTEGER,          -- when it was first reached
  max_reserved      INTEGER,
  peak_allocated    INTEGER NOT NULL, -- highest inside the phase
  peak_seq          INTEGER,          -- when first reached; NULL = as it began
  peak_ns           INTEGER,
  peak_reserved     INTEGER,          -- reserved at that instant
  allocs            INTEGER NOT NULL, -- blocks handed out inside it, nested phases included
  frees             INTEGER NOT NULL, -- blocks given back inside it
  alloc_bytes       INTEGER NOT NULL, -- sum of the sizes handed out
  PRIMARY KEY(phase, device)
) WITHOUT ROWID;

-- The innermost phase of scope 'process' from begin_seq until the next row of the process.
CREATE TABLE stretch(
  process   INTEGER NOT NULL,
  begin_seq INTEGER NOT NULL,
  phase     INTEGER NOT NULL,
  PRIMARY KEY(process, begin_seq)
) WITHOUT ROWID;

-- One row for each block that was handed out. Lean on purpose: 10 million of them are a small run.
CREATE TABLE allocation(
  seq       INTEGER PRIMARY KEY,  -- of the event that handed it out
  heap      INTEGER NOT NULL,     -- heap.id
  address   INTEGER NOT NULL,
  size      INTEGER NOT NULL,     -- bytes of the block, rounding included
  requested INTEGER,              -- bytes asked for
  alloc_ns  INTEGER NOT NULL,
  life_ns   INTEGER NOT NULL,     -- completed; -70368744177664 (-2^46) = it lives
  free_seq  INTEGER NOT NULL,     -- completed; -2147483648 (-2^31) = it lives
  site      INTEGER,              -- site.site
  tag       INTEGER,              -- tag.id, completed
  segment   INTEGER,              -- segment.seq
  module    INTEGER               -- module.id: the innermost one that ran in its thread; in a backward
                                  -- the one whose forward made the node; NULL = none, or not known
);

-- Blocks of a thread that was in a phase of its own, where that is not what `stretch` says.
CREATE TABLE allocation_phase(
  allocation INTEGER PRIMARY KEY, -- allocation.seq
  phase      INTEGER NOT NULL
);

-- Memory that an allocator took from the driver. Where an allocator's history told it later, `seq`
-- is that of the block that needed it, and free_seq that of the event before which it went.
CREATE TABLE segment(
  seq      INTEGER PRIMARY KEY,   -- of the event that took it
  heap     INTEGER NOT NULL,
  address  INTEGER NOT NULL,
  size     INTEGER NOT NULL,
  alloc_ns INTEGER NOT NULL,
  life_ns  INTEGER,               -- completed
  free_seq INTEGER,               -- completed
  site     INTEGER
);

-- Pages that were mapped into, or taken out of, a range of addresses reserved for them (expandable
-- segments). What is mapped counts as reserved; blocks in it have no row in table segment.
CREATE TABLE mapping(
  seq     INTEGER NOT NULL,       -- it happened at or before this event
  heap    INTEGER NOT NULL,
  address INTEGER NOT NULL,
  size    INTEGER NOT NULL,
  at_ns   INTEGER NOT NULL,
  mapped  INTEGER NOT NULL        -- 1 mapped, 0 taken out
);

-- Blocks that were given back while another stream used them: when they could be handed out again.
CREATE TABLE idle(
  allocation INTEGER PRIMARY KEY, -- allocation.seq
  seq        INTEGER NOT NULL,    -- it happened at or before this event
  at_ns      INTEGER NOT NULL
);

-- How a process was set up, where that bears on its memory. schema/README.md lists the keys.
CREATE TABLE setting(
  process INTEGER NOT NULL,
  device  INTEGER,                -- device.id; NULL = of the whole process
  key     TEXT NOT NULL,
  value   TEXT NOT NULL
);

CREATE TABLE mark(
  seq     INTEGER PRIMARY KEY,
  process INTEGER NOT NULL,
  thread  INTEGER NOT NULL,
  at_ns   INTEGER NOT NULL,
  name    TEXT NOT NULL,
  value   INTEGER NOT NULL,       -- in the domain 'rehearsal' the site
  domain  TEXT                    -- of a library that names its own by NVTX; NULL = the program's;
                                  -- 'rehearsal': a value that was not computed, and was read
);

-- An allocation that failed.
CREATE TABLE oom(
  seq       INTEGER PRIMARY KEY,
  process   INTEGER NOT NULL,
  device    INTEGER,
  thread    INTEGER NOT NULL,
  at_ns     INTEGER NOT NULL,
  asked     INTEGER NOT NULL,     -- bytes
  allocated INTEGER,              -- bytes at that moment
  reserved  INTEGER,
  site      INTEGER
);

-- Values read from outside now and then.
CREATE TABLE sample(
  at_ns   INTEGER NOT NULL,
  process INTEGER,
  device  INTEGER,
  what    TEXT NOT NULL,          -- 'device used', ...
  value   INTEGER NOT NULL        -- bytes
);

-- What the driver itself gave to a process. Blocks of a framework lie inside of such memory, and so do
-- segments: their bytes are counted there, not once more. Failed calls are not here, nor memory that
-- was there before the source began to look.
CREATE TABLE driver_memory(
  seq       INTEGER PRIMARY KEY,  -- of the event that told it
  process   INTEGER NOT NULL,     -- process.id
  device    INTEGER,              -- device.id; NULL = the host's memory
  kind      TEXT NOT NULL,        -- 'device'; 'managed': of both sides, where it lies is not known;
                                  -- 'array'; 'physical': seen where it is mapped; 'pool': stream-ordered,
                                  -- 'async': a part of one; 'graph': of a node of a graph; 'imported':
                                  -- another process's; 'host': pinned; 'registered': pinned later
  address   INTEGER NOT NULL,     -- of kinds array, physical, pool, imported: a handle
  size      INTEGER NOT NULL,     -- bytes; of a pool 0: the samples 'pool reserved' have its size
  call      INTEGER,              -- string.id: the outermost call of CUDA's that led to it
  library   INTEGER,              -- string.id: the file of the library that called
  stream    INTEGER,              -- of kind async
  alloc_ns  INTEGER NOT NULL,
  life_ns   INTEGER,              -- completed
  free_seq  INTEGER,              -- completed; of kind physical: released and mapped nowhere
  site      INTEGER,              -- site.site
  heap      INTEGER,              -- completed: heap.id of the allocator whose memory it is; NULL = of none
  blocks    INTEGER NOT NULL      -- completed: blocks of a framework that ever lay in it; while it is
                                  -- there, 1 stands for any number
);

-- Where physical memory is seen, and where it is not any more.
CREATE TABLE driver_mapping(
  seq     INTEGER NOT NULL,       -- of the event that told it
  process INTEGER NOT NULL,
  device  INTEGER,                -- device.id; NULL = the host's memory
  address INTEGER NOT NULL,
  size    INTEGER NOT NULL,
  memory  INTEGER,                -- driver_memory.seq; NULL = not known, or taken out
  at_ns   INTEGER NOT NULL,
  mapped  INTEGER NOT NULL        -- 1 mapped, 0 taken out
);

-- While a source saw nothing.
CREATE TABLE gap(
  first_seq INTEGER PRIMARY KEY,  -- of the event that said so
  process   INTEGER NOT NULL,
  source    TEXT NOT NULL,
  last_seq  INTEGER,              -- completed; NULL = to the end of the process
  begin_ns  INTEGER NOT NULL,
  end_ns    INTEGER,              -- completed
  why       TEXT
);

-- What a device did, told some time later.
CREATE TABLE activity(
  seq      INTEGER PRIMARY KEY,   -- of the event that told it
  process  INTEGER NOT NULL,
  device   INTEGER NOT NULL,
  stream   INTEGER NOT NULL,
  kind     INTEGER NOT NULL,      -- 1 kernel, 2 copy, 3 set, 4 graph
  name     INTEGER,               -- string.id
  begin_ns INTEGER,               -- NULL = the device had no time for it
  end_ns   INTEGER,
  bytes    INTEGER                -- that were copied or set
);

-- The same instant on three clocks.
CREATE TABLE clock(
  run_ns       INTEGER NOT NULL,  -- as every *_ns here
  monotonic_ns INTEGER NOT NULL,  -- CLOCK_MONOTONIC
  real_ns      INTEGER NOT NULL,  -- CLOCK_REALTIME: since 1970, UTC
  boot_ns      INTEGER NOT NULL   -- CLOCK_BOOTTIME: suspend included
);

-- Our own cost.
CREATE TABLE overhead(
  process INTEGER,                -- NULL = the recorder
  what    TEXT NOT NULL,
  value   INTEGER NOT NULL,
  unit    TEXT NOT NULL           -- 'ns', 'bytes', 'count'
);

-- Events that did not fit: they happened after first_seq and before last_seq.
CREATE TABLE lost(
  process   INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,     -- the last event before the loss, 0 = none
  last_seq  INTEGER NOT NULL,     -- the recorder had reached this one when it counted them
  first_ns  INTEGER NOT NULL,
  last_ns   INTEGER NOT NULL,
  kind      TEXT NOT NULL,        -- of the events: 'block_alloc', ..., 'late'
  n         INTEGER NOT NULL
);

-- Events that were begun and never finished: their producer was killed, or stood still for a second.
CREATE TABLE torn(
  process INTEGER NOT NULL,
  seq     INTEGER NOT NULL,       -- the next event's
  ticket  INTEGER NOT NULL,       -- the event's number in its process
  at_ns   INTEGER NOT NULL,
  why     TEXT NOT NULL           -- 'dead' or 'timeout'
);

-- What was dropped on purpose, to keep the file small.
CREATE TABLE thinned(
  process   INTEGER,
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  what      TEXT NOT NULL,
  n         INTEGER NOT NULL
);

-- The blocks that were thinned, in sums.
CREATE TABLE site_sum(
  heap      INTEGER NOT NULL,
  site      INTEGER NOT NULL,     -- site.site, -1 = not known
  blocks    INTEGER NOT NULL,
  bytes     INTEGER NOT NULL,     -- of all of them together
  largest   INTEGER NOT NULL,     -- bytes
  first_seq INTEGER NOT NULL,     -- of their births
  last_seq  INTEGER NOT NULL,
  PRIMARY KEY(heap, site)
) WITHOUT ROWID;

-- The phases that were thinned, in sums.
CREATE TABLE phase_sum(
  process        INTEGER NOT NULL,
  device         INTEGER NOT NULL,
  kind           TEXT NOT NULL,
  name           TEXT NOT NULL,
  phases         INTEGER NOT NULL, -- how many
  ns             INTEGER NOT NULL, -- how long, all together
  allocs         INTEGER NOT NULL,
  frees          INTEGER NOT NULL,
  alloc_bytes    INTEGER NOT NULL,
  peak_allocated INTEGER NOT NULL, -- highest inside any of them
  first_seq      INTEGER NOT NULL,
  last_seq       INTEGER NOT NULL,
  PRIMARY KEY(process, device, kind, name)
) WITHOUT ROWID;

-- What cannot be right, and was kept all the same.
CREATE TABLE anomaly(
  seq     INTEGER NOT NULL,
  process INTEGER NOT NULL,
  at_ns   INTEGER NOT NULL,
  kind    TEXT NOT NULL,          -- 'free without allocation', 'address allocated twice',
                                  -- 'phase end without begin', 'phase left open', 'unknown name', ...
  address INTEGER,
  detail  TEXT
);

-- Modules of a framework, one row for each place in a model and class that stood there.
CREATE TABLE module(
  id    INTEGER PRIMARY KEY,
  path  TEXT NOT NULL,            -- 'model.layers.3.mlp'; '' = the outermost one
  class TEXT NOT NULL
);
