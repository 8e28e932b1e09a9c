-- Is it always the same rank? In how many steps was each rank the fullest of its run?
WITH step_peak AS (
    SELECT run, rank, step, max(phase_peak) AS bytes
      FROM phase_table
     WHERE step IS NOT NULL AND device <> 'cpu'
     GROUP BY run, rank, step
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
