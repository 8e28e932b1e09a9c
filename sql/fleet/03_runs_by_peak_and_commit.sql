-- Each run with its commit and the peak of its fullest rank.
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
), highest AS (
    SELECT k.run, max(k.allocated) AS bytes
      FROM peak k
      JOIN counted c ON c.run = k.run AND c.device = k.device
     GROUP BY k.run
), about AS (
    SELECT run, min(commit_id) AS commit_of_run, min(started) AS began, count(*) AS processes
      FROM process
     GROUP BY run
)
SELECT a.began, a.run, a.commit_of_run, a.processes, h.bytes
  FROM about a
  JOIN highest h ON h.run = a.run
 ORDER BY a.began, a.run
