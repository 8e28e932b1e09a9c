-- Which call sites leave blocks behind that are freed in a later step, and how many bytes is that?
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
)
SELECT a.run, a.site, count(*) AS blocks, sum(a.size) AS bytes,
       max(a.freed_step - a.step) AS longest
  FROM allocations a
  JOIN counted c ON c.run = a.run AND c.device = a.device
 WHERE a.freed_step > a.step AND a.site IS NOT NULL
 GROUP BY a.run, a.site
 ORDER BY bytes DESC, a.run, a.site
