-- In which runs does the allocator hold much more than the program uses, and where is that worst?
-- The CPU's allocator reserves nothing that is known: runs without a GPU have no row.
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
), gap AS (
    SELECT t.run, t.rank, t.device, t.step, t.phase, t.reserved - t.allocated AS idle,
           row_number() OVER (PARTITION BY t.run ORDER BY t.reserved - t.allocated DESC, t.rank,
                                                          t.device, t.begin_ns) AS place
      FROM phase_table t
      JOIN counted c ON c.run = t.run AND c.device = t.device
     WHERE t.reserved IS NOT NULL
)
SELECT run, rank, device, step, phase, idle
  FROM gap
 WHERE place = 1
 ORDER BY idle DESC, run
