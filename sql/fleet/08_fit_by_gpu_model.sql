-- Into which models of GPU does each run fit? The models are those of all runs; where none has one,
-- sizes that are usual. 'no': its blocks alone are larger. 'yes': the most that its devices had in use,
-- or its allocator reserved, fits. 'perhaps': its blocks fit, and what was reserved beyond does not, or
-- is not known (a CPU's): 'tidemark fit' replays it. CUDA's context, of 0.5 to 1 GiB, is in used_bytes.
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
), seen AS (
    SELECT gpu, min(total_bytes) AS total_bytes
      FROM device
     WHERE gpu IS NOT NULL AND total_bytes IS NOT NULL AND device <> 'cpu'
     GROUP BY gpu
), usual AS (
    SELECT 'any of 8 GiB' AS gpu, 8589934592 AS total_bytes
    UNION ALL SELECT 'any of 16 GiB', 17179869184
    UNION ALL SELECT 'any of 24 GiB', 25769803776
    UNION ALL SELECT 'any of 40 GiB', 42949672960
    UNION ALL SELECT 'any of 80 GiB', 85899345920
), models AS (
    SELECT gpu, total_bytes FROM seen
    UNION ALL
    SELECT u.gpu, u.total_bytes
      FROM usual u
     CROSS JOIN (SELECT count(*) AS models FROM seen) n
     WHERE n.models = 0
), blocks AS (
    SELECT k.run, max(k.allocated) AS allocated
      FROM peak k
      JOIN counted c ON c.run = k.run AND c.device = k.device
     GROUP BY k.run
), reserved_most AS (
    SELECT t.run, max(t.max_reserved) AS reserved
      FROM phase_table t
      JOIN counted c ON c.run = t.run AND c.device = t.device
     GROUP BY t.run
), used_most AS (
    SELECT d.run, max(d.used_bytes) AS used
      FROM device d
      JOIN counted c ON c.run = d.run AND c.device = d.device
     GROUP BY d.run
), need AS (
    SELECT b.run AS run, b.allocated AS allocated,
           CASE WHEN coalesce(u.used, 0) > coalesce(r.reserved, 0) THEN u.used
                ELSE r.reserved END AS most
      FROM blocks b
      LEFT JOIN reserved_most r ON r.run = b.run
      LEFT JOIN used_most u ON u.run = b.run
)
SELECT m.gpu, m.total_bytes, n.run, n.allocated, n.most,
       CASE WHEN n.allocated > m.total_bytes THEN 'no'
            WHEN n.most <= m.total_bytes THEN 'yes' ELSE 'perhaps' END AS fits,
       floor(10000.0 * n.allocated / m.total_bytes) / 100 AS percent_allocated
  FROM need n
 CROSS JOIN models m
 ORDER BY m.total_bytes, m.gpu, n.run
