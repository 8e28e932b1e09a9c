-- The schema of version 3, as its files have it. Fixtures are made of it to see that reports on
-- a recording of that version say what they say on one of today's.
PRAGMA application_id = 1414087749;
PRAGMA user_version = 3;
CREATE TABLE meta(
  key   TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;
CREATE TABLE process(
  id         INTEGER PRIMARY KEY,
  pid        INTEGER NOT NULL,
  parent     INTEGER,
  origin     TEXT NOT NULL,
  start_ns   INTEGER NOT NULL,
  end_ns     INTEGER,
  rank       INTEGER,
  local_rank INTEGER,
  world_size INTEGER,
  host       TEXT,
  argv       TEXT,
  live       TEXT,
  why_not    TEXT,
  ended      TEXT,
  exit_code  INTEGER,
  signal     INTEGER,
  first_seq  INTEGER,
  last_seq   INTEGER,
  events     INTEGER
);
CREATE TABLE device(
  id          INTEGER PRIMARY KEY,
  kind        TEXT NOT NULL,
  ordinal     INTEGER NOT NULL,
  name        TEXT,
  total_bytes INTEGER
);
CREATE TABLE heap(
  id      INTEGER PRIMARY KEY,
  process INTEGER NOT NULL,
  device  INTEGER NOT NULL,
  stream  INTEGER NOT NULL,
  pool    INTEGER NOT NULL,
  name    TEXT
);
CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE frame(
  id       INTEGER PRIMARY KEY,
  function INTEGER,
  file     INTEGER,
  line     INTEGER
);
CREATE TABLE site(
  site  INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  frame INTEGER NOT NULL,
  PRIMARY KEY(site, depth)
) WITHOUT ROWID;
CREATE TABLE tag(
  id       INTEGER PRIMARY KEY,
  category INTEGER NOT NULL,
  name     TEXT
);
CREATE TABLE phase(
  id        INTEGER PRIMARY KEY,
  process   INTEGER NOT NULL,
  thread    INTEGER,
  parent    INTEGER,
  ordinal   INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  name      TEXT NOT NULL,
  step      INTEGER,
  begin_seq INTEGER NOT NULL,
  end_seq   INTEGER,
  begin_ns  INTEGER NOT NULL,
  end_ns    INTEGER,
  scope     TEXT NOT NULL,
  ended     TEXT,
  domain    TEXT
);
CREATE TABLE phase_device(
  phase             INTEGER NOT NULL,
  device            INTEGER NOT NULL,
  begin_allocated   INTEGER NOT NULL,
  allocated         INTEGER NOT NULL,
  requested         INTEGER,
  active            INTEGER,
  reserved          INTEGER,
  inactive_split    INTEGER,
  max_allocated     INTEGER NOT NULL,
  max_allocated_seq INTEGER,
  max_reserved      INTEGER,
  peak_allocated    INTEGER NOT NULL,
  peak_seq          INTEGER,
  peak_ns           INTEGER,
  peak_reserved     INTEGER,
  allocs            INTEGER NOT NULL,
  frees             INTEGER NOT NULL,
  alloc_bytes       INTEGER NOT NULL,
  PRIMARY KEY(phase, device)
) WITHOUT ROWID;
CREATE TABLE stretch(
  process   INTEGER NOT NULL,
  begin_seq INTEGER NOT NULL,
  phase     INTEGER NOT NULL,
  PRIMARY KEY(process, begin_seq)
) WITHOUT ROWID;
CREATE TABLE allocation(
  seq       INTEGER PRIMARY KEY,
  heap      INTEGER NOT NULL,
  address   INTEGER NOT NULL,
  size      INTEGER NOT NULL,
  requested INTEGER,
  alloc_ns  INTEGER NOT NULL,
  life_ns   INTEGER NOT NULL,
  free_seq  INTEGER NOT NULL,
  site      INTEGER,
  tag       INTEGER,
  segment   INTEGER
);
CREATE TABLE allocation_phase(
  allocation INTEGER PRIMARY KEY,
  phase      INTEGER NOT NULL
);
CREATE TABLE segment(
  seq      INTEGER PRIMARY KEY,
  heap     INTEGER NOT NULL,
  address  INTEGER NOT NULL,
  size     INTEGER NOT NULL,
  alloc_ns INTEGER NOT NULL,
  life_ns  INTEGER,
  free_seq INTEGER,
  site     INTEGER
);
CREATE TABLE mapping(
  seq     INTEGER NOT NULL,
  heap    INTEGER NOT NULL,
  address INTEGER NOT NULL,
  size    INTEGER NOT NULL,
  at_ns   INTEGER NOT NULL,
  mapped  INTEGER NOT NULL
);
CREATE TABLE idle(
  allocation INTEGER PRIMARY KEY,
  seq        INTEGER NOT NULL,
  at_ns      INTEGER NOT NULL
);
CREATE TABLE setting(
  process INTEGER NOT NULL,
  device  INTEGER,
  key     TEXT NOT NULL,
  value   TEXT NOT NULL
);
CREATE TABLE mark(
  seq     INTEGER PRIMARY KEY,
  process INTEGER NOT NULL,
  thread  INTEGER NOT NULL,
  at_ns   INTEGER NOT NULL,
  name    TEXT NOT NULL,
  value   INTEGER NOT NULL,
  domain  TEXT
);
CREATE TABLE oom(
  seq       INTEGER PRIMARY KEY,
  process   INTEGER NOT NULL,
  device    INTEGER,
  thread    INTEGER NOT NULL,
  at_ns     INTEGER NOT NULL,
  asked     INTEGER NOT NULL,
  allocated INTEGER,
  reserved  INTEGER,
  site      INTEGER
);
CREATE TABLE sample(
  at_ns   INTEGER NOT NULL,
  process INTEGER,
  device  INTEGER,
  what    TEXT NOT NULL,
  value   INTEGER NOT NULL
);
CREATE TABLE driver_memory(
  seq       INTEGER PRIMARY KEY,
  process   INTEGER NOT NULL,
  device    INTEGER,
  kind      TEXT NOT NULL,
  address   INTEGER NOT NULL,
  size      INTEGER NOT NULL,
  call      INTEGER,
  library   INTEGER,
  stream    INTEGER,
  alloc_ns  INTEGER NOT NULL,
  life_ns   INTEGER,
  free_seq  INTEGER,
  site      INTEGER,
  heap      INTEGER,
  blocks    INTEGER NOT NULL
);
CREATE TABLE driver_mapping(
  seq     INTEGER NOT NULL,
  process INTEGER NOT NULL,
  device  INTEGER,
  address INTEGER NOT NULL,
  size    INTEGER NOT NULL,
  memory  INTEGER,
  at_ns   INTEGER NOT NULL,
  mapped  INTEGER NOT NULL
);
CREATE TABLE gap(
  first_seq INTEGER PRIMARY KEY,
  process   INTEGER NOT NULL,
  source    TEXT NOT NULL,
  last_seq  INTEGER,
  begin_ns  INTEGER NOT NULL,
  end_ns    INTEGER,
  why       TEXT
);
CREATE TABLE activity(
  seq      INTEGER PRIMARY KEY,
  process  INTEGER NOT NULL,
  device   INTEGER NOT NULL,
  stream   INTEGER NOT NULL,
  kind     INTEGER NOT NULL,
  name     INTEGER,
  begin_ns INTEGER,
  end_ns   INTEGER,
  bytes    INTEGER
);
CREATE TABLE clock(
  run_ns       INTEGER NOT NULL,
  monotonic_ns INTEGER NOT NULL,
  real_ns      INTEGER NOT NULL,
  boot_ns      INTEGER NOT NULL
);
CREATE TABLE overhead(
  process INTEGER,
  what    TEXT NOT NULL,
  value   INTEGER NOT NULL,
  unit    TEXT NOT NULL
);
CREATE TABLE lost(
  process   INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  first_ns  INTEGER NOT NULL,
  last_ns   INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  n         INTEGER NOT NULL
);
CREATE TABLE torn(
  process INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  ticket  INTEGER NOT NULL,
  at_ns   INTEGER NOT NULL,
  why     TEXT NOT NULL
);
CREATE TABLE thinned(
  process   INTEGER,
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  what      TEXT NOT NULL,
  n         INTEGER NOT NULL
);
CREATE TABLE site_sum(
  heap      INTEGER NOT NULL,
  site      INTEGER NOT NULL,
  blocks    INTEGER NOT NULL,
  bytes     INTEGER NOT NULL,
  largest   INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  PRIMARY KEY(heap, site)
) WITHOUT ROWID;
CREATE TABLE phase_sum(
  process        INTEGER NOT NULL,
  device         INTEGER NOT NULL,
  kind           TEXT NOT NULL,
  name           TEXT NOT NULL,
  phases         INTEGER NOT NULL,
  ns             INTEGER NOT NULL,
  allocs         INTEGER NOT NULL,
  frees          INTEGER NOT NULL,
  alloc_bytes    INTEGER NOT NULL,
  peak_allocated INTEGER NOT NULL,
  first_seq      INTEGER NOT NULL,
  last_seq       INTEGER NOT NULL,
  PRIMARY KEY(process, device, kind, name)
) WITHOUT ROWID;
CREATE TABLE anomaly(
  seq     INTEGER NOT NULL,
  process INTEGER NOT NULL,
  at_ns   INTEGER NOT NULL,
  kind    TEXT NOT NULL,
  address INTEGER,
  detail  TEXT
);
CREATE TABLE keyframe(
  seq        INTEGER NOT NULL,
  allocation INTEGER NOT NULL,
  PRIMARY KEY(seq, allocation)
) WITHOUT ROWID;
CREATE TABLE curve(
  heap     INTEGER NOT NULL,
  quantity TEXT NOT NULL,
  level    INTEGER NOT NULL,
  bucket   INTEGER NOT NULL,
  first    INTEGER NOT NULL,
  min      INTEGER NOT NULL,
  max      INTEGER NOT NULL,
  last     INTEGER NOT NULL,
  PRIMARY KEY(heap, quantity, level, bucket)
) WITHOUT ROWID;
CREATE INDEX phase_of_process ON phase(process);
CREATE INDEX heap_of_process ON heap(process);
CREATE INDEX segment_of_heap ON segment(heap);
CREATE INDEX mapping_of_heap ON mapping(heap);
CREATE INDEX driver_memory_of_process ON driver_memory(process);
CREATE INDEX sample_of_process ON sample(process);
CREATE INDEX setting_of_process ON setting(process);
CREATE INDEX thinned_of_process ON thinned(process);
CREATE VIEW device_text(id, device) AS
SELECT id, CASE WHEN kind = 'cpu' OR ordinal < 0 THEN kind ELSE kind || ':' || ordinal END
  FROM device;
CREATE VIEW frame_text(id, text) AS
SELECT f.id,
       coalesce(fn.text, '?') ||
       CASE WHEN fi.text IS NULL THEN ''
            WHEN f.line IS NULL THEN ' (' || fi.text || ')'
            ELSE ' (' || fi.text || ':' || f.line || ')' END
  FROM frame f
  LEFT JOIN string fn ON fn.id = f.function
  LEFT JOIN string fi ON fi.id = f.file;
CREATE VIEW stack(site, depth, frame) AS
SELECT s.site, s.depth, t.text
  FROM site s
  JOIN frame_text t ON t.id = s.frame;
CREATE VIEW site_text(site, text) AS
SELECT s.site, t.text
  FROM site s
  JOIN frame_text t ON t.id = s.frame
 WHERE s.depth = 0;
CREATE VIEW frame_short(id, text, library) AS
SELECT id,
       function ||
       CASE WHEN file IS NULL THEN ''
            ELSE ' (' || substr(file, length(rtrim(file, replace(file, '/', ''))) + 1) ||
                 coalesce(':' || line, '') || ')' END,
       coalesce('/' || file GLOB '*/site-packages/*' OR '/' || file GLOB '*/dist-packages/*' OR
                '/' || file GLOB '*/lib*/python3/*' OR '/' || file GLOB '*/lib*/python3.[0-9]*/*' OR
                file GLOB '<frozen *', function = 'autograd' OR function GLOB '[[]thread *]')
  FROM (SELECT f.id AS id, coalesce(fn.text, '?') AS function, fi.text AS file, f.line AS line
          FROM frame f
          LEFT JOIN string fn ON fn.id = f.function
          LEFT JOIN string fi ON fi.id = f.file);
CREATE VIEW site_short(site, text, own_depth) AS
SELECT site,
       CASE WHEN own_depth > 0
            THEN (SELECT o.text FROM site s JOIN frame_short o ON o.id = s.frame
                   WHERE s.site = innermost.site AND s.depth = own_depth) || ' > '
            ELSE '' END || text,
       own_depth
  FROM (SELECT s.site AS site, t.text AS text,
               (SELECT min(o.depth) FROM site o JOIN frame_short f ON f.id = o.frame
                 WHERE o.site = s.site AND NOT f.library) AS own_depth
          FROM site s
          JOIN frame_short t ON t.id = s.frame
         WHERE s.depth = 0) AS innermost;
CREATE VIEW tag_text(id, category, name) AS
SELECT id,
       CASE category WHEN 1 THEN 'parameter' WHEN 2 THEN 'gradient' WHEN 3 THEN 'optimizer state'
                     WHEN 4 THEN 'activation' WHEN 5 THEN 'input' WHEN 6 THEN 'bucket'
                     WHEN 7 THEN 'workspace' ELSE 'other' END,
       name
  FROM tag;
CREATE VIEW phase_table(process, device, step, phase, allocated, max_allocated, reserved,
                        max_reserved, fragmentation, phase_peak, begin_ns, end_ns,
                        kind, ordinal, phase_id, begin_allocated, requested, active,
                        inactive_split, peak_ns, allocs, frees, alloc_bytes, ended, domain) AS
SELECT ph.process, d.device, ph.step, ph.name, pd.allocated, pd.max_allocated, pd.reserved,
       pd.max_reserved, pd.inactive_split * 1.0 / nullif(pd.reserved, 0), pd.peak_allocated,
       ph.begin_ns, ph.end_ns,
       ph.kind, ph.ordinal, ph.id, pd.begin_allocated, pd.requested, pd.active,
       pd.inactive_split, pd.peak_ns, pd.allocs, pd.frees, pd.alloc_bytes, ph.ended, ph.domain
  FROM phase ph
  JOIN phase_device pd ON pd.phase = ph.id
  JOIN device_text d ON d.id = pd.device
 ORDER BY ph.begin_seq, ph.id, pd.device;
CREATE VIEW phase_total(process, device, kind, phase, phases, ns, allocs, frees, alloc_bytes,
                        phase_peak) AS
SELECT u.process, d.device, u.kind, u.name, sum(u.phases), sum(u.ns), sum(u.allocs), sum(u.frees),
       sum(u.alloc_bytes), max(u.peak_allocated)
  FROM (SELECT ph.process AS process, pd.device AS device, ph.kind AS kind, ph.name AS name,
               1 AS phases, ph.end_ns - ph.begin_ns AS ns, pd.allocs AS allocs,
               pd.frees AS frees, pd.alloc_bytes AS alloc_bytes,
               pd.peak_allocated AS peak_allocated
          FROM phase ph
          JOIN phase_device pd ON pd.phase = ph.id
        UNION ALL
        SELECT process, device, kind, name, phases, ns, allocs, frees, alloc_bytes,
               peak_allocated
          FROM phase_sum) AS u
  JOIN device_text d ON d.id = u.device
 GROUP BY u.process, u.device, u.kind, u.name
 ORDER BY u.process, u.device, sum(u.ns) DESC;
CREATE VIEW phase_role(id, role) AS
WITH RECURSIVE below(id, role) AS (
    SELECT id, kind FROM phase WHERE parent IS NULL
    UNION ALL
    SELECT ph.id, CASE WHEN ph.kind = 'user' THEN below.role ELSE ph.kind END
      FROM below
      JOIN phase ph ON ph.parent = below.id)
SELECT id, role FROM below;
CREATE VIEW step_bounds(process, step, begin_seq, end_seq, backward_end_seq, cut_seq) AS
SELECT process, step, min(begin_seq),
       CASE WHEN count(*) = count(end_seq) THEN max(end_seq) END,
       CASE WHEN sum(kind = 'backward' AND (end_seq IS NULL OR cut)) = 0
            THEN max(CASE WHEN kind = 'backward' THEN end_seq END) END,
       max(CASE WHEN kind <> 'other' AND cut THEN end_seq END)
  FROM (SELECT process, step, kind, begin_seq, end_seq,
               coalesce(ended IN ('exception', 'process end'), 0) AS cut
          FROM phase)
 WHERE step IS NOT NULL
 GROUP BY process, step;
CREATE VIEW run_bounds(process, first_seq, last_seq, first_step, last_step, optimizer_step) AS
SELECT process, min(begin_seq),
       CASE WHEN count(*) = count(end_seq) THEN max(end_seq) END,
       min(step), max(step), min(CASE WHEN kind = 'optimizer' THEN step END)
  FROM phase
 WHERE step IS NOT NULL
 GROUP BY process;
CREATE VIEW allocations(process, device, allocation, size, requested, step, phase, freed_step,
                        freed_phase, site, tag, alloc_ns, life_ns, free_ns, free_seq, address,
                        stream, pool, heap, segment, site_id, tag_id, phase_id, freed_phase_id) AS
SELECT h.process, d.device, a.seq, a.size, a.requested, born.step, born.name, freed.step,
       freed.name, (SELECT s.text FROM site_text s WHERE s.site = a.site), t.name, a.alloc_ns,
       CASE WHEN a.free_seq >= 0 THEN a.life_ns END,
       CASE WHEN a.free_seq >= 0 THEN a.alloc_ns + a.life_ns END,
       CASE WHEN a.free_seq >= 0 THEN a.free_seq END,
       a.address, h.stream, h.pool, a.heap, a.segment, a.site, a.tag, born.id, freed.id
  FROM allocation a
  JOIN heap h ON h.id = a.heap
  JOIN device_text d ON d.id = h.device
  LEFT JOIN phase born ON born.id = coalesce(
       (SELECT ap.phase FROM allocation_phase ap WHERE ap.allocation = a.seq),
       (SELECT st.phase FROM stretch st WHERE st.process = h.process AND st.begin_seq <= a.seq
         ORDER BY st.begin_seq DESC LIMIT 1))
  LEFT JOIN phase freed ON freed.id =
       (SELECT st.phase FROM stretch st WHERE st.process = h.process AND st.begin_seq <= a.free_seq
         ORDER BY st.begin_seq DESC LIMIT 1)
  LEFT JOIN tag t ON t.id = a.tag;
CREATE VIEW library_size(process, bytes) AS
SELECT process, CAST(value AS INTEGER) FROM setting WHERE key = 'cublas_workspace'
UNION
SELECT p.id, w.bytes
  FROM process p
 CROSS JOIN (SELECT 8519680 AS bytes UNION ALL SELECT 33554432) w
 WHERE NOT EXISTS (SELECT 1 FROM setting s WHERE s.process = p.id AND s.key = 'cublas_workspace');
CREATE VIEW library_proof(allocation, proof, odd, multiplies, tagged) AS
SELECT a.seq,
       CASE WHEN EXISTS (SELECT 1 FROM site s JOIN frame f ON f.id = s.frame
                           JOIN string n ON n.id = f.function
                          WHERE s.site = a.site
                            AND (n.text LIKE '%cuda::getNewWorkspace%'
                                 OR n.text LIKE '%cuda::getCurrentCUDABlas%'
                                 OR n.text LIKE '%cuda::getCUDABlasLtWorkspace%'))
            THEN 'frame'
            WHEN EXISTS (SELECT 1 FROM library_size w
                          WHERE w.process = h.process AND w.bytes >= 1048576
                            AND coalesce(a.requested, a.size) - w.bytes
                                BETWEEN 0 AND (a.requested IS NULL) * 1048576)
            THEN 'size' END,
       EXISTS (SELECT 1 FROM library_size w
                WHERE w.process = h.process AND w.bytes >= 1048576 AND w.bytes % 1048576 <> 0
                  AND coalesce(a.requested, a.size) - w.bytes
                      BETWEEN 0 AND (a.requested IS NULL) * 1048576),
       EXISTS (SELECT 1 FROM site s JOIN frame f ON f.id = s.frame
                 JOIN string n ON n.id = f.function LEFT JOIN string l ON l.id = f.file
                WHERE s.site = a.site AND s.depth = 0
                  AND (n.text IN ('linear', 'matmul', 'mm', 'bmm', 'addmm', 'baddbmm', 'einsum',
                                  'multi_head_attention_forward')
                       OR (n.text LIKE '%forward' AND l.text LIKE '%nn/modules/linear.py'))),
       EXISTS (SELECT 1 FROM tag WHERE category <= 3)
  FROM allocation a
  JOIN heap h ON h.id = a.heap
  JOIN device d ON d.id = h.device
 WHERE d.kind = 'cuda';
CREATE VIEW parameter_size(process, bytes, seq, copied) AS
SELECT process, bytes, seq, sum(min(parameters, untagged)) OVER whole * 2 > sum(parameters) OVER whole
  FROM (SELECT r.process AS process, a.size AS bytes, count(t.id) AS parameters,
               sum(a.tag IS NULL) AS untagged, min(CASE WHEN t.id IS NOT NULL THEN a.seq END) AS seq
          FROM run_bounds r
         CROSS JOIN allocation a
         CROSS JOIN heap h ON h.id = a.heap AND h.process = r.process
          LEFT JOIN tag t ON t.id = a.tag AND t.category = 1
         WHERE a.seq < r.first_seq
           AND a.seq >= coalesce((SELECT p.first_seq FROM process p WHERE p.id = r.process), 0)
           AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
         GROUP BY r.process, a.size)
 WHERE parameters > 0
WINDOW whole AS (PARTITION BY process);
CREATE VIEW allocation_category(allocation, category, rule) AS
SELECT seq,
       CASE WHEN tagged IS NOT NULL THEN tagged
            WHEN verdict LIKE 'parameter:%' THEN 'parameter'
            WHEN verdict LIKE 'copy:%' THEN 'copy of parameters (EMA or frozen)'
            WHEN verdict LIKE 'workspace:%' THEN 'workspace'
            WHEN verdict LIKE 'library workspace:%' THEN 'library workspace'
            WHEN verdict LIKE 'gradient:%' THEN 'gradient'
            WHEN verdict LIKE 'optimizer state:%' THEN 'optimizer state'
            WHEN verdict LIKE 'held:%' THEN 'activation, held by the program'
            WHEN verdict LIKE 'activation:%' THEN 'activation'
            ELSE 'other' END,
       CASE WHEN tagged IS NOT NULL THEN 'tag' ELSE substr(verdict, instr(verdict, ':') + 2) END
  FROM (
SELECT a.seq AS seq,
       CASE WHEN t.category = 'input' AND role.role IN ('forward', 'loss', 'backward', 'recompute')
            THEN NULL ELSE t.category END AS tagged,
       CASE
       WHEN a.tag IS NULL AND a.size >= 1048576 AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND (SELECT w.proof FROM library_proof w WHERE w.allocation = a.seq) = 'frame'
       THEN 'library workspace: allocated inside cuBLAS'' wrapper, kept'
       WHEN a.tag IS NULL AND a.size >= 1048576 AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND (SELECT w.multiplies AND (w.odd OR coalesce(r.last_step > r.first_step
                        AND (a.seq < r.first_seq OR born.step = r.first_step), 0))
                   FROM library_proof w WHERE w.allocation = a.seq AND w.proof = 'size')
       THEN 'library workspace: as large as cuBLAS'' workspace, allocated in a matrix'
            || ' multiplication, kept'
       WHEN a.tag IS NULL AND a.size >= 1048576 AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND (SELECT w.tagged AND (w.odd OR coalesce(r.last_step > r.first_step
                        AND (a.seq < r.first_seq OR born.step = r.first_step)
                        AND role.role = 'backward' AND a.site IS NULL, 0))
                   FROM library_proof w WHERE w.allocation = a.seq AND w.proof = 'size')
       THEN 'library workspace: as large as cuBLAS'' workspace, without a tag, kept'
       WHEN r.process IS NULL
       THEN 'other: no step was seen'
       WHEN a.seq < r.first_seq AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND a.tag IS NULL AND alike.copied AND a.seq > alike.seq
       THEN 'copy: as large as a parameter, made after it and before the first step, alive to the end'
       WHEN a.seq < r.first_seq AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND tagging.process IS NOT NULL
       THEN 'other: alive before the first step and to the end, but not tagged as a parameter'
       WHEN a.seq < r.first_seq AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
       THEN 'parameter: alive before the first step and to the end'
       WHEN a.seq < r.first_seq
       THEN 'other: born before the first step, freed before the end'
       WHEN born.id = freed.id
       THEN 'workspace: born and freed inside one phase'
       WHEN role.role = 'backward' AND a.free_seq >= 0 AND freed.kind = 'zero_grad'
       THEN 'gradient: born in backward, freed by zero_grad'
       WHEN role.role = 'backward' AND b.backward_end_seq IS NULL AND a.seq <= b.cut_seq
            AND (a.free_seq < 0 OR a.free_seq > b.cut_seq)
       THEN 'other: born in backward, alive when the step was cut short'
       WHEN role.role = 'backward' AND b.end_seq IS NULL AND a.free_seq < 0
       THEN 'other: born in backward, alive when the recording ended inside the step'
       WHEN role.role = 'backward' AND (a.free_seq < 0 OR a.free_seq > b.end_seq)
       THEN 'gradient: born in backward, alive at the end of the step'
       WHEN role.role = 'optimizer' AND born.step = r.optimizer_step
            AND (a.free_seq < 0 OR a.free_seq > b.end_seq)
       THEN 'optimizer state: born in the first optimizer phase, alive on'
       WHEN role.role IN ('forward', 'loss', 'recompute')
            AND freed_role.role IN ('backward', 'recompute')
       THEN 'activation: born in ' || role.role || ', freed in ' || freed_role.role
       WHEN role.role IN ('forward', 'loss', 'recompute') AND b.backward_end_seq IS NULL
            AND a.seq <= b.cut_seq AND (a.free_seq < 0 OR a.free_seq > b.cut_seq)
       THEN 'activation: born in ' || role.role || ', alive when the step was cut short'
       WHEN role.role IN ('forward', 'loss', 'recompute') AND a.free_seq < 0
            AND b.backward_end_seq IS NULL AND born.step = r.last_step
       THEN 'activation: born in ' || role.role || ', alive when the recording ended'
       WHEN role.role IN ('forward', 'loss', 'recompute') AND a.seq < b.backward_end_seq
            AND (a.free_seq < 0 OR a.free_seq > b.backward_end_seq)
       THEN 'held: born in ' || role.role || ', alive after backward'
       ELSE 'other: born in ' || coalesce(role.role, 'no phase') || ', ' ||
            CASE WHEN a.free_seq < 0 THEN 'alive at the end'
                 ELSE 'freed in ' || coalesce(freed_role.role, 'no phase') END
       END AS verdict
  FROM allocation a
  JOIN heap h ON h.id = a.heap
  LEFT JOIN phase born ON born.id = coalesce(
       (SELECT ap.phase FROM allocation_phase ap WHERE ap.allocation = a.seq),
       (SELECT st.phase FROM stretch st WHERE st.process = h.process AND st.begin_seq <= a.seq
         ORDER BY st.begin_seq DESC LIMIT 1))
  LEFT JOIN phase freed ON freed.id =
       (SELECT st.phase FROM stretch st WHERE st.process = h.process AND st.begin_seq <= a.free_seq
         ORDER BY st.begin_seq DESC LIMIT 1)
  LEFT JOIN phase_role role ON role.id = born.id
  LEFT JOIN phase_role freed_role ON freed_role.id = freed.id
  LEFT JOIN step_bounds b ON b.process = h.process AND b.step = born.step
  LEFT JOIN run_bounds r ON r.process = h.process
  LEFT JOIN (SELECT DISTINCT process FROM parameter_size) AS tagging ON tagging.process = h.process
  LEFT JOIN parameter_size alike ON alike.process = h.process AND alike.bytes = a.size
  LEFT JOIN tag_text t ON t.id = a.tag);
CREATE VIEW peak_instant(process, device, seq, at_ns, allocated, reserved, phase) AS
SELECT process, device, seq, at_ns, allocated, reserved,
       coalesce((SELECT ap.phase FROM allocation_phase ap WHERE ap.allocation = seq),
                (SELECT st.phase FROM stretch st WHERE st.process = highest.process
                    AND st.begin_seq <= seq
                  ORDER BY st.begin_seq DESC LIMIT 1),
                phase)
  FROM (SELECT ph.process AS process, pd.device AS device, ph.id AS phase,
               coalesce(pd.peak_seq, ph.begin_seq) AS seq,
               coalesce(pd.peak_ns, ph.begin_ns) AS at_ns,
               pd.peak_allocated AS allocated, pd.peak_reserved AS reserved,
               row_number() OVER (PARTITION BY ph.process, pd.device
                                  ORDER BY pd.peak_allocated DESC,
                                           coalesce(pd.peak_seq, ph.begin_seq),
                                           ph.begin_seq DESC, ph.id DESC) AS place
          FROM phase_device pd
          JOIN phase ph ON ph.id = pd.phase) AS highest
 WHERE place = 1;
CREATE VIEW peak(process, device, step, phase, at_ns, allocated, reserved, kind, seq, phase_id,
                 device_id) AS
SELECT p.process, d.device, ph.step, ph.name, p.at_ns, p.allocated, p.reserved, ph.kind, p.seq,
       p.phase, p.device
  FROM peak_instant p
  JOIN device_text d ON d.id = p.device
  LEFT JOIN phase ph ON ph.id = p.phase;
CREATE VIEW peak_block(process, device, allocation) AS
WITH at_peak(process, device, seq, frame) AS (
    SELECT process, device, seq,
           coalesce((SELECT max(k.seq) FROM keyframe k WHERE k.seq <= peak_instant.seq), -1)
      FROM peak_instant)
SELECT p.process, p.device, a.seq
  FROM at_peak p
 CROSS JOIN keyframe k ON k.seq = p.frame
 CROSS JOIN allocation a ON a.seq = k.allocation
 CROSS JOIN heap h ON h.id = a.heap
 WHERE (a.free_seq < 0 OR a.free_seq > p.seq) AND h.process = p.process AND h.device = p.device
UNION ALL
SELECT p.process, p.device, a.seq
  FROM at_peak p
 CROSS JOIN allocation a ON a.seq > p.frame AND a.seq <= p.seq
 CROSS JOIN heap h ON h.id = a.heap
 WHERE (a.free_seq < 0 OR a.free_seq > p.seq) AND h.process = p.process AND h.device = p.device;
CREATE VIEW live_at_peak(process, device, allocation, size, category, step, phase, site, rule,
                         requested, tag, freed_step, freed_phase, alloc_ns, life_ns, free_seq,
                         address, stream, pool, heap, segment, site_id, tag_id, phase_id,
                         freed_phase_id) AS
SELECT a.process, a.device, a.allocation, a.size, c.category, a.step, a.phase, a.site, c.rule,
       a.requested, a.tag, a.freed_step, a.freed_phase, a.alloc_ns, a.life_ns, a.free_seq,
       a.address, a.stream, a.pool, a.heap, a.segment, a.site_id, a.tag_id, a.phase_id,
       a.freed_phase_id
  FROM peak_block p
 CROSS JOIN allocations a ON a.allocation = p.allocation
 CROSS JOIN allocation_category c ON c.allocation = p.allocation;
CREATE VIEW peak_by_category(process, device, category, bytes, blocks, share) AS
SELECT l.process, l.device, l.category, sum(l.size), count(*), sum(l.size) * 1.0 / p.allocated
  FROM live_at_peak l
  JOIN peak p ON p.process = l.process AND p.device = l.device
 GROUP BY l.process, l.device, l.category
 ORDER BY l.process, l.device, sum(l.size) DESC;
CREATE VIEW peak_by_site(process, device, site, bytes, blocks, share, site_id, site_short) AS
SELECT l.process, l.device, l.site, sum(l.size), count(*), sum(l.size) * 1.0 / p.allocated,
       l.site_id, (SELECT s.text FROM site_short s WHERE s.site = l.site_id)
  FROM live_at_peak l
  JOIN peak p ON p.process = l.process AND p.device = l.device
 GROUP BY l.process, l.device, l.site_id
 ORDER BY l.process, l.device, sum(l.size) DESC;
CREATE VIEW site_total(process, device, site, blocks, bytes, largest, site_id) AS
SELECT h.process, d.device, (SELECT t.text FROM site_text t WHERE t.site = u.site), sum(u.blocks),
       sum(u.bytes), max(u.largest), u.site
  FROM (SELECT heap, site, count(*) AS blocks, sum(size) AS bytes, max(size) AS largest
          FROM allocation
         GROUP BY heap, site
        UNION ALL
        SELECT heap, CASE WHEN site >= 0 THEN site END, blocks, bytes, largest FROM site_sum) AS u
  JOIN heap h ON h.id = u.heap
  JOIN device_text d ON d.id = h.device
 GROUP BY h.process, h.device, u.site
 ORDER BY h.process, h.device, sum(u.bytes) DESC;
CREATE VIEW timeline(process, device, at_ns, allocated, reserved, from_ns, max_allocated,
                     max_reserved) AS
WITH finest(heap, quantity, level) AS (
    SELECT heap, quantity, min(level) FROM curve GROUP BY heap, quantity),
common(process, device, level) AS (
    SELECT h.process, h.device, max(f.level)
      FROM finest f JOIN heap h ON h.id = f.heap
     GROUP BY h.process, h.device),
began(heap, quantity, bucket, base) AS (
    SELECT c.heap, c.quantity, min(c.bucket), c.first
      FROM finest f
      JOIN curve c ON c.heap = f.heap AND c.quantity = f.quantity AND c.level = f.level
     GROUP BY c.heap, c.quantity),
per_heap(process, device, heap, quantity, level, bucket, change, highest) AS (
    SELECT h.process, h.device, c.heap, c.quantity, m.level, c.bucket >> (m.level - c.level),
           sum(c.last - c.first + CASE WHEN c.bucket = b.bucket THEN b.base ELSE 0 END), max(c.max)
      FROM finest f
      JOIN began b ON b.heap = f.heap AND b.quantity = f.quantity
      JOIN curve c ON c.heap = f.heap AND c.quantity = f.quantity AND c.level = f.level
      JOIN heap h ON h.id = c.heap
      JOIN common m ON m.process = h.process AND m.device = h.device
     GROUP BY c.heap, c.quantity, c.bucket >> (m.level - c.level)),
rises(process, device, quantity, level, bucket, change, rise) AS (
    SELECT process, device, quantity, level, bucket, change,
           highest - (sum(change) OVER (PARTITION BY heap, quantity ORDER BY bucket) - change)
      FROM per_heap),
per_device(process, device, level, bucket, allocated, reserved, allocated_rise, reserved_rise) AS (
    SELECT process, device, level, bucket,
           sum(CASE WHEN quantity = 'allocated' THEN change END),
           sum(CASE WHEN quantity = 'reserved' THEN change END),
           sum(CASE WHEN quantity = 'allocated' THEN rise END),
           sum(CASE WHEN quantity = 'reserved' THEN rise END)
      FROM rises
     GROUP BY process, device, level, bucket),
summed(process, device, level, bucket, allocated, reserved, allocated_before, reserved_before,
       allocated_rise, reserved_rise) AS (
    SELECT process, device, level, bucket,
           sum(allocated) OVER (PARTITION BY process, device ORDER BY bucket),
           sum(reserved) OVER (PARTITION BY process, device ORDER BY bucket),
           coalesce(sum(allocated) OVER (PARTITION BY process, device ORDER BY bucket
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0),
           coalesce(sum(reserved) OVER (PARTITION BY process, device ORDER BY bucket
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0),
           allocated_rise, reserved_rise
      FROM per_device)
SELECT s.process, d.device, (s.bucket + 1) << s.level, s.allocated, s.reserved,
       s.bucket << s.level,
       CASE WHEN s.allocated IS NOT NULL
            THEN s.allocated_before + coalesce(s.allocated_rise, 0) END,
       CASE WHEN s.reserved IS NOT NULL
            THEN s.reserved_before + coalesce(s.reserved_rise, 0) END
  FROM summed s
  JOIN device_text d ON d.id = s.device
 ORDER BY s.process, d.device, s.bucket;
CREATE VIEW fragmentation(process, device, step, phase, end_ns, allocated, active, reserved,
                          inactive_split, cached, fragmentation, phase_id) AS
SELECT process, device, step, phase, end_ns, allocated, active, reserved, inactive_split,
       reserved - active - inactive_split, fragmentation, phase_id
  FROM phase_table
 WHERE reserved IS NOT NULL;
CREATE VIEW allocation_survivor(allocation, last_step) AS
SELECT a.seq, r.last_step
  FROM allocation a
 CROSS JOIN heap h ON h.id = a.heap
 CROSS JOIN run_bounds r ON r.process = h.process
 WHERE (a.free_seq < 0 OR a.free_seq > r.last_seq) AND a.seq >= r.first_seq;
CREATE VIEW leak(process, device, site, steps, blocks, bytes, bytes_per_step, first_step, last_step,
                 site_id) AS
SELECT a.process, a.device, a.site, count(DISTINCT a.step), count(*), sum(a.size),
       sum(a.size) * 1.0 / count(DISTINCT a.step), min(a.step), max(a.step), a.site_id
  FROM allocation_survivor s
 CROSS JOIN allocations a ON a.allocation = s.allocation
 WHERE a.step <= s.last_step - 2
 GROUP BY a.process, a.device, a.site_id
HAVING count(DISTINCT a.step) > 1
 ORDER BY sum(a.size) DESC;
CREATE VIEW driver_allocations(process, device, memory, kind, size, library, call, outside, step,
                               phase, alloc_ns, life_ns, free_ns, free_seq, address, blocks, heap,
                               stream, site, site_id) AS
SELECT m.process, coalesce(d.device, 'host'), m.seq, m.kind, m.size,
       substr(l.text, length(rtrim(l.text, replace(l.text, '/', ''))) + 1), c.text, m.heap IS NULL,
       ph.step, ph.name, m.alloc_ns, m.life_ns, m.alloc_ns + m.life_ns, m.free_seq, m.address,
       m.blocks, m.heap, m.stream, (SELECT s.text FROM site_text s WHERE s.site = m.site), m.site
  FROM driver_memory m
  LEFT JOIN device_text d ON d.id = m.device
  LEFT JOIN string l ON l.id = m.library
  LEFT JOIN string c ON c.id = m.call
  LEFT JOIN phase ph ON ph.id =
       (SELECT st.phase FROM stretch st WHERE st.process = m.process AND st.begin_seq <= m.seq
         ORDER BY st.begin_seq DESC LIMIT 1);
CREATE VIEW outside_allocator(process, device, library, bytes, pieces, first_ns, device_id) AS
SELECT p.process, d.device, a.library, sum(a.size), count(*), min(a.alloc_ns), p.device
  FROM peak_instant p
  JOIN device_text d ON d.id = p.device
  JOIN driver_allocations a ON a.process = p.process AND a.device = d.device
 WHERE a.outside AND a.kind IN ('device', 'array', 'physical') AND a.memory <= p.seq
   AND (a.free_seq IS NULL OR a.free_seq > p.seq)
 GROUP BY p.process, p.device, a.library
 ORDER BY sum(a.size) DESC;
CREATE VIEW activities(process, device, kind, name, begin_ns, end_ns, bytes, stream, activity) AS
SELECT a.process, d.device,
       CASE a.kind WHEN 1 THEN 'kernel' WHEN 2 THEN 'copy' WHEN 3 THEN 'set' ELSE 'graph' END,
       n.text, a.begin_ns, a.end_ns, a.bytes, a.stream, a.seq
  FROM activity a
  JOIN device_text d ON d.id = a.device
  LEFT JOIN string n ON n.id = a.name;
