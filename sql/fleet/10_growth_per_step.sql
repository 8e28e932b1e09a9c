-- Which rank grows from step to step? The first step is left out: it makes the optimizer's state.
WITH step_peak AS (
    SELECT run, rank, device, step, max(phase_peak) AS bytes
      FROM phase_table
     WHERE step >= 1 AND device <> 'cpu'
     GROUP BY run, rank, device, step
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
