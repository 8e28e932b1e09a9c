-- Which rank is the fullest in each step, and by how much is it above the emptiest?
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
    SELECT run, rank, step, bytes,
           row_number() OVER (PARTITION BY run, step ORDER BY bytes DESC, rank) AS place,
           min(bytes) OVER (PARTITION BY run, step) AS lowest
      FROM step_peak
)
SELECT run, step, rank, bytes, bytes - lowest AS above_lowest
  FROM placed
 WHERE place = 1
 ORDER BY run, step
