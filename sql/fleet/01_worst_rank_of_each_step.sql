-- Which rank is the fullest in each step, and by how much is it above the emptiest?
WITH step_peak AS (
    SELECT run, rank, step, max(phase_peak) AS bytes
      FROM phase_table
     WHERE step IS NOT NULL AND device <> 'cpu'
     GROUP BY run, rank, step
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
