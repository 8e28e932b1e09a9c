-- Which call sites hold the most at the peak, over all runs and ranks?
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
)
SELECT s.site, count(*) AS peaks, sum(s.bytes) AS bytes_in_all, max(s.bytes) AS most
  FROM peak_by_site s
  JOIN counted c ON c.run = s.run AND c.device = s.device
 WHERE s.site IS NOT NULL
 GROUP BY s.site
 ORDER BY bytes_in_all DESC, s.site
