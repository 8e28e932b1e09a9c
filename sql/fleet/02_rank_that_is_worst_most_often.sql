-- Is it always the same rank? In how many steps was each rank the fullest of its run?
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
), step_peak AS (
    SELECT t.run, t.rank, t.step, max(t.phase_peak) AS bytes
      FROM phase_table t
      JOIN counted c ON c.run = t.run AND c.device = t.device
     WHERE t.step IS NOT NULL
     GROUP BY t.run, t.rank, t.step
), placed AS (
    SELECT run, rank, step,
           row_number() OVER (PARTITION BY run, step ORDER BY bytes DESC, rank) AS place
      FROM step_peak
)
SELECT run, rank, count(*) AS steps
  FROM placed
 WHERE place = 1
 GROUP BY run, rank
 ORDER BY run, steps DESC, rank
