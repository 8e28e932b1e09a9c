-- The peak, memory over time and the driver's: what 100_views.sql's blocks add up to.

-- ---- the peak ----

-- For each process and device: the instant of its highest allocated bytes, the first if there are
-- many. A phase whose highest value is the one that it began with reached it at its begin.
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

-- The blocks that live at each peak: those of the last keyframe before it and those born since,
-- less what was freed meanwhile. Without a keyframe: all that were born before.
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
                         freed_phase_id, module, module_id) AS
SELECT a.process, a.device, a.allocation, a.size, c.category, a.step, a.phase, a.site, c.rule,
       a.requested, a.tag, a.freed_step, a.freed_phase, a.alloc_ns, a.life_ns, a.free_seq,
       a.address, a.stream, a.pool, a.heap, a.segment, a.site_id, a.tag_id, a.phase_id,
       a.freed_phase_id, a.module, a.module_id
  FROM peak_block p
 CROSS JOIN allocations a ON a.allocation = p.allocation
 CROSS JOIN allocation_category c ON c.allocation = p.allocation;

-- What each module has at the peak, without those inside it. module NULL: of none, or not known.
CREATE VIEW module_memory(process, device, module, class, parameters, gradients, optimizer_state,
                          activations, workspace, other, bytes, blocks, module_id) AS
SELECT l.process, l.device, l.module, m.class,
       sum(CASE WHEN l.category = 'parameter' THEN l.size ELSE 0 END),
       sum(CASE WHEN l.category = 'gradient' THEN l.size ELSE 0 END),
       sum(CASE WHEN l.category = 'optimizer state' THEN l.size ELSE 0 END),
       sum(CASE WHEN l.category IN ('activation', 'activation, held by the program')
                THEN l.size ELSE 0 END),
       sum(CASE WHEN l.category IN ('workspace', 'library workspace') THEN l.size ELSE 0 END),
       sum(CASE WHEN l.category IN ('parameter', 'gradient', 'optimizer state', 'activation',
                                    'activation, held by the program', 'workspace',
                                    'library workspace')
                THEN 0 ELSE l.size END),
       sum(l.size), count(*), l.module_id
  FROM live_at_peak l
  LEFT JOIN module m ON m.id = l.module_id
 GROUP BY l.process, l.device, l.module_id
 ORDER BY l.process, l.device, sum(l.size) DESC;

CREATE VIEW peak_by_category(process, device, category, bytes, blocks, share) AS
SELECT l.process, l.device, l.category, sum(l.size), count(*), sum(l.size) * 1.0 / p.allocated
  FROM live_at_peak l
  JOIN peak p ON p.process = l.process AND p.device = l.device
 GROUP BY l.process, l.device, l.category
 ORDER BY l.process, l.device, sum(l.size) DESC;

-- site NULL: blocks without a known call stack.
CREATE VIEW peak_by_site(process, device, site, bytes, blocks, share, site_id, site_short) AS
SELECT l.process, l.device, l.site, sum(l.size), count(*), sum(l.size) * 1.0 / p.allocated,
       l.site_id, (SELECT s.text FROM site_short s WHERE s.site = l.site_id)
  FROM live_at_peak l
  JOIN peak p ON p.process = l.process AND p.device = l.device
 GROUP BY l.process, l.device, l.site_id
 ORDER BY l.process, l.device, sum(l.size) DESC;

-- All blocks of a call stack, over the whole run: also those that were thinned. site NULL: blocks
-- without a known call stack.
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

-- ---- over time ----

-- allocated and reserved are exact at at_ns, the end of a bucket in which something happened. The
-- max_* are the highest since from_ns: exact with one heap on the device, else an upper bound.
-- Heaps of one device are brought to the finest level that all of them have.
CREATE VIEW timeline(process, device, at_ns, allocated, reserved, from_ns, max_allocated,
                     max_reserved) AS
WITH finest(heap, quantity, level) AS (
    SELECT heap, quantity, min(level) FROM curve GROUP BY heap, quantity),
common(process, device, level) AS (
    SELECT h.process, h.device, max(f.level)
      FROM finest f JOIN heap h ON h.id = f.heap
     GROUP BY h.process, h.device),
-- What a heap begins with: the first total that an allocator tells of what it reserved has no
-- change before it. Of two rows of one aggregate SQLite takes the one with the minimum.
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

-- Segments at the end of each phase, where the source knows them. fragmentation = inactive_split /
-- reserved; cached = bytes of segments that hold no live block at all.
CREATE VIEW fragmentation(process, device, step, phase, end_ns, allocated, active, reserved,
                          inactive_split, cached, fragmentation, phase_id) AS
SELECT process, device, step, phase, end_ns, allocated, active, reserved, inactive_split,
       reserved - active - inactive_split, fragmentation, phase_id
  FROM phase_table
 WHERE reserved IS NOT NULL;

-- Blocks born since the first step and alive when the last one ended.
CREATE VIEW allocation_survivor(allocation, last_step) AS
SELECT a.seq, r.last_step
  FROM allocation a
 CROSS JOIN heap h ON h.id = a.heap
 CROSS JOIN run_bounds r ON r.process = h.process
 WHERE (a.free_seq < 0 OR a.free_seq > r.last_seq) AND a.seq >= r.first_seq;

-- Call stacks that leave something behind in more than one step: blocks born in a step, and alive
-- when the last step ended, at least two steps later.
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

-- ---- the driver's memory ----

-- Everything that the driver gave; device 'host': memory of the host. outside = 1: no framework's
-- block ever lay in it, so that its bytes are outside of every allocator. The phase is the process's
-- innermost one when it came.
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

-- What was outside of every allocator at the peak of its process on its device, by who called. What
-- the driver keeps in pools, what is managed, imported or the host's is not here.
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
