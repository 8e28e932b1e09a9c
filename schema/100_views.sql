-- Views: what people and reports ask. The names and the leading columns of phase_table, peak,
-- live_at_peak, allocations, timeline, peak_by_category, peak_by_site, fragmentation, leak,
-- module_memory, node and process_node are promises; columns may be added at their ends. The other views are parts of these and may change.
-- All of them run on SQLite 3.26, look rows up by key, and show NULL for what is not known.
--
-- `process` is process.id; `device` is text ('cpu', 'cuda:0'); bytes, nanoseconds and seq are as in
-- the facts.

-- ---- names ----

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

-- Whole call stacks, depth 0 innermost.
CREATE VIEW stack(site, depth, frame) AS
SELECT s.site, s.depth, t.text
  FROM site s
  JOIN frame_text t ON t.id = s.frame;

-- A site is called after its innermost frame.
CREATE VIEW site_text(site, text) AS
SELECT s.site, t.text
  FROM site s
  JOIN frame_text t ON t.id = s.frame
 WHERE s.depth = 0;

-- The last part of the file's name only; library = 1: the file belongs to Python itself or to what was
-- installed for it, with or without the folders before that part of its path (record --private cuts
-- them). A frame without a file is nobody's library, but for those that stand for a thread:
-- 'autograd', in front of the call that gave it work, and '[thread NAME]'. Code that torch.compile wrote
-- is in no file that anybody knows: its names are 'c', 51 letters of a hash in base 32, and '.py', and
-- its functions all 'call' or 'Runner.call'.
CREATE VIEW frame_short(id, text, library) AS
SELECT id,
       CASE WHEN compiled THEN 'compiled function' ELSE function END ||
       CASE WHEN file IS NULL THEN ''
            ELSE ' (' || CASE WHEN compiled THEN 'torch.compile' ELSE name END ||
                 coalesce(':' || line, '') || ')' END,
       coalesce('/' || file GLOB '*/site-packages/*' OR '/' || file GLOB '*/dist-packages/*' OR
                '/' || file GLOB '*/lib*/python3/*' OR '/' || file GLOB '*/lib*/python3.[0-9]*/*' OR
                file GLOB '<frozen *' OR compiled,
                function = 'autograd' OR function GLOB '[[]thread *]')
  FROM (SELECT *, length(name) = 55 AND name GLOB 'c*.py' AND name NOT GLOB '*[^a-z2-7.]*' AS compiled
          FROM (SELECT f.id AS id, coalesce(fn.text, '?') AS function, fi.text AS file, f.line AS line,
                       substr(fi.text, length(rtrim(fi.text, replace(fi.text, '/', ''))) + 1) AS name
                  FROM frame f
                  LEFT JOIN string fn ON fn.id = f.function
                  LEFT JOIN string fi ON fi.id = f.file));

-- A site in short, for programs whose innermost frames are a library's: the innermost frame that is
-- not, then the innermost of all: 'step (train.py:11) > _single_tensor_adam (adam.py:410)'.
-- own_depth NULL: all frames are a library's; 0: the innermost one is the program's own.
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

-- A module is called by its path, or by its class where it is the outermost one.
CREATE VIEW module_text(id, module, class) AS
SELECT id, CASE path WHEN '' THEN class ELSE path END, class FROM module;

-- The module that a tag's tensor is of: 'exp_avg of model.layers.3.mlp.weight' is of model.layers.3.mlp.
-- Of a name that stands for two modules, one after the other in one place, the later.
CREATE VIEW tag_module(tag, module_id) AS
SELECT id,
       (SELECT max(m.id) FROM module m
         WHERE m.path = rtrim(rtrim(tensor, replace(tensor, '.', '')), '.'))
  FROM (SELECT id, category,
               CASE WHEN category = 3 AND instr(name, ' of ')
                    THEN substr(name, instr(name, ' of ') + 4) ELSE name END AS tensor
          FROM tag
         WHERE category IN (1, 2, 3, 8))
 WHERE category <> 8 OR instr(tensor, '.');

-- ---- nodes ----

-- The recordings that a merged one was made of: where each ran, and how its clock was aligned.
-- error_ns NULL: not known; offset_ns: where its own zero is.
CREATE VIEW node(node, host, file, aligned_by, offset_ns, drift_ppb, error_ns, meeting, meetings,
                 first_process, last_process, finished) AS
SELECT id, host, file, way, offset_ns, drift_ppb, error_ns, meeting, meetings, first_process,
       last_process, finished
  FROM merged;

-- Where each process ran. node NULL: the recording was not merged.
CREATE VIEW process_node(process, node, host) AS
SELECT p.id, m.id, coalesce(p.host, m.host)
  FROM process p
  LEFT JOIN merged m ON p.id BETWEEN m.first_process AND m.last_process;

-- ---- phases ----

-- Values at the phase's end, in the order in which the phases began. max_*: running maxima since
-- the process began; phase_peak: the highest inside the phase. fragmentation = inactive_split /
-- reserved at the phase's end. domain: of a library's ranges, which lie across the phases. settled:
-- NULL while the row may change, in a recording that goes on or was killed.
CREATE VIEW phase_table(process, device, step, phase, allocated, max_allocated, reserved,
                        max_reserved, fragmentation, phase_peak, begin_ns, end_ns,
                        kind, ordinal, phase_id, begin_allocated, requested, active,
                        inactive_split, peak_ns, allocs, frees, alloc_bytes, ended, domain,
                        settled) AS
SELECT ph.process, d.device, ph.step, ph.name, pd.allocated, pd.max_allocated, pd.reserved,
       pd.max_reserved, pd.inactive_split * 1.0 / nullif(pd.reserved, 0), pd.peak_allocated,
       ph.begin_ns, ph.end_ns,
       ph.kind, ph.ordinal, ph.id, pd.begin_allocated, pd.requested, pd.active,
       pd.inactive_split, pd.peak_ns, pd.allocs, pd.frees, pd.alloc_bytes, ph.ended, ph.domain,
       ph.settled
  FROM phase ph
  JOIN phase_device pd ON pd.phase = ph.id
  JOIN device_text d ON d.id = pd.device
 ORDER BY ph.begin_seq, ph.id, pd.device;

-- All phases of a name, over the whole run: also those that were thinned.
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

-- What a phase counts as: a user's phase inside forward is part of forward.
CREATE VIEW phase_role(id, role) AS
WITH RECURSIVE below(id, role) AS (
    SELECT id, kind FROM phase WHERE parent IS NULL
    UNION ALL
    SELECT ph.id, CASE WHEN ph.kind = 'user' THEN below.role ELSE ph.kind END
      FROM below
      JOIN phase ph ON ph.parent = below.id)
SELECT id, role FROM below;

-- Where each step begins and ends, and its last backward ends; NULL = it has not ended. A backward
-- that an exception or the end of the process cut short has not ended either; cut_seq is where.
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

-- The first and the last step of each process; last_seq NULL = the last one has not ended.
CREATE VIEW run_bounds(process, first_seq, last_seq, first_step, last_step, optimizer_step) AS
SELECT process, min(begin_seq),
       CASE WHEN count(*) = count(end_seq) THEN max(end_seq) END,
       min(step), max(step), min(CASE WHEN kind = 'optimizer' THEN step END)
  FROM phase
 WHERE step IS NOT NULL
 GROUP BY process;

-- ---- blocks ----

-- Every block: what is not known is NULL; life_ns, free_ns, free_seq are NULL while it lives. The
-- phases are those of its birth and of its end: the one of its own thread if that had one, else the
-- innermost one of the process. The module is that of the tensor, if the tag names one, else the one
-- that ran; of gradients of many parameters in one block, as FSDP2 reduces them, the one that ran, else
-- the outermost one.
CREATE VIEW allocations(process, device, allocation, size, requested, step, phase, freed_step,
                        freed_phase, site, tag, alloc_ns, life_ns, free_ns, free_seq, address,
                        stream, pool, heap, segment, site_id, tag_id, phase_id, freed_phase_id,
                        module, module_id) AS
SELECT h.process, d.device, a.seq, a.size, a.requested, born.step, born.name, freed.step,
       freed.name, (SELECT s.text FROM site_text s WHERE s.site = a.site), t.name, a.alloc_ns,
       CASE WHEN a.free_seq >= 0 THEN a.life_ns END,
       CASE WHEN a.free_seq >= 0 THEN a.alloc_ns + a.life_ns END,
       CASE WHEN a.free_seq >= 0 THEN a.free_seq END,
       a.address, h.stream, h.pool, a.heap, a.segment, a.site, a.tag, born.id, freed.id,
       (SELECT mt.module FROM module_text mt
         WHERE mt.id = coalesce(
               CASE WHEN t.category = 2 AND a.site IN (SELECT site FROM sharing_site WHERE kind = 3)
                    THEN coalesce(a.module, (SELECT min(id) FROM module WHERE path = '')) END,
               (SELECT tm.module_id FROM tag_module tm WHERE tm.tag = a.tag), a.module)),
       coalesce(
               CASE WHEN t.category = 2 AND a.site IN (SELECT site FROM sharing_site WHERE kind = 3)
                    THEN coalesce(a.module, (SELECT min(id) FROM module WHERE path = '')) END,
               (SELECT tm.module_id FROM tag_module tm WHERE tm.tag = a.tag), a.module)
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

-- Bytes of a workspace of cuBLAS: as the recording says, else what PyTorch takes below capability
-- 9.0 and from there on.
CREATE VIEW library_size(process, bytes) AS
SELECT process, CAST(value AS INTEGER) FROM setting WHERE key = 'cublas_workspace'
UNION
SELECT p.id, w.bytes
  FROM process p
 CROSS JOIN (SELECT 8519680 AS bytes UNION ALL SELECT 33554432) w
 WHERE NOT EXISTS (SELECT 1 FROM setting s WHERE s.process = p.id AND s.key = 'cublas_workspace');

-- What says of a block that a library keeps it: a frame of cuBLAS' wrapper in its stack, else its
-- size (where the request is not known, up to 1 MiB more). odd: a size that tensors hardly have,
-- to the byte. multiplies: it was asked for in a matrix multiplication. tagged: tensors have tags.
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
                  AND coalesce(a.requested, a.size) = w.bytes),
       EXISTS (SELECT 1 FROM site s JOIN frame f ON f.id = s.frame
                 JOIN string n ON n.id = f.function LEFT JOIN string l ON l.id = f.file
                WHERE s.site = a.site AND s.depth = 0
                  AND (n.text IN ('linear', 'matmul', 'mm', 'bmm', 'addmm', 'baddbmm', 'einsum',
                                  'multi_head_attention_forward', '_in_projection',
                                  '_in_projection_packed', 'Conv1D.forward',
                                  'SpectralNorm.compute_weight')
                       OR n.text LIKE '%RotaryEmbedding.forward'
                       OR (n.text LIKE '%forward' AND l.text LIKE '%nn/modules/linear.py'))),
       EXISTS (SELECT 1 FROM tag WHERE category <= 3)
  FROM allocation a
  JOIN heap h ON h.id = a.heap
  JOIN device d ON d.id = h.device
 WHERE d.kind = 'cuda';

-- How large the parameters are that tags name, of the blocks from before the first step that are there
-- to the end of the last; seq: the first of that size. A process that has a row has tags: there a block
-- without one is no parameter. copied: other blocks, without a tag, match more than half of them in
-- size and number; one block, or blocks of one size, can be as large as a parameter by chance.
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

-- Call stacks in which FSDP or torch.distributed made memory of its own: 1 = parameters that were gathered
-- from all ranks, 2 = what they are gathered in, 3 = any collective.
CREATE VIEW sharing_site(site, kind) AS
SELECT s.site, min(known.kind)
  FROM (SELECT f.id AS frame,
               CASE WHEN n.text LIKE '%alloc_all_gather_outputs'
                         OR n.text LIKE '%init_all_gather_outputs%'
                         OR n.text LIKE '%alloc_padded_unsharded_flat_param' THEN 1
                    WHEN n.text LIKE '%foreach_all_gather' OR n.text LIKE '%foreach_all_gather_copy_out'
                         OR n.text LIKE '%all_gather_flat_param'
                         OR n.text LIKE '%use_low_precision_shard' THEN 2
                    WHEN l.text LIKE '%/distributed_c10d.py' OR n.text LIKE '%foreach_reduce'
                         OR n.text LIKE '%get_reduce_scatter_tensors'
                         OR (l.text LIKE '%/_functional_collectives.py'
                             AND n.text NOT LIKE '%torch_dispatch%') THEN 3 END AS kind
          FROM frame f
          JOIN string l ON l.id = f.file
          JOIN string n ON n.id = f.function
         WHERE l.text LIKE '%torch/distributed/%') AS known
  JOIN site s ON s.frame = known.frame
 WHERE known.kind IS NOT NULL
 GROUP BY s.site;

-- What a block is for, and the rule that says so: its tag, else its life. free_seq < 0: it lives.
-- A tag 'input' holds only for what was born outside of the computation: what one model computed is
-- the input of the next, and an activation for all that.
-- Reports that ask for many blocks decide by the same rules in viewer-cli/analysis/category/, which
-- must agree with this view on every block: tests/viewer/test_category.c compares them. The rules'
-- numbers are those of enum category_rule there.
CREATE VIEW allocation_category(allocation, category, rule) AS
SELECT seq,
       CASE WHEN tagged IS NOT NULL THEN tagged
            ELSE CASE decided
                 WHEN 1 THEN 'library workspace'
                 WHEN 2 THEN 'library workspace'
                 WHEN 3 THEN 'library workspace'
                 WHEN 4 THEN 'gathered parameters'
                 WHEN 5 THEN 'communication buffer'
                 WHEN 6 THEN 'communication buffer'
                 WHEN 8 THEN 'parameter'
                 WHEN 9 THEN 'copy of parameters (EMA or frozen)'
                 WHEN 12 THEN 'workspace'
                 WHEN 13 THEN 'gradient'
                 WHEN 16 THEN 'gradient'
                 WHEN 17 THEN 'optimizer state'
                 WHEN 18 THEN 'activation'
                 WHEN 19 THEN 'activation'
                 WHEN 20 THEN 'activation'
                 WHEN 21 THEN 'activation, held by the program'
                 ELSE 'other' END
       END,
       CASE WHEN tagged IS NOT NULL THEN 'tag'
            ELSE CASE decided
                 WHEN 1 THEN 'allocated inside cuBLAS'' wrapper, kept'
                 WHEN 2 THEN 'as large as cuBLAS'' workspace, allocated in a matrix'
                             || ' multiplication, kept'
                 WHEN 3 THEN 'as large as cuBLAS'' workspace, without a tag, kept'
                 WHEN 4 THEN 'gathered by FSDP from all ranks'
                 WHEN 5 THEN 'FSDP gathers parameters in it'
                 WHEN 6 THEN 'allocated by torch.distributed and freed inside one phase'
                 WHEN 7 THEN 'no step was seen'
                 WHEN 8 THEN 'live before the first step and to the end'
                 WHEN 9 THEN 'as large as a parameter, made after it and before the first step,'
                             || ' live to the end'
                 WHEN 10 THEN 'live before the first step and to the end, but not tagged as a parameter'
                 WHEN 11 THEN 'allocated before the first step, freed before the end'
                 WHEN 12 THEN 'allocated and freed inside one phase'
                 WHEN 13 THEN 'allocated in backward, freed by zero_grad'
                 WHEN 14 THEN 'allocated in backward, live when the step was cut short'
                 WHEN 15 THEN 'allocated in backward, live when the recording ended inside the step'
                 WHEN 16 THEN 'allocated in backward, live at the end of the step'
                 WHEN 17 THEN 'allocated in the first optimizer phase, still live'
                 WHEN 18 THEN 'allocated in ' || role || ', freed in ' || freed_role
                 WHEN 19 THEN 'allocated in ' || role || ', live when the step was cut short'
                 WHEN 20 THEN 'allocated in ' || role || ', live when the recording ended'
                 WHEN 21 THEN 'allocated in ' || role || ', live after backward'
                 WHEN 22 THEN 'allocated in ' || coalesce(role, 'no phase') || ', live at the end'
                 ELSE 'allocated in ' || coalesce(role, 'no phase') || ', freed in '
                      || coalesce(freed_role, 'no phase') END
       END
  FROM (
SELECT a.seq AS seq,
       CASE WHEN t.category = 'input'
            AND role.role IN ('forward', 'loss', 'backward', 'recompute', 'eval')
            THEN NULL ELSE t.category END AS tagged,
       CASE
       WHEN a.tag IS NULL AND a.size >= 1048576 AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND (SELECT w.proof FROM library_proof w WHERE w.allocation = a.seq) = 'frame'
       THEN 1 -- library, by frame
       WHEN a.tag IS NULL AND a.size >= 1048576 AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND (SELECT w.multiplies AND (w.odd OR coalesce(r.last_step > r.first_step
                        AND (a.seq < r.first_seq OR born.step = r.first_step), 0))
                   FROM library_proof w WHERE w.allocation = a.seq AND w.proof = 'size')
       THEN 2 -- library, by site
       WHEN a.tag IS NULL AND a.size >= 1048576 AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND (SELECT w.tagged AND (w.odd OR coalesce(r.last_step > r.first_step
                        AND (a.seq < r.first_seq OR born.step = r.first_step)
                        AND role.role = 'backward' AND (a.site IS NULL OR EXISTS (
                            SELECT 1 FROM site s JOIN frame f ON f.id = s.frame
                              JOIN string n ON n.id = f.function
                             WHERE s.site = a.site AND s.depth = 0 AND n.text = 'autograd'
                               AND f.file IS NULL)), 0))
                   FROM library_proof w WHERE w.allocation = a.seq AND w.proof = 'size')
       THEN 3 -- library, by size
       WHEN sharing.kind = 1
       THEN 4 -- gathered
       WHEN sharing.kind = 2
       THEN 5 -- gathered in it
       WHEN sharing.kind = 3 AND born.id = freed.id
       THEN 6 -- collective
       WHEN r.process IS NULL AND born.id = freed.id
            AND role.role IN ('forward', 'forward_no_grad', 'eval')
       THEN 12 -- workspace of a call of the model
       WHEN r.process IS NULL
       THEN 7 -- no step seen
       WHEN a.seq < r.first_seq AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND a.tag IS NULL AND alike.copied AND a.seq > alike.seq
       THEN 9 -- copy of a parameter
       WHEN a.seq < r.first_seq AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
            AND tagging.process IS NOT NULL
       THEN 10 -- not tagged
       WHEN a.seq < r.first_seq AND (a.free_seq < 0 OR a.free_seq > r.last_seq)
       THEN 8 -- parameter
       WHEN a.seq < r.first_seq
       THEN 11 -- early
       WHEN born.id = freed.id
       THEN 12 -- workspace
       WHEN role.role = 'backward' AND a.free_seq >= 0 AND freed.kind = 'zero_grad'
       THEN 13 -- gradient
       WHEN role.role = 'backward' AND b.backward_end_seq IS NULL AND a.seq <= b.cut_seq
            AND (a.free_seq < 0 OR a.free_seq > b.cut_seq)
       THEN 14 -- cut short
       WHEN role.role = 'backward' AND b.end_seq IS NULL AND a.free_seq < 0
       THEN 15 -- cut off
       WHEN role.role = 'backward' AND (a.free_seq < 0 OR a.free_seq > b.end_seq)
       THEN 16 -- gradient
       WHEN role.role = 'optimizer' AND born.step = r.optimizer_step
            AND (a.free_seq < 0 OR a.free_seq > b.end_seq)
       THEN 17 -- optimizer state
       WHEN role.role IN ('forward', 'loss', 'recompute')
            AND freed_role.role IN ('backward', 'recompute')
       THEN 18 -- activation
       WHEN role.role IN ('forward', 'loss', 'recompute') AND b.backward_end_seq IS NULL
            AND a.seq <= b.cut_seq AND (a.free_seq < 0 OR a.free_seq > b.cut_seq)
       THEN 19 -- activation, cut short
       WHEN role.role IN ('forward', 'loss', 'recompute') AND a.free_seq < 0
            AND b.backward_end_seq IS NULL AND born.step = r.last_step
       THEN 20 -- activation, cut off
       WHEN role.role IN ('forward', 'loss', 'recompute') AND a.seq < b.backward_end_seq
            AND (a.free_seq < 0 OR a.free_seq > b.backward_end_seq)
       THEN 21 -- held
       WHEN a.free_seq < 0
       THEN 22 -- other, living
       ELSE 23 END AS decided,
       role.role AS role, freed_role.role AS freed_role
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
  LEFT JOIN sharing_site sharing ON sharing.site = a.site
  LEFT JOIN tag_text t ON t.id = a.tag);
