-- Which rank grows from step to step? The first step is left out: it makes the optimizer's state.
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
), step_peak AS (
    SELECT t.run, t.rank, t.device, t.step, max(t.phase_peak) AS bytes
      FROM phase_table t
      JOIN counted c ON c.run = t.run AND c.device = t.device
     WHERE t.step >= 1
     GROUP BY t.run, t.rank, t.device, t.step
), ends AS (
    SELECT run, rank, device, min(step) AS first_step, max(step) AS last_step
      FROM step_peak
     GROUP BY run, rank, device
)
SELECT e.run, e.rank, e.device, e.first_step, e.last_step,
       floor(1.0 * (z.bytes - a.bytes) / (e.last_step - e.first_step)) AS bytes_a_step
  FROM ends e
  JOIN step_peak a ON a.run = e.run AND a.rank = e.rank AND a.device = e.device
                  AND a.step = e.first_step
  JOIN step_peak z ON z.run = e.run AND z.rank = e.rank AND z.device = e.device
                  AND z.step = e.last_step
 WHERE e.last_step > e.first_step
 ORDER BY bytes_a_step DESC, e.run, e.rank, e.device
