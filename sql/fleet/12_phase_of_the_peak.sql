-- In which phase is the peak, and is that the same in every run?
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
)
SELECT k.phase, count(*) AS peaks, count(DISTINCT k.run) AS runs, max(k.allocated) AS most
  FROM peak k
  JOIN counted c ON c.run = k.run AND c.device = k.device
 GROUP BY k.phase
 ORDER BY peaks DESC, k.phase
